"""The failing schedules of earlier runs, executed before the strategy has its turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bohrbug.exploration.findings import Findings
from bohrbug.exploration.remembered import REMEMBERED, Remembered
from bohrbug.model.plan import Plan
from bohrbug.runtime.threads.runtime import ThreadsRuntime


class TryingAgain:
    """Executes remembered schedules, and notes which of them still fail.

    Parameters:
        runtime: executes them.
        findings: takes the failures.
        count: called for each such execution.
        execute: makes an execution of the exploration itself.
        has_ended: whether the exploration has to end.
    """

    def __init__(
        self,
        runtime: ThreadsRuntime,
        findings: Findings,
        count: Callable[[], object],
        execute: Callable[[Plan], object],
        has_ended: Callable[[], bool],
    ) -> None:
        self._runtime = runtime
        self._findings = findings
        self._count = count
        self._execute = execute
        self._has_ended = has_ended

    def all(self, schedules: Sequence[Remembered]) -> None:
        """Try one after the other."""
        for remembered in schedules:
            if self._has_ended():
                return
            self._try(remembered)

    def _try(self, remembered: Remembered) -> None:
        for attempt in range(2):
            with self._runtime.other_points(remembered.points):
                trace = self._runtime.execute(remembered.plan, learn=False, watch=True).trace
                self._count()
                if trace.outcome.is_failure:
                    remembered.fails = True
                    self._findings.note_failure(trace, REMEMBERED)
                    return
            if trace.divergence is None or attempt:
                return
            # It may pass through functions that no other execution did up to now.
            self._execute(Plan(tuple(trace.choices)))
