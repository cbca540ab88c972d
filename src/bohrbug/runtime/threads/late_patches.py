"""Replacements of C functions, some of them in modules that may not be imported at all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.replacement import Function


class LatePatches(Patches):
    """Patches, some of them of modules that may not be imported at all."""

    def __init__(self) -> None:
        super().__init__()
        self._later: list[tuple[str, Callable[[Any], None]]] = []

    def when_imported(
        self, module: str
    ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        """Decorator: the function adds patches of a module, once that is imported."""

        def decorate(function: Callable[[Any], None]) -> Callable[[Any], None]:
            self._later.append((module, function))
            return function

        return decorate

    def prepare(self) -> None:
        """Find out which of the modules are imported by now."""
        self._add_imported()

    def catch_up(self) -> None:
        """Put those in place whose module was imported since :meth:`install`."""
        if self._later:
            known = len(self._wanted)
            self._add_imported()
            self._replace(self._wanted[known:])

    def _add_imported(self) -> None:
        for entry in list(self._later):
            module = sys.modules.get(entry[0])
            if module is not None and not _is_being_imported(module):
                self._later.remove(entry)
                entry[1](module)

    def function(self, owner: Any, name: str) -> Callable[[Callable[..., Any]], Function]:
        """Decorator: the function replaces the C function ``owner.name``."""

        def decorate(function: Callable[..., Any]) -> Function:
            replacement = Function(function, getattr(owner, name))
            self.add(owner, name, replacement)
            return replacement

        return decorate


def _is_being_imported(module: Any) -> bool:
    return getattr(getattr(module, "__spec__", None), "_initializing", False)
