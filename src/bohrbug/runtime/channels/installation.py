"""Puts the interposers in place: at once for modules that are loaded, else when they are."""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

from bohrbug.runtime.channels.after_import import AfterImport
from bohrbug.runtime.channels.session import active
from bohrbug.runtime.channels.streams import local, real_lock
from bohrbug.runtime.interposed import FAMILIES, is_held
from bohrbug.runtime.threads.patches import Patches

_HERE = __name__.rpartition(".")[0]


class _Installation:
    """What is in place now."""

    def __init__(self) -> None:
        self.finder = AfterImport(self.install_family)
        self.patches: list[Patches] = []
        self.exchanged: list[tuple[types.ModuleType, str, Any, Any]] = []
        self._imported: deque[str] = deque()
        self._busy = real_lock()
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
        loaded = [name for name in FAMILIES if name in sys.modules]
        # First: who is loaded may load others.
        self.finder.watch(FAMILIES.keys() - set(loaded))
        sys.meta_path.insert(0, self.finder)
        for name in loaded:
            self.install_family(name)

    def install_family(self, name: str) -> None:
        """Install the interposers for a module; those that this loads in turn come after."""
        self._imported.append(name)
        while self._imported and self._busy.acquire(blocking=False):
            try:
                self._install_next()
            finally:
                self._busy.release()

    def _install_next(self) -> None:
        try:
            name = self._imported.popleft()
        except IndexError:
            # Another thread has been quicker.
            return
        if not self.count:
            return
        family = importlib.import_module(f"{_HERE}.{FAMILIES[name]}")
        held = [
            (getattr(owner, name), ours)
            for owner, name, ours in family.patches.pairs()
            if isinstance(owner, types.ModuleType) and is_held(owner.__name__, name)
        ]
        family.patches.install()
        self.patches.append(family.patches)
        self.exchange(held)

    def after_fork(self) -> None:
        """In a child: another thread of the parent's may have been at it."""
        self._busy = real_lock()

    def restore(self) -> None:
        self.count -= 1
        if self.count:
            return
        sys.meta_path.remove(self.finder)
        self.finder.forget()
        for patches in reversed(self.patches):
            patches.restore()
        self.patches.clear()
        for module, attribute, original, ours in reversed(self.exchanged):
            if vars(module).get(attribute) is ours:
                setattr(module, attribute, original)
        self.exchanged.clear()

    def exchange(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Replace functions where modules that were loaded before us hold them by name."""
        by_id = {id(original): (original, ours) for original, ours in pairs}
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
    _installation.after_fork()
    session = active.session
    if session is None:
        return
    task = local.fork_as
    local.fork_as = None
    session.after_fork()
    if task is not None and not session.closed:
        session.begin_process(task)
