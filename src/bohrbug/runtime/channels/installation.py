"""Puts the interposers in place: at once for modules that are loaded, else when they are."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from bohrbug.runtime.channels.session import active
from bohrbug.runtime.channels.streams import local
from bohrbug.runtime.threads.patches import Patches

_HERE = __name__.rpartition(".")[0]

FAMILIES: Mapping[str, str] = {
    "os": "processes",
    "threading": "threads",
    "subprocess": "subprocesses",
    "queue": "queues",
    "multiprocessing.process": "children",
    "multiprocessing.spawn": "spawning",
    "multiprocessing.connection": "pipes",
    "multiprocessing.queues": "process_queues",
    "concurrent.futures._base": "futures",
    "concurrent.futures.thread": "executors",
    "concurrent.futures.process": "process_executors",
    "asyncio.base_events": "aio_tasks",
    "asyncio.selector_events": "aio_loops",
    "asyncio.queues": "aio_queues",
    "asyncio.tasks": "aio_waits",
    "asyncio.timeouts": "aio_timeouts",
    "asyncio.taskgroups": "aio_sets",
    "socket": "sockets",
    "selectors": "readiness",
    "select": "polling",
}
"""Modules of the standard library, and which of ours looks after each."""


class _AfterImport(importlib.abc.MetaPathFinder):
    """Installs a family right after its module was imported."""

    def __init__(self) -> None:
        self.pending: set[str] = set()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The module as others find it, with a loader that calls us after."""
        if fullname not in self.pending:
            return None
        self.pending.discard(fullname)
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    _call_after(spec.loader, fullname)
                return spec
        return None


def _call_after(loader: Any, name: str) -> None:
    execute = loader.exec_module

    def exec_module(module: types.ModuleType) -> None:
        try:
            del loader.exec_module
        except AttributeError:
            loader.exec_module = execute
        execute(module)
        _installation.install_family(name)

    try:
        loader.exec_module = exec_module
    except (AttributeError, TypeError):
        # Loaders of frozen and built-in modules are classes; what is of those, is loaded before.
        return


class _Installation:
    """What is in place now."""

    def __init__(self) -> None:
        self.finder = _AfterImport()
        self.patches: list[Patches] = []
        self.exchanged: list[tuple[types.ModuleType, str, Any, Any]] = []
        self.busy = False
        self.deferred: list[str] = []
        self.count = 0
        self._forks = False

    def install(self) -> None:
        self.count += 1
        if self.count > 1:
            return
        if not self._forks:
            self._forks = True
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(
                    before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child
                )
        for name in FAMILIES:
            if name in sys.modules:
                self.install_family(name)
            else:
                self.finder.pending.add(name)
        sys.meta_path.insert(0, self.finder)

    def install_family(self, name: str) -> None:
        if not self.count:
            return
        if self.busy:
            # One of ours has imported the module while it was being imported itself.
            self.deferred.append(name)
            return
        self.busy = True
        try:
            family = importlib.import_module(f"{_HERE}.{FAMILIES[name]}")
        finally:
            self.busy = False
        family.patches.install()
        self.patches.append(family.patches)
        self.exchange(getattr(family, "EXCHANGED", {}))
        while self.deferred:
            self.install_family(self.deferred.pop(0))

    def restore(self) -> None:
        self.count -= 1
        if self.count:
            return
        sys.meta_path.remove(self.finder)
        self.finder.pending.clear()
        for patches in reversed(self.patches):
            patches.restore()
        self.patches.clear()
        for module, attribute, original, ours in reversed(self.exchanged):
            if vars(module).get(attribute) is ours:
                setattr(module, attribute, original)
        self.exchanged.clear()

    def exchange(self, pairs: Mapping[Any, Any]) -> None:
        """Replace functions where modules that were loaded before us hold them by name."""
        by_id = {id(original): (original, ours) for original, ours in pairs.items()}
        if not by_id:
            return
        for name, module in list(sys.modules.items()):
            if name.startswith("bohrbug") or not isinstance(module, types.ModuleType):
                continue
            for attribute, value in list(vars(module).items()):
                original, ours = by_id.get(id(value), (None, None))
                if original is value and ours is not None:
                    self.exchanged.append((module, attribute, original, ours))
                    setattr(module, attribute, ours)


_installation = _Installation()


def install() -> None:
    """Put the interposers in place; they do nothing where no session is active."""
    _installation.install()


def restore() -> None:
    """Put the originals back, once for each call of :func:`install`."""
    _installation.restore()


# -- fork ------------------------------------------------------------------------------


def _before_fork() -> None:
    stream = local.stream
    if active.session is None or stream is None:
        return
    if local.fork_as is None:
        local.fork_as = stream.next_child()
    for prepare in active.before_fork:
        prepare(active.session)


def _in_parent() -> None:
    local.fork_as = None


def _in_child() -> None:
    session = active.session
    if session is None:
        return
    task = local.fork_as
    local.fork_as = None
    session.after_fork()
    if task is not None and not session.closed:
        session.begin_process(task)
