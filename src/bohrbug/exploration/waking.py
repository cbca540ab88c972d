"""Spurious wake-ups: waits for condition variables that end although nobody has signalled.

POSIX allows them, so that a program has to look again at what it waits for.  In a search each of
them would be one more choice at every wait, and correct programs would have many times as many
schedules.  But a program that does not look again goes wrong as soon as it goes on while nothing
has changed.  So each place where passing executions wait is tried a few times: the execution is
made again up to the wait, which ends there, and its task goes on.
"""

from __future__ import annotations

from bohrbug.exploration.ongoing import Ongoing
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.spending import Spending
from bohrbug.model.plan import Choice, Plan
from bohrbug.model.trace import Trace

WAKING = "spurious wake-ups"
"""The name of the strategy for failures in these executions."""

LOOKED_AT = 30
"""Passing executions in which waits are looked for, each time that the search starts again."""

TRIES = 2
"""How often a place is tried, in different executions."""

MOST = 16
"""Executions with such a wake-up, in one exploration."""


class Waking:
    """Makes the executions with a spurious wake-up, when the search is about to end.

    Parameters:
        exploration: whose executions they are.
        platform: of the test.
    """

    def __init__(self, exploration: Ongoing, platform: Platform) -> None:
        self._exploration = exploration
        self._platform = platform
        self._left = MOST if exploration.options.predict else 0
        self._tried: dict[object, int] = {}
        # What is to be tried at each place: the choices up to the end of the wait.
        self._waits: dict[object, list[tuple[Choice, ...]]] = {}
        self._seen = 0
        self.is_under_way = False

    def observe(self, trace: Trace) -> None:
        """Look for waits in a passing execution."""
        if self._seen >= LOOKED_AT or not self._left or trace.arities:
            return
        self._seen += 1
        for step in self._platform.spurious_wakes(trace):
            place = trace.operations[step].place
            plans = self._waits.setdefault(place, [])
            plans.append((*trace.choices[: step + 1], 1))
            # The newest ones: an access may have become a scheduling point since the others.
            del plans[: max(len(plans) + self._tried.get(place, 0) - TRIES, 0)]

    def forget(self) -> None:
        """Drop what was seen: there are more scheduling points now, and other choices."""
        self._waits.clear()
        self._seen = 0

    @property
    def waiting(self) -> int:
        """Executions that are still to be made."""
        return min(self._left, sum(map(len, self._waits.values())))

    def is_due(self, spending: Spending) -> bool:
        """Whether what is left of the budget is no more than they need."""
        exploration, waiting = self._exploration, self.waiting
        left = exploration.options.left_after(exploration.result.executions)
        return waiting > 0 and (left <= waiting or not spending.leaves_time_for(waiting))

    def follow(self) -> int:
        """Make them; return the number of new scheduling points."""
        exploration, found = self._exploration, 0
        self.is_under_way = True
        try:
            while self.waiting and not exploration.has_ended:
                place = next(place for place, plans in self._waits.items() if plans)
                plan = Plan(self._waits[place].pop(0))
                self._tried[place] = self._tried.get(place, 0) + 1
                self._left -= 1
                executed = exploration.execute(plan)
                if executed is None:
                    break
                found += executed[1]
        finally:
            self.is_under_way = False
        return found
