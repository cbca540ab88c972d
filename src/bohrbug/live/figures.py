"""What rounds have come to, of whichever program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bohrbug.live.harm import End

Failing = tuple[str, str]
"""What tells a failure from another one: the kind of outcome, or the type of an exception, and the
task."""


def failing_in_words(failing: Failing) -> str:
    """How a fragment failed: ``AssertionError in task 0.2``."""
    what, task = failing
    return f"{what} in task {task}" if task else what


@dataclass(slots=True)
class Figures:
    """What rounds have come to.

    Parameters:
        rounds: how many there were.
        ends: how fragments ended.
        retired: how many fragments the program has followed.
        parted: how many of those it could not follow to their end.
        unproved: failures of fragments that the program did not have when it followed them.
        failed_copies: rounds that could not be made, as the system made no copy.
        share: the percentage of the run's time that rounds took.
        longest: seconds of the longest round.
    """

    rounds: int = 0
    ends: Counter[End] = field(default_factory=Counter)
    retired: int = 0
    parted: int = 0
    unproved: list[Failing] = field(default_factory=list)
    failed_copies: int = 0
    share: float = 0.0
    longest: float = 0.0

    @property
    def fragments(self) -> int:
        """How many there were."""
        return self.ends.total()
