"""The failing schedules of earlier runs, executed before the strategy has its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bohrbug.exploration.closer_look import CloserLook
from bohrbug.exploration.ongoing import Ongoing
from bohrbug.exploration.remembered import REMEMBERED, Remembered
from bohrbug.model.plan import Plan


class TryingAgain:
    """Executes remembered schedules, and notes which of them still fail.

    Parameters:
        exploration: counts the executions, and takes the failures.
    """

    def __init__(self, exploration: Ongoing) -> None:
        self._exploration = exploration

    def all(self, schedules: Sequence[Remembered]) -> None:
        """Try one after the other."""
        for remembered in schedules:
            if self._exploration.has_ended:
                return
            self._try(remembered)

    def _try(self, remembered: Remembered) -> None:
        exploration, learner = self._exploration, self._exploration.learner
        conditions = learner.conditions.with_timeouts_of(remembered.plan.conditions)
        conditions = replace(conditions, points=frozenset(remembered.points))
        for attempt in range(2):
            trace = learner.replay(remembered.plan.under(conditions), watch=True).trace
            exploration.count_execution()
            if trace.outcome.is_failure:
                remembered.fails = True
                look_closer = CloserLook(exploration).where_it_shows_more(trace)
                exploration.findings.note_failure(trace, REMEMBERED, look_closer=look_closer)
                return
            if trace.divergence is None or attempt:
                return
            # It may call functions that no other execution has called so far.
            exploration.execute(Plan(tuple(trace.choices)))
