"""Executions directed at predictions from passing executions, within an exploration."""

from __future__ import annotations

from bohrbug.exploration.ongoing import Ongoing
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.prediction import Prediction, Predictor
from bohrbug.model.conditions import Level
from bohrbug.model.plan import Ordered, Plan
from bohrbug.model.trace import Trace

DIRECTED = "prediction"
"""The name of the strategy for failures in directed executions."""


class Directing:
    """Makes predictions from executions of this process, and follows them.

    Parameters:
        exploration: whose executions they are; races that it knows need no prediction.
        platform: of the test.
    """

    def __init__(self, exploration: Ongoing, platform: Platform) -> None:
        options = exploration.options
        self._exploration = exploration
        self._platform = platform
        self._sees_races = options.level != Level.SYNC.value and options.races != "ignore"
        can_order = Ordered in platform.runtime.policies
        self._predictor = Predictor(options.predict if can_order else 0)
        self.is_under_way = False

    @property
    def unconfirmed(self) -> list[Prediction]:
        """The predictions that were tried and did not happen."""
        return self._predictor.unconfirmed

    @property
    def known(self) -> frozenset[object] | None:
        """The keys of the predictions that need not be made again.

        ``None``: executions of other processes are not wanted.
        """
        return self._predictor.known

    @property
    def waiting(self) -> int:
        """Directed executions that are still to be made."""
        return self._predictor.waiting

    def observe(self, trace: Trace) -> None:
        """Examine a passing execution, if it is one of the first or in the sample."""
        self._predictor.observe(trace)

    def look_at(self, trace: Trace) -> None:
        """Examine a passing execution of another process."""
        self._predictor.look_at(trace)

    def predict_races(self) -> None:
        """Examine one passing execution for races that another schedule may have."""
        exploration, predictor = self._exploration, self._predictor
        if not self._sees_races or not predictor.budget or exploration.has_ended:
            return
        plan = Plan().under(exploration.learner.conditions)
        known = exploration.findings.races.values()
        predictor.observe_races(self._platform.possible_races(plan), known)

    def follow(self) -> int:
        """Make the directed executions that are due; return the number of new scheduling points."""
        found = self._look_again()
        if not self._predictor.has_attempts:
            return found
        self.is_under_way = True
        try:
            while (
                not self._exploration.has_ended
                and (attempt := self._predictor.next_attempt()) is not None
            ):
                executed = self._exploration.execute(attempt.plan, watch=True)
                if executed is None:
                    break
                self._predictor.judge(attempt, executed[0])
                found += executed[1]
        finally:
            self.is_under_way = False
        return found

    def _look_again(self) -> int:
        """Execute again what passed before it was known what the program should do."""
        exploration, found = self._exploration, 0
        for plan in self._platform.take_doubted():
            exploration.findings.forget_passes()
            executed = exploration.execute(plan)
            found += executed[1] if executed is not None else 0
        return found
