"""Failures seen closer: executed again, once what they were the first to show can be seen.

The accesses that an execution is the first to show are no scheduling points of its own, so that
neither its cause nor its schedule could tell of them.
"""

from __future__ import annotations

from dataclasses import replace

from bohrbug.exploration.figures import Signature
from bohrbug.exploration.findings import LONG, LookCloser
from bohrbug.exploration.ongoing import Ongoing
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
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Aligned, Mark, Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.runtime.protocol import Executed

MOST = 4
"""Executions by one plan, each of which may show more."""

_SEEN_AT_ONCE = frozenset({SPAWN, BEGIN, END, JOIN, SLEEP, RESUME, CANCELLED, CALLBACK})

LEFT_BEHIND = (
    "the test leaves something behind, in a global, say, that changes its next execution: it "
    "failed again, but by other steps than at first; create what it changes within the test"
)


class CloserLook:
    """Executes failing schedules again, and learns from what they show.

    Parameters:
        exploration: whose executions they are.
    """

    def __init__(self, exploration: Ongoing) -> None:
        self._exploration = exploration
        self._notes_races = exploration.options.races != "ignore"

    def at_one_of_the_first(self, trace: Trace) -> Trace:
        """A failure of one of the first executions, once the accesses that matter are seen.

        These executions have no preemptions, and the same schedule fails again.
        """
        exploration, learner = self._exploration, self._exploration.learner
        differs = False
        for _ in range(MOST):
            if not self._may_look_at(trace):
                break
            is_comparable = trace.plan.conditions == learner.conditions
            again, _ = self._execute(Plan())
            differs = differs or (is_comparable and _course(again) != _course(trace))
        again = exploration.findings.replay(Plan().under(learner.conditions))
        if again.outcome.signature() != trace.outcome.signature():
            return trace
        if differs:
            exploration.result.notices.append(LEFT_BEHIND)
        return again

    def where_it_shows_more(self, trace: Trace) -> LookCloser | None:
        """Execute a failure again that was not found here, and learn from it.

        Returns:
            :meth:`at_what_it_showed`, if it shows what is no step of it.
        """
        learner = self._exploration.learner
        _, is_more = self._learnt(trace.as_plan(), learner.learn_from(trace.as_plan()))
        return self.at_what_it_showed if is_more else None

    def at_what_it_showed(self, trace: Trace) -> Trace | None:
        """An execution that fails as another, with what that was the first to show as steps.

        Each task does again all that it did between two of its steps.

        Returns:
            The execution, with a strict plan that was seen to reproduce it; ``None`` if there is
            none.
        """
        exploration, learner = self._exploration, self._exploration.learner
        signature = trace.outcome.signature()
        if not exploration.options.minimise or Aligned not in learner.runtime.policies:
            return None
        with learner.runtime.afresh():
            return self._that_fails_alike(trace, signature)

    def _that_fails_alike(self, trace: Trace, signature: Signature) -> Trace | None:
        for plan in _same_course(trace):
            for _ in range(MOST):
                if not self._may_look_at(trace):
                    return None
                again, is_more = self._execute(plan)
                if again.outcome.signature() != signature:
                    break
                if not is_more:
                    again.plan = again.as_plan()
                    if self._exploration.findings.reproduces(again.plan, signature):
                        return again
                    break
        return None

    def _may_look_at(self, trace: Trace) -> bool:
        exploration = self._exploration
        return len(trace) <= LONG and not exploration.is_interrupted

    def _execute(self, plan: Plan) -> tuple[Trace, bool]:
        """Execute a plan and learn; return whether it was the first to show something, too."""
        return self._learnt(plan, self._exploration.learner.execute(plan, watch=True))

    def _learnt(self, plan: Plan, executed: Executed) -> tuple[Trace, bool]:
        exploration, learner = self._exploration, self._exploration.learner
        if executed.trace.outcome.kind is OutcomeKind.INTERRUPTED:
            exploration.is_interrupted = True
            return executed.trace, False
        if learner.has_learned:
            exploration.lessons.append(plan)
        if self._notes_races:
            exploration.findings.note_races(executed.trace)
        return executed.trace, bool(executed.new_points)


def _same_course(trace: Trace) -> tuple[Plan, ...]:
    """Plans by which tasks take the same steps in the same order, the most promising first."""
    # Loaded with the first such failure.
    from bohrbug.exploration.realignment import Alignment, marks_of, variants

    marks = marks_of(trace, Alignment())
    # A task did all that comes before what it was about to do when the execution ended.
    reached = tuple(
        Mark(task, operation.kind.name, site_of(operation.place))
        for task, operation in trace.final_pending.items()
    )
    policy = replace(marks.policy, marks=(*marks.policy.marks, *reached))
    return tuple(Plan((), each) for each in variants(replace(marks, policy=policy)))


def _course(trace: Trace) -> list[tuple[TaskId, str]]:
    """What tasks did that is seen whether or not the functions that they run are rewritten."""
    return [
        (task, operation.kind.name)
        for task, operation in zip(trace.tasks, trace.operations, strict=True)
        if operation.kind in _SEEN_AT_ONCE
    ]
