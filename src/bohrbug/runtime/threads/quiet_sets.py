"""The weak sets in which libraries keep all threads and processes are no data of the test."""

from __future__ import annotations

import multiprocessing.process
import threading
import weakref
from types import FunctionType
from typing import Any

from bohrbug.runtime.threads.patches import Patches

_SETS: tuple[Any, ...] = (vars(threading)["_dangling"], vars(multiprocessing.process)["_dangling"])


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
        self._removing: list[Any] = []

    def install(self) -> None:
        """See :class:`Patches`."""
        for each in _SETS:
            each.__class__ = _QUIET
            self._removing.append(each._remove)
            each._remove = _unseen(each._remove)

    def restore(self) -> None:
        """See :class:`Patches`."""
        for each, remove in zip(_SETS, self._removing, strict=False):
            each.__class__ = weakref.WeakSet
            each._remove = remove
        self._removing.clear()


patches = _QuietSets()
