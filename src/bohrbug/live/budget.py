"""How much of a program's time live rounds may take, and so when the next one may begin."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """What rounds may take, of the time that passes.

    Each round is paid for before the next one begins. What was not spent while there was nothing
    to try is not saved up: a server that wakes up after an idle hour must not stand still for half
    of one.

    Parameters:
        percent: of the time that may be spent in rounds, from 1 to 99.
        began: the moment at which the run began, in seconds of any clock.
        spent: seconds that were spent in rounds.
        next_at: the moment from which on another round may begin.
    """

    percent: float
    began: float
    spent: float = 0.0
    next_at: float = 0.0

    def spend(self, began: float, ended: float) -> None:
        """A round lasted from one moment to another."""
        self.spent += ended - began
        owed = max(self.next_at - began, 0.0) if self.next_at else 0.0
        self.next_at = ended + owed + (ended - began) * (100.0 / self.percent - 1.0)

    def share(self, now: float) -> float:
        """The percentage of the time up to now that was spent in rounds."""
        passed = now - self.began
        return 100.0 * self.spent / passed if passed > 0 else 0.0


SHORTEST_SECONDS = 0.0005
"""Between two looks at the clock, at least: a look costs as much as some steps."""

LONGEST_GAP = 4_096
"""Steps between two looks, at most: the program may slow down at any time."""


def gap_until(moment: float, now: float, steps_per_second: float) -> int:
    """How many steps to let pass before looking at the clock again.

    Half of what the program is likely to do until then: what comes too early costs little, and
    what comes too late is lost.

    Parameters:
        moment: what is waited for, in seconds; infinity if nothing is.
        now: the same clock now.
        steps_per_second: what the program has done lately.
    """
    if moment == math.inf:
        return LONGEST_GAP
    wanted = max(moment - now, SHORTEST_SECONDS) * steps_per_second / 2
    return int(min(max(wanted, 1), LONGEST_GAP))
