"""What an exploration tells while it lasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bohrbug.search.estimates import Estimate


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration has come.

    Parameters:
        executions: made so far.
        budget: executions to make at most; ``None``: there is no such limit.
        elapsed: wall time since the beginning, in seconds.
        failures: distinct failures found so far.
        races: distinct data races seen so far.
        words: what the strategy says of its progress.
        estimate: of the size of the space, if there is one.
    """

    executions: int
    budget: int | None
    elapsed: float
    failures: int
    races: int
    words: str
    estimate: Estimate | None = None

    @property
    def rate(self) -> float:
        """Executions per second; 0 before any time has passed."""
        return self.executions / self.elapsed if self.elapsed > 0 else 0.0


TellProgress = Callable[[Progress], object]
"""Called several times a second with how far an exploration has come."""
