"""Which real thread has to wait for which: the priorities of PCT.

After Burckhardt, Kothari, Musuvathi and Nagarakatte, *A Randomized Scheduler with Probabilistic
Guarantees of Finding Bugs*, ASPLOS 2010, and its use on programs with real threads (Cuzz): threads
have random priorities, which are lowered at a few random steps, and a thread gives way to those
above it. Here it does so for a short real time only, so that nothing can be said of probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random


class Priorities:
    """The priorities of one window.

    Parameters:
        draw: where random numbers come from.
        changes: how many change points there are.
        length: among how many cue points they are.
    """

    def __init__(self, draw: Random, changes: int, length: int) -> None:
        self._draw = draw
        self._of: dict[int, float] = {}
        self._cues = 0
        places = range(1, max(length, changes) + 1)
        # The first change is to the highest of the low priorities, the last to the lowest.
        self._changes = dict(zip(sorted(draw.sample(places, changes)), range(changes), strict=True))

    def reach(self, thread: int) -> bool:
        """A thread has come to a cue point; whether that is a change point.

        Parameters:
            thread: its number.
        """
        self._cues += 1
        self._known(thread)
        change = self._changes.pop(self._cues, None)
        if change is None:
            return False
        self._of[thread] = -float(change)
        return True

    def gives_way(self, thread: int, running: Iterable[int]) -> bool:
        """Whether a thread is below one of those that run."""
        own = self._known(thread)
        return any(self._known(each) > own for each in running)

    def _known(self, thread: int) -> float:
        if thread not in self._of:
            self._of[thread] = 1.0 + self._draw.random()
        return self._of[thread]
