"""Executions directed at what passing executions give reason to fear, within an exploration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bohrbug.exploration.ongoing import Ongoing
from bohrbug.exploration.opposing import OpposingPredictor
from bohrbug.exploration.prediction import OrderingPredictor, Prediction, Predictor
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads.runtime import MakeWatcher, ThreadsRuntime
from bohrbug.runtime.threads.settings import Level

DIRECTED = "prediction"
"""Stands for the strategy where a directed execution has failed."""


class Directing:
    """Makes predictions from executions of this process, and follows them.

    Parameters:
        exploration: whose executions they are; the races that it knows need no prediction.
        take_doubted: see :class:`~bohrbug.exploration.surroundings.Surroundings`.
    """

    def __init__(self, exploration: Ongoing, take_doubted: Callable[[], Sequence[Plan]]) -> None:
        options = exploration.options
        self._exploration = exploration
        self._take_doubted = take_doubted
        self._sees_races = options.level != Level.SYNC.value and options.races != "ignore"
        self._predictor: Predictor = (
            OrderingPredictor(options.predict)
            if isinstance(exploration.runtime, ThreadsRuntime)
            else OpposingPredictor(options.predict)
        )
        self.is_under_way = False

    @property
    def unconfirmed(self) -> list[Prediction]:
        """The predictions that were tried and did not happen."""
        return self._predictor.unconfirmed

    @property
    def known(self) -> frozenset[object] | None:
        """The keys of the predictions that need not be made again.

        ``None``: of executions by other processes none are wanted.
        """
        return self._predictor.known

    @property
    def waiting(self) -> int:
        """Directed executions that are still to be made."""
        return self._predictor.waiting

    def observe(self, trace: Trace) -> None:
        """Look at a passing execution, if it is of the first ones or of the sample."""
        self._predictor.observe(trace)

    def look_at(self, trace: Trace) -> None:
        """Look at a passing execution of another process."""
        self._predictor.look_at(trace)

    def predict_races(self) -> None:
        """Look at one passing execution for races that another schedule may have."""
        exploration, predictor = self._exploration, self._predictor
        runtime = exploration.runtime
        # Only there can orderings be imposed on an execution, and races be foreseen.
        if not (isinstance(runtime, ThreadsRuntime) and isinstance(predictor, OrderingPredictor)):
            return
        if not self._sees_races or not predictor.budget or exploration.has_ended:
            return

        def execute(plan: Plan, watcher: MakeWatcher) -> Trace:
            return runtime.execute(plan, learn=False, watcher=watcher).trace

        known = list(exploration.findings.races.values())
        predictor.observe_accesses(Plan(), execute, known)

    def follow(self) -> int:
        """Make the directed executions that are due; the number of new scheduling points."""
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
        """Execute again what passed before it was known what the program should give."""
        exploration, found = self._exploration, 0
        for plan in self._take_doubted():
            exploration.findings.forget_passes()
            executed = exploration.execute(plan)
            found += executed[1] if executed is not None else 0
        return found
