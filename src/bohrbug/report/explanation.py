"""Which preemptions matter, in terms of the source.

Everything is read off the trace of the minimised execution: the essential
preemptions, what the preempted task did last and was about to do, and the
conflicting operations that other tasks did before it went on.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bohrbug.model.operation import (
    BEGIN,
    CHOOSE,
    CONTINUE,
    END,
    JOIN,
    SLEEP,
    SPAWN,
    Operation,
    TaskId,
    is_fault,
)
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.trace import Trace
from bohrbug.report.naming import EXIT, Names
from bohrbug.report.sources import source_line
from bohrbug.report.wording import fault_words

_LIFE = {SPAWN, BEGIN, END, JOIN, CHOOSE}
_SECONDS = re.compile(r"(?:timeout\s*=|\b(?:wait|join|sleep)\()\s*(\d+(?:\.\d+)?|\.\d+)\s*[,)]")
_NEARBY = 2000
"""Steps looked at on either side of a preemption for operations that conflict."""


@dataclass(frozen=True, slots=True)
class Story:
    """One preemption and what makes it matter; every field but the last two indexes steps.

    Parameters:
        step: the step that begins with the preemption.
        before: the operation of the preempted task, before the preemption, that
            belongs to the conflict, or its last one.
        after: the step in which the preempted task goes on with its part of the
            conflict; ``None`` if it never does.
        between: the conflicting operation of another task in between, if there is one.
        resumed: the step in which the preempted task goes on; ``None`` if it never does.
        task: who was preempted, or whose timeout fired.
        pending: what that task was about to do.
        timeout: it is a timeout (or the end of a sleep) that came early.
        same: ``before`` and the operation after are on the resource of ``between``.
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
        """Its last steps before ``index``, at most ``_NEARBY`` of them."""
        steps = self.of(task)
        end = bisect_left(steps, index)
        return steps[max(0, end - _NEARBY) : end]

    def since(self, task: TaskId, index: int) -> Sequence[int]:
        """Its first steps from ``index`` on, at most ``_NEARBY`` of them."""
        steps = self.of(task)
        start = bisect_left(steps, index)
        return steps[start : start + _NEARBY]

    def next_operation(self, trace: Trace, task: TaskId, index: int) -> Operation | None:
        """What a task was about to do before step ``index``."""
        for step in self.since(task, index):
            if trace.operations[step].kind is not CHOOSE:
                return trace.operations[step]
        if task in trace.final_pending:
            return trace.final_pending[task]
        blocked = (blocked for blocked in trace.outcome.blocked if blocked.task == task)
        return next((task.operation for task in blocked), None)


def _last_by_resource(trace: Trace, steps: Sequence[int]) -> dict[str, int]:
    return {trace.operations[step].resource: step for step in steps}


def tell(trace: Trace, step: int, steps: TaskSteps) -> Story:
    """The story of the preemption with which ``step`` begins."""
    operations = trace.operations
    if trace.has_fired(step):
        others = [task for task in trace.enabled[step] if task != trace.tasks[step]]
        return Story(
            step,
            trace.tasks[step],
            operations[step],
            timeout=True,
            before=next(iter(reversed(steps.before(trace.tasks[step], step))), None),
            after=next((s for task in others for s in steps.since(task, step)), None),
        )
    task = trace.tasks[step - 1]
    later = steps.since(task, step)
    resumed = later[0] if later else None
    pending = steps.next_operation(trace, task, step)
    end = len(trace) if resumed is None else resumed
    between: dict[str, list[int]] = {}
    for index in range(step, min(end, step + _NEARBY)):
        operation = operations[index]
        if operation.kind not in _LIFE:
            between.setdefault(operation.resource, []).append(index)
    own_before = _last_by_resource(trace, steps.before(task, step))
    own_after = _last_by_resource(trace, list(reversed(later)))
    if resumed is None and pending is not None:
        own_after = {pending.resource: len(trace)}

    best: tuple[tuple[int, int, int], Story] | None = None
    for resource, conflicts in between.items():
        before = own_before.get(resource)
        after = own_after.get(resource)
        mine = [operations[index] for index in (before,) if index is not None]
        if after is not None:
            mine.append(operations[after] if after < len(trace) else pending)  # type: ignore[arg-type]
        conflicting = [
            index
            for index in conflicts
            if any(operations[index].conflicts_with(operation) for operation in mine)
        ]
        if not conflicting:
            continue
        writes = [index for index in conflicting if operations[index].kind.is_write]
        chosen = (writes or conflicting)[-1 if after is not None else 0]
        both = before is not None and after is not None
        is_data = operations[chosen].kind.is_data
        distance = (0 if before is None else step - before) + (0 if after is None else after - end)
        rank = (0 if is_data else 1, 0 if both else 1, distance)
        story = Story(
            step,
            task,
            pending,
            before=before if before is not None else step - 1,
            after=after if after is None or after < len(trace) else None,
            between=chosen,
            resumed=resumed,
            same=both,
        )
        if best is None or rank < best[0]:
            best = (rank, story)
    if best is not None:
        return best[1]
    return Story(step, task, pending, before=step - 1, resumed=resumed)


def stories(trace: Trace, essential: Sequence[int], steps: TaskSteps) -> list[Story]:
    """The stories of the essential preemptions, in order."""
    return [tell(trace, step, steps) for step in sorted(essential) if 0 <= step < len(trace)]


class _Mentioned:
    """Tasks are introduced once with all their names, later only by their id."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._seen: set[TaskId] = set()

    def __call__(self, task: TaskId) -> str:
        if task in self._seen:
            return f"task {task}"
        self._seen.add(task)
        return f"task {self._names.task(task)}"


def _timeout_clause(trace: Trace, story: Story, names: Names, mentioned: _Mentioned) -> str:
    operation = trace.operations[story.step]
    site = names.site(operation)
    at = f" at {names.place(site)}" if site is not None else ""
    literal = _SECONDS.search(source_line(site)) if site is not None else None
    seconds = f"{literal[1]} s " if literal else ""
    others = [mentioned(task) for task in trace.enabled[story.step] if task != story.task][:2]
    who = " and ".join(others) or "another task"
    more = len(trace.enabled[story.step]) - 2
    if more > 0:
        who = ", ".join([*others, f"{more} more"])
    subject = mentioned(story.task)
    if operation.kind is SLEEP:
        return f"the {seconds}sleep of {subject}{at} ends although {who} could still run"
    what = f"{operation.kind.name} on {names.short_resource(operation.resource)}"
    if operation.kind is JOIN:
        what = f"join of task {operation.resource}"
    return (
        f"the {seconds}timeout of the {what}{at} in {subject} fires although {who} could still run"
    )


def _preemption_clause(trace: Trace, story: Story, names: Names, mentioned: _Mentioned) -> str:
    operations = trace.operations
    pending = story.pending
    where = ""
    if pending is not None and pending.kind not in (BEGIN, END):
        where = names.place(names.site(pending))
    text = f"{mentioned(story.task)} is preempted" + (f" at {where}" if where else "")
    before = None if story.before is None else operations[story.before]
    after = pending if story.after is None else operations[story.after]
    if story.same and before is not None and after is not None and after.kind is CONTINUE:
        text += f", right after its {names.noun(before)}"
    elif story.same and before is not None and after is not None:
        text += f", between its {names.noun(before)} and its {names.noun(after, named=False)}"
    elif story.between is not None and before is not None and pending is not None:
        other = operations[story.between]
        if other.resource == before.resource:
            text += f", right after its {names.noun(before)}"
        else:
            after = after or pending
            shown = _told_alone(before)
            if shown:
                text += f", after its {names.noun(before)} and before its {names.noun(after)}"
            else:
                text += f", before its {names.noun(after)}"
    elif pending is not None:
        text += f", before its {names.noun(pending)}"
    if story.between is not None:
        other = operations[story.between]
        text += f", and {mentioned(trace.tasks[story.between])} {names.does(other)}"
        if story.same:
            text += " in between"
        elif before is None or other.resource != before.resource:
            text += " first"
    else:
        text += f", and {mentioned(trace.tasks[story.step])} runs instead"
    return text


def _told_alone(operation: Operation) -> bool:
    return operation.kind not in _LIFE


_VERBS = {
    OutcomeKind.DEADLOCK: "It deadlocks",
    OutcomeKind.LIVELOCK: "It goes on for ever",
    OutcomeKind.STEP_LIMIT: "It does not end",
    OutcomeKind.LEAK: "It leaves threads behind",
    OutcomeKind.RACE: "The race happens",
    OutcomeKind.CRASH: "It crashes",
    OutcomeKind.HANG: "It hangs",
    OutcomeKind.PASSED: "It passes",
}


def verb_of(kind: OutcomeKind) -> str:
    """How a sentence on an outcome begins: ``It deadlocks``."""
    return _VERBS.get(kind, "It fails")


def segments(trace: Trace) -> list[tuple[TaskId, int, int]]:
    """The execution as ``(task, first step, last step)``, one per stretch without a switch."""
    found: list[tuple[TaskId, int, int]] = []
    start = 0
    for index in range(1, len(trace) + 1):
        if index == len(trace) or trace.tasks[index] != trace.tasks[start]:
            found.append((trace.tasks[start], start, index - 1))
            start = index
    return found


def _data_choices(trace: Trace, names: Names) -> str:
    made = [
        f"{trace.choices[index]}{names.at(trace.operations[index])}"
        for index in sorted(trace.arities)
        if trace.arities[index] > 1 and not is_fault(trace.operations[index].resource)
    ]
    if not made:
        return ""
    if len(made) > 4:
        made = [*made[:4], f"{len(made) - 4} more"]
    return f"with the data {'choices' if len(made) > 1 else 'choice'} {', '.join(made)}"


def _faults(trace: Trace, names: Names) -> str:
    """A sentence about the calls that were made to fail, with a space before it, or nothing."""
    made = [
        f"{fault_words(trace, step)} in task {trace.tasks[step]}{names.at(trace.operations[step])}"
        for step in trace.faults()
    ]
    if not made:
        return ""
    return f" It takes {'a fault' if len(made) == 1 else 'faults'}: {' and '.join(made)}."


def _stretch_end(trace: Trace, last: int, steps: TaskSteps, names: Names) -> str:
    """Why a stretch of one task came to its end, without a preemption."""
    task = trace.tasks[last]
    if trace.operations[last].kind is END:
        return "until it ends"
    operation = steps.next_operation(trace, task, last + 1)
    if operation is None:
        return "for a while"
    if operation.kind is JOIN:
        what = "for the others" if operation.resource == EXIT else f"for task {operation.resource}"
        return f"until it waits {what}{names.at(operation)}"
    if operation.kind.is_yield:
        return f"until it {names.does(operation)}"
    return f"until it waits for {names.awaited(task, operation)}{names.at(operation)}"


def _without_preemption(trace: Trace, steps: TaskSteps, names: Names) -> str:
    stretches = segments(trace)
    data = _data_choices(trace, names)
    if len(trace.task_infos or set(trace.tasks)) <= 1:
        alone = "with a single task"
        if not trace.faults():
            alone += ", so that no schedule can avoid it"
        return f"{data} and {alone}" if data else alone
    mentioned = _Mentioned(names)
    text = "without any preemption, when the tasks run in this order: "
    shown: list[str] = []
    limit = 6
    for task, _, last in stretches[:limit]:
        who = mentioned(task)
        if last == len(trace) - 1:
            shown.append(who)
        else:
            shown.append(f"{who} {_stretch_end(trace, last, steps, names)}")
    text += ", then ".join(shown)
    if len(stretches) > limit:
        more = len(stretches) - limit
        text += f", and so on ({more:,} more switch{'' if more == 1 else 'es'})"
    matters = _free_choices(trace, stretches, names)
    if matters:
        text += f"; what matters is that {' and that '.join(matters[:2])}"
    return f"{text} ({data})" if data else text


def _free_choices(
    trace: Trace, stretches: Sequence[tuple[TaskId, int, int]], names: Names
) -> list[str]:
    """Choices other than the usual one, made where a task had to give up control."""
    order = {task: number for number, task in enumerate(trace.task_infos)}
    found: list[str] = []
    for task, first, _ in stretches[1:]:
        enabled = trace.enabled[first]
        operation = trace.operations[first]
        if task not in enabled:
            others = [other for other in trace.timed[first] if other != task]
            if others and not enabled:
                what = (
                    "sleep" if operation.kind is SLEEP else f"timeout of the {operation.kind.name}"
                )
                found.append(
                    f"the {what} of task {task}{names.at(operation)} ends before "
                    f"the timed wait of {_list_tasks(others)}"
                )
            continue
        previous = trace.tasks[first - 1]
        later = [other for other in enabled if order.get(other, 0) > order.get(previous, 0)]
        usual = (later or list(enabled))[0]
        if usual != task:
            found.append(f"task {task} goes on before task {usual}")
    return found


def _list_tasks(tasks: Sequence[TaskId]) -> str:
    if len(tasks) > 3:
        return f"{len(tasks)} other tasks"
    return " and ".join(f"task {task}" for task in tasks)


def explain(
    trace: Trace, essential: Sequence[int], names: Names, *, as_example: bool = False
) -> str:
    """One sentence that says which preemptions matter.

    Parameters:
        trace: the minimised execution.
        essential: the steps that begin with an essential preemption.
        names: what to call things.
        as_example: the cause was told, and this is only how it comes about in this schedule.

    Returns:
        A sentence such as "It fails when task 0.1 (Thread-1, deposit) is
        preempted at bank.py:13, between its read of Account.balance
        (bank.py:12) and its write (bank.py:13), and task 0.2 writes
        Account.balance (bank.py:13) in between."
    """
    steps = TaskSteps(trace)
    told = stories(trace, essential, steps)
    verb = verb_of(trace.outcome.kind)
    faults = _faults(trace, names)
    if not told:
        return f"{verb} {_without_preemption(trace, steps, names)}.{faults}"
    mentioned = _Mentioned(names)
    limit = 3
    clauses = [
        _timeout_clause(trace, story, names, mentioned)
        if story.timeout
        else _preemption_clause(trace, story, names, mentioned)
        for story in told[:limit]
    ]
    opening = "In the schedule below " if as_example else f"{verb} when "
    text = opening + "; and then ".join(clauses)
    if len(told) > limit:
        text += f"; and {len(told) - limit} more preemptions, marked below"
    data = _data_choices(trace, names)
    return f"{text}, {data}.{faults}" if data else f"{text}.{faults}"
