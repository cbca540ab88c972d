"""The first executions: they find functions and racy places, before the strategy has its turn.

CHESS does the same, so that lazy initialisation is over (OSDI 2008, section 4.2).
"""

from __future__ import annotations

from bohrbug.exploration.findings import LONG
from bohrbug.exploration.ongoing import Ongoing
from bohrbug.model.conditions import Level
from bohrbug.model.operation import (
    BEGIN,
    CALLBACK,
    CANCELLED,
    END,
    JOIN,
    RESUME,
    SLEEP,
    SPAWN,
    TaskId,
)
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace

MOST = 6
"""Executions before the strategy has its turn."""

_SEEN_AT_ONCE = frozenset({SPAWN, BEGIN, END, JOIN, SLEEP, RESUME, CANCELLED, CALLBACK})

LEFT_BEHIND = (
    "the test leaves something behind, in a global, say, that changes its next execution: it "
    "failed again, but by other steps than at first; create what it changes within the test"
)


class WarmUp:
    """Makes the first executions, and examines a failure of one of them.

    Parameters:
        exploration: whose executions they are.

    Attributes:
        is_over: the accesses of the test have been seen, as far as they ever will be.
    """

    def __init__(self, exploration: Ongoing) -> None:
        self._exploration = exploration
        self._sees_data = exploration.options.level != Level.SYNC.value
        self._notes_races = exploration.options.races != "ignore"
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
            if exploration.result.tasks <= 1 and not trace.arities:
                return False
            if not self._sees_data:
                return True
            # The first execution rewrites, the second is the first to see accesses.
            quiet = 0 if new_points else quiet + 1
            if quiet > 1:
                break
        self.is_over = True
        return True

    def seen_closer(self, trace: Trace) -> Trace:
        """A failure of one of the first executions, once the accesses that matter are seen.

        These executions have no preemptions, and the same schedule fails again.
        """
        self.is_over = True
        exploration, learner = self._exploration, self._exploration.learner
        differs = False
        for _ in range(4):
            if len(trace) > LONG or exploration.is_interrupted:
                break
            is_comparable = trace.plan.conditions == learner.conditions
            executed = learner.execute(Plan())
            differs = differs or (is_comparable and _course(executed.trace) != _course(trace))
            if learner.has_learned:
                exploration.lessons.append(Plan())
            if self._notes_races:
                exploration.findings.note_races(executed.trace)
        again = exploration.findings.replay(Plan().under(learner.conditions))
        if again.outcome.signature() != trace.outcome.signature():
            return trace
        if differs:
            exploration.result.notices.append(LEFT_BEHIND)
        return again


def _course(trace: Trace) -> list[tuple[TaskId, str]]:
    """What tasks did that is seen whether or not the functions that they run are rewritten."""
    return [
        (task, operation.kind.name)
        for task, operation in zip(trace.tasks, trace.operations, strict=True)
        if operation.kind in _SEEN_AT_ONCE
    ]
