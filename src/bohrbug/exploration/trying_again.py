"""The failing schedules of earlier runs, executed before the strategy has its turn."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.exploration.ongoing import Ongoing
from bohrbug.exploration.remembered import REMEMBERED, Remembered
from bohrbug.model.plan import Plan
from bohrbug.runtime.threads.runtime import ThreadsRuntime


class TryingAgain:
    """Executes remembered schedules, and notes which of them still fail.

    Parameters:
        exploration: counts the executions, and takes the failures.
        runtime: that of the exploration.
    """

    def __init__(self, exploration: Ongoing, runtime: ThreadsRuntime) -> None:
        self._exploration = exploration
        self._runtime = runtime

    def all(self, schedules: Sequence[Remembered]) -> None:
        """Try one after the other."""
        for remembered in schedules:
            if self._exploration.has_ended:
                return
            self._try(remembered)

    def _try(self, remembered: Remembered) -> None:
        for attempt in range(2):
            with self._runtime.other_points(remembered.points):
                trace = self._runtime.execute(remembered.plan, learn=False, watch=True).trace
                self._exploration.count_execution()
                if trace.outcome.is_failure:
                    remembered.fails = True
                    self._exploration.findings.note_failure(trace, REMEMBERED)
                    return
            if trace.divergence is None or attempt:
                return
            # It may pass through functions that no other execution did up to now.
            self._exploration.execute(Plan(tuple(trace.choices)))
