"""The weak sets in which libraries keep all threads, processes and tasks are no data of tests.

Nor are weak dictionaries that have something for each of them.
"""

from __future__ import annotations

import _weakrefset
import sys
import threading
import weakref
from types import FunctionType, SimpleNamespace
from typing import Any

from bohrbug.runtime.threads.late_patches import LatePatches

_NAMES = (
    ("threading", "_dangling"),
    ("multiprocessing.process", "_dangling"),
    ("asyncio.tasks", "_all_tasks"),
    ("asyncio.tasks", "_scheduled_tasks"),
    ("concurrent.futures.thread", "_threads_queues"),
)
"""Modules that may be imported, and what such a container is called in them, in some version."""


_used_within: dict[str, type] = {}
"""By name, what these containers use themselves while somebody goes over them."""


def _unseen(function: FunctionType) -> FunctionType:
    """The same function, with code of its own, as part of this module: it is not rewritten."""
    copy = FunctionType(
        function.__code__.replace(),
        {**function.__globals__, **_used_within, "__name__": __name__},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _quiet(cls: type) -> type:
    """A class whose methods do the same, unseen."""
    methods = {
        name: _unseen(value) for name, value in vars(cls).items() if isinstance(value, FunctionType)
    }
    return type(cls.__name__, (cls,), methods)


_GUARD = "_IterationGuard"
if hasattr(_weakrefset, _GUARD):
    _used_within[_GUARD] = _quiet(getattr(_weakrefset, _GUARD))

_QUIET: dict[type, type] = {
    cls: _quiet(cls)
    for cls in (weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary)
}


QuietSet: type[weakref.WeakSet[Any]] = _QUIET[weakref.WeakSet]
"""For sets of our own."""

QuietDictionary: type[weakref.WeakKeyDictionary[Any, Any]] = _QUIET[weakref.WeakKeyDictionary]
"""For dictionaries of our own, whoever looks into them."""

QuietValues: type[weakref.WeakValueDictionary[Any, Any]] = _QUIET[weakref.WeakValueDictionary]
"""The same, of which the values are weak."""


class _QuietSets(LatePatches):
    """What the sets are changes, not which: others have references to them."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: list[tuple[Any, type, Any]] = []

    def install(self) -> None:
        """See :class:`Patches`."""
        super().install()
        self._change_known()

    def catch_up(self) -> None:
        """See :class:`LatePatches`."""
        super().catch_up()
        self._change_known()

    def _change_known(self) -> None:
        for module, name in _NAMES:
            self._change(vars(sys.modules.get(module, sys)).get(name))
        # Those of other threads are made quiet by the module that makes them.
        self._change(vars(threading.main_thread()).get("_children"))

    def _change(self, found: Any) -> None:
        if type(found) in _QUIET:
            self._changed.append((found, type(found), found._remove))
            found.__class__ = _QUIET[type(found)]
            found._remove = _unseen(found._remove)

    def begin(self) -> None:
        """Before an execution: nothing tells how many elements the ones before it had.

        A set that was large stays so, and its size decides in which order its elements come: those
        that ``asyncio.run`` cancels at its end, say.
        """
        for found, cls, _ in self._changed:
            if cls is weakref.WeakSet:
                found.data = set(found.data)

    def restore(self) -> None:
        """See :class:`Patches`."""
        for found, cls, remove in self._changed:
            found.__class__ = cls
            found._remove = remove
        self._changed.clear()
        super().restore()


patches = _QuietSets()


@patches.when_imported("multiprocessing.dummy")
def _make_children_quiet(module: Any) -> None:
    """Each thread keeps those that it has started, as a process does."""
    quiet = SimpleNamespace(WeakKeyDictionary=_QUIET[weakref.WeakKeyDictionary])
    patches.add(module, "weakref", quiet)
