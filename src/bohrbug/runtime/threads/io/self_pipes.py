"""The pair of sockets by which a loop of asyncio wakes itself: made when somebody needs it.

Other tasks wake a loop under control by a flag (:meth:`.LoopTurns.wake`), so that few loops ever
use their sockets: to make, watch and close them took a third of a short ``asyncio.run``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import controlled, unseen
from bohrbug.runtime.threads.io.channels import note_pair
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.loops.as_asyncio import runs_as_asyncios
from bohrbug.runtime.threads.loops.references import OwnReference

_LACKS_PAIR = "_bohrbug_lacks_self_pipe"
"""Name of what a loop has as long as it has no pair."""


class _MadeWhenAskedFor:
    """Stands for an end of the pair of a loop that has none yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, loop: Any, cls: type | None = None) -> Any:
        if loop is None:
            return self
        make_pair(loop)
        own = vars(loop)
        if self._name not in own:
            # It is still being made.
            raise AttributeError(self._name, name=self._name, obj=loop)
        return own[self._name]


class _PairPatches(LatePatches):
    """Completes the loops that live on when control is given back."""

    def __init__(self) -> None:
        super().__init__()
        self.incomplete: set[OwnReference] = set()
        # What makes a pair.
        self.make: Callable[[Any], None]

    def restore(self) -> None:
        """See :class:`~bohrbug.runtime.threads.patches.Patches`."""
        for reference in list(self.incomplete):
            loop = reference()
            if loop is not None:
                make_pair(loop)
        self.incomplete.clear()
        super().restore()


patches = _PairPatches()


def lacks_pair(loop: Any) -> bool:
    """Whether a loop has gone without its pair of sockets up to now.

    Parameters:
        loop: any event loop.
    """
    return _LACKS_PAIR in vars(loop)


def make_pair(loop: Any) -> None:
    """Give a loop its pair of sockets, if it has gone without them.

    Parameters:
        loop: any event loop.
    """
    if vars(loop).pop(_LACKS_PAIR, None) is None:
        return
    make, execution = patches.make, controlled()
    if execution is None:
        make(loop)
        return
    # To the program it was there all the time; and the loop's next task is the same one either way.
    unseen(execution, lambda: make(loop) is None)
    note_pair(execution, loop._ssock.fileno(), loop._csock.fileno())


@patches.when_imported("asyncio.selector_events")
def _make_pairs_late(module: Any) -> None:
    cls = module.BaseSelectorEventLoop
    make, close = cls._make_self_pipe, cls._close_self_pipe
    incomplete, patches.make = patches.incomplete, make

    @patches.method(cls, "_make_self_pipe")
    def make_late(self: Any) -> None:
        execution = controlled()
        if execution is None or execution.settings.is_live or not runs_as_asyncios(self):
            make(self)
        else:
            self.__dict__[_LACKS_PAIR] = True
            incomplete.add(OwnReference(self, incomplete.discard))

    @patches.method(cls, "_close_self_pipe")
    def close_late(self: Any) -> None:
        if self.__dict__.pop(_LACKS_PAIR, None) is None:
            close(self)
        else:
            self._ssock = self._csock = None

    for name in ("_ssock", "_csock"):
        patches.add(cls, name, _MadeWhenAskedFor(name))
