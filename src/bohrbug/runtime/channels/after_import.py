"""Calls back when a module that is watched for has been imported, and nothing is half imported.

A module of a package ends its import while the package is still in the middle of its own, and
modules import each other in circles: whoever looks at ``asyncio`` when ``asyncio.queues`` has just
been executed finds a module without most of its names.  So the call comes when the outermost of the
watched imports of a thread is over; until then nothing but the library's own code has run.

The classes are none of ``importlib.abc``: to import that takes milliseconds, in each process.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Imports(threading.local):
    """The watched imports of a thread."""

    def __init__(self) -> None:
        self.under_way = 0
        self.over: list[str] = []
        """Modules that nobody was told of yet."""


class AfterImport:
    """Watches for modules; to be put at the beginning of ``sys.meta_path``.

    Parameters:
        call: with the name of each module that was watched for, after its import.
    """

    def __init__(self, call: Callable[[str], None]) -> None:
        self._call = call
        self._names: set[str] = set()
        self._surroundings: set[str] = set()
        self._imports = _Imports()

    def watch(self, names: Iterable[str]) -> None:
        """Watch for modules; and for their packages, which are half imported meanwhile."""
        for name in names:
            self._names.add(name)
            while name := name.rpartition(".")[0]:
                self._surroundings.add(name)

    def forget(self) -> None:
        """Watch for nothing any more."""
        self._names.clear()
        self._surroundings.clear()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as others find it, with a loader that tells us."""
        if fullname not in self._names and fullname not in self._surroundings:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    telling: Any = _Telling(spec.loader, self)
                    spec.loader = telling
                return spec
        return None

    def execute(self, loader: Any, module: ModuleType) -> None:
        """Let a loader execute a module, and tell of it when nothing is half imported."""
        imports = self._imports
        imports.under_way += 1
        try:
            loader.exec_module(module)
        finally:
            imports.under_way -= 1
        imports.over.append(module.__name__)
        if imports.under_way:
            return
        over, imports.over = imports.over, []
        for name in over:
            if name in self._names:
                self._names.discard(name)
                self._call(name)


class _Telling:
    """Loads as another loader does, in whose place it stands until the module is executed.

    Loaders of modules in C and of frozen ones are classes that all such modules share: nothing can
    be replaced there.

    Parameters:
        real: the loader.
        watcher: is told.
    """

    def __init__(self, real: Any, watcher: AfterImport) -> None:
        self._real = real
        self._watcher = watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As of the loader."""
        ours: Any = self
        spec.loader = self._real
        try:
            module: ModuleType | None = self._real.create_module(spec)
            return module
        finally:
            spec.loader = ours

    def exec_module(self, module: ModuleType) -> None:
        """As of the loader; the module never learns of us."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._real
        self._watcher.execute(self._real, module)
