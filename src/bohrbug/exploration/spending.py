"""How the time that an exploration may take is spent: on searching, and on what was found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from bohrbug.exploration.minimisation.budget import Budget, never

OVERTIME = 0.15
"""What follows up a failure that is found last may take so much longer than the budget."""

HALF = 0.5
"""Of the time that is left: for making a failure smaller, and of the rest for its cause."""

LITTLE = 0.1
"""Of the time that is left: for a failure that may turn out to need a timeout to fire early."""

_now = time.perf_counter


class Spending:
    """The time of one exploration.

    Parameters:
        seconds: of real time that it may take; ``None`` is as long as it takes.
        is_stopped: whether the user wants it to end; what was found is not followed up then.
    """

    __slots__ = ("_began", "_is_stopped", "_seconds", "_shortest")

    def __init__(self, seconds: float | None, is_stopped: Callable[[], bool] = never) -> None:
        self._is_stopped = is_stopped
        self._seconds = math.inf if seconds is None else seconds
        self._began = _now()
        self._shortest = math.inf

    def begin(self, spent: float = 0.0) -> None:
        """It begins now.

        Parameters:
            spent: the seconds that were spent in an earlier process.
        """
        self._began = _now() - spent

    @property
    def spent(self) -> float:
        """The seconds that it has taken so far."""
        return _now() - self._began

    def prolong(self, seconds: float) -> None:
        """It may take so many seconds more."""
        self._seconds += seconds

    def note_execution(self, seconds: float) -> None:
        """An execution has taken so long."""
        self._shortest = min(self._shortest, seconds)

    @property
    def another_takes(self) -> float:
        """The seconds that another execution takes at least, as far as is known."""
        return 0.0 if self._shortest == math.inf else self._shortest

    def leaves_time_for(self, executions: int) -> bool:
        """Whether there is time for more than so many, each twice as long as the shortest."""
        return self.spent + 2 * executions * self.another_takes < self._seconds

    @property
    def is_over(self) -> bool:
        """Whether nothing is left for searching.

        An execution is not begun that would not end with the overtime: where each takes seconds,
        the last one would go far beyond the limit.
        """
        return self.spent >= self._seconds or self.is_overdrawn

    @property
    def is_overdrawn(self) -> bool:
        """Whether nothing is left for following up a failure, either."""
        return self.left <= self.another_takes

    def share(self, part: float, executions: int, most: float = math.inf) -> Budget:
        """A part of the time that is left, overtime included, for following up a failure.

        Parameters:
            part: of that time.
            executions: that may be made.
            most: seconds that it is at most.
        """
        until = _now() + min(max(self.left, 0.0) * part, most)
        return Budget(executions, until, self._is_stopped)

    @property
    def left(self) -> float:
        """The seconds that are left, overtime included."""
        return self._began + self._seconds * (1 + OVERTIME) - _now()
