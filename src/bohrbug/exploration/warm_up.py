"""The first executions: they find functions and racy places, before the strategy has its turn.

CHESS does the same, so that lazy initialisation is over (OSDI 2008, section 4.2).
"""

from __future__ import annotations

from bohrbug.exploration.ongoing import Ongoing
from bohrbug.model.conditions import Level
from bohrbug.model.plan import Plan

MOST = 6
"""Executions before the strategy has its turn."""


class WarmUp:
    """Makes the first executions.

    Parameters:
        exploration: whose executions they are.

    Attributes:
        is_over: the accesses of the test have been seen, as far as they ever will be.
    """

    def __init__(self, exploration: Ongoing) -> None:
        self._exploration = exploration
        self._sees_data = exploration.options.level != Level.SYNC.value
        self.is_over = not exploration.learner.runtime.discovers

    def run(self) -> bool:
        """Make the first executions; False if one has shown that there is nothing to explore."""
        exploration = self._exploration
        quiet = 0
        for number in range(MOST):
            self.is_over = self.is_over or number > 3
            executed = exploration.execute(Plan())
            if executed is None or exploration.has_ended:
                return True
            trace, new_points = executed
            if not (exploration.result.is_concurrent or trace.arities):
                return False
            if not self._sees_data:
                return True
            # The first execution rewrites, the second is the first to see accesses.
            quiet = 0 if new_points else quiet + 1
            if quiet > 1:
                break
        self.is_over = True
        return True
