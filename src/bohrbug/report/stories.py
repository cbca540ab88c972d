"""The preemptions that matter, and with which operations of whom they conflict.

Everything is read off the trace of the minimised execution: the essential
preemptions, what the preempted task did last and was about to do, and the
conflicting operations that other tasks did before it went on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bohrbug.model.operation import (
    BEGIN,
    CHOOSE,
    END,
    JOIN,
    OUTSIDE,
    SPAWN,
    Operation,
    ResourceId,
    TaskId,
)
from bohrbug.model.trace import Trace

LIFE = frozenset({SPAWN, BEGIN, END, JOIN, CHOOSE})
"""Kinds of operations that conflict with others and still explain nothing."""

NEARBY = 2000
"""Steps looked at on either side of a preemption for operations that conflict."""


@dataclass(frozen=True, slots=True)
class Story:
    """One preemption and what makes it matter.

    Parameters:
        step: the step that begins with the preemption.
        task: who was preempted, or whose timeout fired.
        pending: what that task was about to do.
        before: the step of the preempted task, before the preemption, that
            belongs to the conflict, or its last one.
        after: the step in which the preempted task goes on with its part of the
            conflict; ``None`` if it never does.
        between: the conflicting step of another task in between, if there is one.
        resumed: the step in which the preempted task goes on; ``None`` if it never does.
        timeout: it is a timeout (or the end of a sleep) that came early.
        same: ``before`` and the operation after are on the resource of ``between``.
        late: the task is one of an event loop, and what it waited for has arrived late.
    """

    step: int
    task: TaskId
    pending: Operation | None
    before: int | None = None
    after: int | None = None
    between: int | None = None
    resumed: int | None = None
    timeout: bool = False
    same: bool = False
    late: bool = False

    def steps(self) -> tuple[int, ...]:
        """The steps that a report must show to tell this story."""
        found = {self.step, self.before, self.after, self.between, self.resumed}
        if not self.timeout and self.step > 0:
            found.add(self.step - 1)
        return tuple(sorted(index for index in found if index is not None))


class TaskSteps:
    """For each task the indices of its steps, in order."""

    def __init__(self, trace: Trace) -> None:
        self._of: dict[TaskId, list[int]] = {}
        for index, task in enumerate(trace.tasks):
            self._of.setdefault(task, []).append(index)

    def __contains__(self, task: TaskId) -> bool:
        return task in self._of

    def of(self, task: TaskId) -> Sequence[int]:
        """All steps of a task."""
        return self._of.get(task, ())

    def before(self, task: TaskId, index: int) -> Sequence[int]:
        """Its last steps before ``index``, at most ``NEARBY`` of them."""
        steps = self.of(task)
        end = bisect_left(steps, index)
        return steps[max(0, end - NEARBY) : end]

    def since(self, task: TaskId, index: int) -> Sequence[int]:
        """Its first steps from ``index`` on, at most ``NEARBY`` of them."""
        steps = self.of(task)
        start = bisect_left(steps, index)
        return steps[start : start + NEARBY]

    def next_operation(self, trace: Trace, task: TaskId, index: int) -> Operation | None:
        """What a task was about to do before step ``index``."""
        for step in self.since(task, index):
            if trace.operations[step].kind is not CHOOSE:
                return trace.operations[step]
        if task in trace.final_pending:
            return trace.final_pending[task]
        blocked = (blocked for blocked in trace.outcome.blocked if blocked.task == task)
        return next((task.operation for task in blocked), None)


def tell(trace: Trace, step: int, steps: TaskSteps) -> Story:
    """The story of the preemption with which ``step`` begins.

    Parameters:
        trace: the execution.
        step: the number of a step.
        steps: those of the execution by task.
    """
    if trace.has_fired(step):
        return _story_of_timeout(trace, step, steps)
    task = trace.goes_on(step)
    later = steps.since(task, step)
    resumed = later[0] if later else None
    pending = steps.next_operation(trace, task, step)
    own = steps.before(task, step)
    before = own[-1] if own else None
    if is_late(trace, step, pending):
        return Story(step, task, pending, before=before, resumed=resumed, late=True)
    plain = Story(step, task, pending, before=before, resumed=resumed)
    before_of = _last_by_resource(trace, steps.before(task, step))
    after_of = _last_by_resource(trace, reversed(later))
    # What it never came to do belongs to a conflict as well.
    undone = pending if resumed is None else None
    ranked = []
    for resource, others in _between(trace, step, resumed).items():
        left = undone if undone is not None and undone.resource == resource else None
        found = _conflict(
            trace, plain, others, before_of.get(resource), after_of.get(resource), left
        )
        if found is not None:
            ranked.append(found)
    return min(ranked, key=lambda each: each[0])[1] if ranked else plain


def is_late(trace: Trace, step: int, pending: Operation | None) -> bool:
    """Whether an event loop runs something else at a step than what would come next.

    Parameters:
        trace: the execution.
        step: it begins with a preemption.
        pending: what the task was about to do that would come next.
    """
    # Steps of one loop act on that loop.
    return (
        step in trace.defaults
        and pending is not None
        and pending.resource == trace.operations[step].resource
    )


def _last_by_resource(trace: Trace, steps: Iterable[int]) -> dict[ResourceId, int]:
    return {trace.operations[step].resource: step for step in steps}


def _story_of_timeout(trace: Trace, step: int, steps: TaskSteps) -> Story:
    task = trace.tasks[step]
    others = [other for other in trace.enabled[step] if other != task]
    return Story(
        step,
        task,
        trace.operations[step],
        timeout=True,
        before=next(iter(reversed(steps.before(task, step))), None),
        after=next((s for other in others for s in steps.since(other, step)), None),
    )


def _between(trace: Trace, step: int, resumed: int | None) -> dict[ResourceId, list[int]]:
    """The steps from a preemption until its task goes on, by what they act on."""
    end = len(trace) if resumed is None else resumed
    found: dict[ResourceId, list[int]] = {}
    for index in range(step, min(end, step + NEARBY)):
        operation = trace.operations[index]
        if operation.kind not in LIFE:
            found.setdefault(operation.resource, []).append(index)
    return found


_Rank = tuple[int, int, int]
"""How well a conflict explains a preemption, the smallest best: data, on both sides, near."""


def _conflict(
    trace: Trace,
    plain: Story,
    others: Sequence[int],
    before: int | None,
    after: int | None,
    left: Operation | None,
) -> tuple[_Rank, Story] | None:
    """What a preemption has to do with one resource; ``None`` if that is nothing.

    Parameters:
        trace: the execution.
        plain: the story without a conflict.
        others: the steps on the resource before the preempted task goes on.
        before: its last step on the resource before the preemption.
        after: its first one behind it.
        left: what it was about to do to the resource, and never did.
    """
    operations = trace.operations
    mine = [operations[index] for index in (before, after) if index is not None]
    if left is not None:
        mine.append(left)
    conflicting = [
        index
        for index in others
        if any(operations[index].conflicts_with(operation) for operation in mine)
    ]
    if not conflicting:
        return None
    goes_on = after is not None or left is not None
    writes = [index for index in conflicting if operations[index].kind.is_write]
    chosen = (writes or conflicting)[-1 if goes_on else 0]
    both = before is not None and goes_on
    distance = 0 if before is None else plain.step - before
    if after is not None and plain.resumed is not None:
        distance += after - plain.resumed
    kind = operations[chosen].kind
    # What is sent and received is as good as data; locks are only there to protect some.
    rank = (int(not (kind.is_data or kind in OUTSIDE)), int(not both), distance)
    told_before = plain.before if before is None else before
    return rank, replace(plain, before=told_before, after=after, between=chosen, same=both)


def stories(trace: Trace, essential: Sequence[int], steps: TaskSteps) -> list[Story]:
    """The stories of the essential preemptions, in order."""
    return [tell(trace, step, steps) for step in sorted(essential) if 0 <= step < len(trace)]
