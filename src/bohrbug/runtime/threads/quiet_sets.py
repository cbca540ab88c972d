"""The weak sets in which libraries keep all threads, processes and tasks are no data of tests."""

from __future__ import annotations

import sys
import weakref
from types import FunctionType
from typing import Any

from bohrbug.runtime.threads.patches import Patches

_NAMES = (
    ("threading", "_dangling"),
    ("multiprocessing.process", "_dangling"),
    ("asyncio.tasks", "_all_tasks"),
    ("asyncio.tasks", "_scheduled_tasks"),
)
"""Modules that may be imported, and what such a set is called in them, in some version."""


def _unseen(function: FunctionType) -> FunctionType:
    """The same function, with code of its own, as part of this module: it is not rewritten."""
    copy = FunctionType(
        function.__code__.replace(),
        {**function.__globals__, "__name__": __name__},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


_QUIET = type(
    "WeakSet",
    (weakref.WeakSet,),
    {
        name: _unseen(value)
        for name, value in vars(weakref.WeakSet).items()
        if isinstance(value, FunctionType)
    },
)


class _QuietSets(Patches):
    """What the sets are changes, not which: others have references to them."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: list[tuple[Any, Any]] = []

    def install(self) -> None:
        """See :class:`Patches`."""
        for module, name in _NAMES:
            found: Any = vars(sys.modules.get(module, sys)).get(name)
            if type(found) is weakref.WeakSet:
                self._change(found)

    def _change(self, found: Any) -> None:
        self._changed.append((found, found._remove))
        found.__class__ = _QUIET
        found._remove = _unseen(found._remove)

    def restore(self) -> None:
        """See :class:`Patches`."""
        for found, remove in self._changed:
            found.__class__ = weakref.WeakSet
            found._remove = remove
        self._changed.clear()


patches = _QuietSets()
