"""Builtins of our own: what a program puts in the place of ``len`` or ``open`` is not for us.

A function finds builtins where its module had them when it was made. So each of our modules gets a
copy before its code runs, from the first one of the model or of a runtime on: the plugin loads
neither unless it is asked for.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_PACKAGE = __name__.partition(".")[0]
_OURS = vars(builtins).copy()


class _Loader(SourceFileLoader):
    """Loads a module whose builtins are a copy."""

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = _OURS
        super().exec_module(module)


class _Finder:
    """Finds our modules, as far as they are files with source."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{_PACKAGE}."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def take() -> None:
    """Let the modules of this package that are imported from now on have builtins of their own."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
