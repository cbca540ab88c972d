"""Whether a loop that makes one turn after another, and never waits, only spins.

A task that gives way until a time has come makes turns for ever, as virtual time stands still
meanwhile.  So do tasks that have much to do, or get what they wait for at once: to let time pass
for them would be to let timeouts fire that do not in reality.
"""

from __future__ import annotations

from typing import Any

from bohrbug.model.operation import TaskId
from bohrbug.runtime.threads.loops.coroutines import all_frames
from bohrbug.runtime.threads.standing import Standing, standing, timeless

BUSY_TURNS = 500
"""Turns in a row without a pause after which it is looked at what the tasks do."""

IDLE_TURNS = 20
"""Further ones in which nobody comes any further: the loop spins."""

MOST_TURNS = 20_000
"""Turns in a row after which it is taken to spin, whatever it does."""


class Spinning:
    """The turns that one loop makes without a pause.

    Attributes:
        matters: whether it is looked at what the tasks do in this turn.
    """

    __slots__ = ("_idle", "_stood", "_turns", "matters")

    def __init__(self) -> None:
        self._turns = self._idle = 0
        # Where each task stood when it was last looked at.
        self._stood: dict[TaskId, Standing] = {}
        self.matters = False

    def pauses(self) -> None:
        """The loop is about to wait."""
        self._turns = self._idle = 0
        self.matters = False
        if self._stood:
            self._stood.clear()

    def turns(self) -> bool:
        """A turn begins that does not wait; whether the loop spins, by all that it did before."""
        self._turns += 1
        if self._turns < BUSY_TURNS:
            return False
        self._idle += 1
        # Looking takes long, and who has just come further need not be looked at again.
        self.matters = self._idle > IDLE_TURNS // 2
        if self._idle <= IDLE_TURNS and self._turns < MOST_TURNS:
            return False
        self.pauses()
        return True

    def steps(self, task: TaskId, coroutine: Any) -> None:
        """A task is about to go on.

        Parameters:
            task: of the model.
            coroutine: of the task; ``None``: it is a callback, which stands nowhere.
        """
        frames = [] if coroutine is None else all_frames(coroutine)
        stands = timeless(tuple(standing(frame) for frame in frames))
        if frames and self._stood.get(task) != stands:
            self._stood[task] = stands
            self._idle = 0
