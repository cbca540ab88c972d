"""Which preemptions matter, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from bohrbug.exploration.result import Failure
from bohrbug.model.cause import Strength
from bohrbug.model.operation import (
    BEGIN,
    COLLECTION,
    CONTINUE,
    END,
    EXIT,
    JOIN,
    OLDER_VALUE,
    RESUME,
    SLEEP,
    SPURIOUS_WAKE,
    WAKE,
    Operation,
    TaskId,
    cancelled_task,
    is_fault,
)
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.trace import Trace
from bohrbug.report.faults import fault_words
from bohrbug.report.naming import Names
from bohrbug.report.sleepers import sleep_ended_by
from bohrbug.report.sources import source_line
from bohrbug.report.stories import LIFE, Story, TaskSteps, stories
from bohrbug.report.wording import plural

_SECONDS = re.compile(r"(?:timeout\s*=|\b(?:wait|join|sleep)\()\s*(\d+(?:\.\d+)?|\.\d+)\s*[,)]")


class _Mentioned:
    """Introduces tasks once with all their names, and later only by their id."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._seen: set[TaskId] = set()

    def __call__(self, task: TaskId) -> str:
        if task in self._seen:
            return f"task {task}"
        self._seen.add(task)
        return f"task {self._names.task(task)}"


def _by_id(task: TaskId) -> str:
    return f"task {task}"


def _timeout_clause(
    trace: Trace, story: Story, steps: TaskSteps, names: Names, mentioned: _Mentioned
) -> str:
    able = [task for task in trace.enabled[story.step] if task != story.task][:2]
    others = [who_goes_on(trace, task, story.step, steps, names, mentioned) for task in able]
    who = " and ".join(others) or "another task"
    more = len(trace.enabled[story.step]) - 2
    if more > 0:
        who = ", ".join([*others, f"{more} more"])
    slept = sleep_ended_by(trace, steps, story.step)
    if slept is not None:
        at = names.at(slept.operation)
        return f"the sleep of {mentioned(slept.task)}{at} ends although {who} could still run"
    operation = trace.operations[story.step]
    return f"{_timed_wait(operation, story.task, mentioned, names)} although {who} could still run"


def who_goes_on(
    trace: Trace,
    task: TaskId,
    step: int,
    steps: TaskSteps,
    names: Names,
    mentioned: Callable[[TaskId], str],
) -> str:
    """A task that could go on at a step, or the callback of asyncio's for another that could."""
    pending = steps.next_operation(trace, task, step)
    passed_on = None if pending is None else names.passed_on(pending, task)
    if passed_on is None:
        return mentioned(task)
    return f"asyncio's callback {task} for {mentioned(passed_on)}"


def _timed_wait(
    operation: Operation, id: TaskId, mentioned: Callable[[TaskId], str], names: Names
) -> str:
    """How a timed wait ends: ``the 5 s timeout of the wait on Event e in task 0 fires``."""
    waiting = names.timed_out(operation, id)
    task = mentioned(waiting or id)
    timer = names.timer_set(operation, id)
    site = timer or names.site(operation)
    at = f" at {names.place(site)}" if site is not None else ""
    literal = _SECONDS.search(source_line(site)) if site is not None else None
    seconds = f"{literal[1]} s " if literal else ""
    if operation.kind is SLEEP:
        return f"the {seconds}sleep of {task}{at} ends"
    if waiting is not None:
        return f"the {seconds}timeout{at} in {task} fires"
    if timer is not None:
        return f"the {seconds}timer of {task}, set{at}, fires"
    if operation.kind is JOIN:
        what = f"join of task {operation.resource}{names.at(operation)}"
    elif operation.kind is WAKE:
        # A wake-up is how the model tells the end of what the program calls waiting.
        what = f"wait on {names.short_resource(operation.resource)}{names.at(operation)}"
    else:
        what = names.noun(operation)
    return f"the {seconds}timeout of the {what} in {task} fires"


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


def _late_clause(trace: Trace, told: Sequence[Story], names: Names, mentioned: _Mentioned) -> str:
    """What comes first in an event loop, once or several times in a row."""
    story, last = told[0], told[-1].step
    assert story.pending is not None
    text = f"{mentioned(story.task)} is late{names.at(story.pending)}"
    who, at = mentioned(trace.tasks[last]), names.at(trace.operations[last])
    if any(trace.tasks[each.step] != trace.tasks[last] for each in told):
        return f"{text}: others go on first {len(told)} times, the last of them {who}{at}"
    text += f", and {who} goes on first{names.at(trace.operations[story.step])}"
    return f"{text}, {len(told)} times" if len(told) > 1 else text


def _clauses(
    trace: Trace, told: Sequence[Story], steps: TaskSteps, names: Names, mentioned: _Mentioned
) -> Iterator[str]:
    """One clause for each preemption; one for all those in a row by which one task is late."""

    def kind(story: Story) -> object:
        if not story.late:
            return story.step
        return story.task, story.resumed

    for _, group in groupby(told, kind):
        stories_told = list(group)
        story = stories_told[0]
        if story.late:
            yield _late_clause(trace, stories_told, names, mentioned)
        elif story.timeout:
            yield _timeout_clause(trace, story, steps, names, mentioned)
        else:
            yield _preemption_clause(trace, story, names, mentioned)


def _told_alone(operation: Operation) -> bool:
    return operation.kind not in LIFE


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
    """A sentence about calls that were made to fail, or a task that was cancelled.

    It starts with a space, and is empty where there is none.
    """
    made = [_fault(trace, step, names) for step in trace.faults()]
    if not made:
        return ""
    kinds = {trace.operations[step].resource for step in trace.faults()}
    if kinds == {COLLECTION}:
        return f" It needs {' and '.join(made)}."
    if kinds == {OLDER_VALUE}:
        return f" It needs {' and '.join(made)}, as C11 allows with these memory orders."
    if kinds == {SPURIOUS_WAKE}:
        return (
            f" It needs {' and '.join(made)}, which POSIX allows: whoever waits for a condition "
            "variable has to look again at what it waits for, in a loop."
        )
    return f" It needs {'a fault' if len(made) == 1 else 'faults'}: {' and '.join(made)}."


def _fault(trace: Trace, step: int, names: Names) -> str:
    words, place = fault_words(trace, step), names.at(trace.operations[step])
    choice = trace.choices[step]
    assert isinstance(choice, int)
    task = cancelled_task(trace.operations[step].resource, choice)
    if task is not None:
        return f"task {names.task(task)} is cancelled while it waits{place}"
    if trace.operations[step].resource == COLLECTION:
        return f"a garbage collection in task {names.task(trace.tasks[step])}{place}"
    if trace.operations[step].resource == OLDER_VALUE:
        return f"a load in task {trace.tasks[step]}{place} that {words}"
    return f"{words} in task {trace.tasks[step]}{place}"


def _stretch_end(trace: Trace, last: int, steps: TaskSteps, names: Names) -> str:
    """Why a stretch of one task ended, without a preemption."""
    task = trace.tasks[last]
    if trace.operations[last].kind is END:
        return "until it ends"
    operation = steps.next_operation(trace, task, last + 1)
    if operation is None:
        return "for a while"
    if operation.kind is JOIN:
        ended = names.short_resource(operation.resource)
        what = "the others" if operation.resource == EXIT else ended
        return f"until it waits for {what}{names.at(operation)}"
    if operation.kind.is_yield:
        return f"until it {names.does(operation)}"
    if operation.kind.is_data:
        # Nobody waits for a variable: after so many steps it was the others' turn.
        return f"until it is interrupted, before it {names.does(operation)}"
    return f"until it waits for {names.awaited(task, operation)}{names.at(operation)}"


def _is_next_in_loop(trace: Trace, step: int) -> bool:
    """Whether a step is what its event loop would run next by itself."""
    return trace.defaults.get(step) == trace.tasks[step]


def _is_of_loop(trace: Trace, step: int) -> bool:
    """Whether a switch is one that an event loop makes by itself: it runs something, or ends."""
    if _is_next_in_loop(trace, step):
        return True
    is_forced = len(trace.enabled[step]) == 1 and not trace.timed[step]
    return is_forced and bool(trace.defaults) and trace.operations[step].kind is RESUME


def _without_preemption(trace: Trace, steps: TaskSteps, names: Names) -> str:
    # Of steps that repeat until the end, those of the first round tell it all.
    end = sum(trace.rounds())
    stretches = [
        stretch
        for stretch in segments(trace)
        if stretch[1] < end and not _is_of_loop(trace, stretch[1])
    ]
    data = _data_choices(trace, names)
    if len(trace.task_infos or set(trace.tasks)) <= 1:
        alone = "with a single task"
        if not trace.faults():
            alone += ", so that no schedule can avoid it"
        return f"{data} and {alone}" if data else alone
    if trace.defaults and len(stretches) <= 1:
        text = "without any preemption, as its event loop runs the tasks if nothing is late"
        return f"{text} ({data})" if data else text
    mentioned = _Mentioned(names)
    text = "without any preemption, when the tasks run in this order: "
    shown: list[str] = []
    limit = 6
    looping: TaskId | None = None
    for task, _, last in stretches[:limit]:
        before, looping = looping, None
        if last + 1 < len(trace) and _is_of_loop(trace, last + 1):
            looping = task
            if task != before:
                shown.append(f"{mentioned(task)}, and what comes next in its event loop")
            continue
        who = mentioned(task)
        if last == len(trace) - 1:
            shown.append(who)
        else:
            shown.append(f"{who} {_stretch_end(trace, last, steps, names)}")
    text += ", then ".join(shown)
    if len(stretches) > limit:
        more = len(stretches) - limit
        text += f", and so on ({more:,} more switch{'' if more == 1 else 'es'})"
    matters = _free_choices(trace, stretches, steps, names)
    if matters:
        text += f"; what matters is that {' and that '.join(matters[:2])}"
    return f"{text} ({data})" if data else text


def _free_choices(
    trace: Trace, stretches: Sequence[tuple[TaskId, int, int]], steps: TaskSteps, names: Names
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
                found.append(
                    f"{_timed_wait(operation, task, _by_id, names)} before "
                    f"{_other_timed_waits(trace, others, first, steps, names)}"
                )
            continue
        previous = trace.tasks[first - 1]
        later = [other for other in enabled if order.get(other, 0) > order.get(previous, 0)]
        usual = (later or list(enabled))[0]
        if usual != task:
            found.append(f"task {task} goes on before task {usual}")
    return found


def _other_timed_waits(
    trace: Trace, others: Sequence[TaskId], step: int, steps: TaskSteps, names: Names
) -> str:
    """What had not come to its end at a step, although it had a time for it, too."""
    if len(others) == 1:
        operation = steps.next_operation(trace, others[0], step)
        if operation is not None:
            words = _timed_wait(operation, others[0], _by_id, names)
            return words if operation.kind is SLEEP else f"{words.removesuffix(' fires')} does"
    return f"the timed waits of {_list_tasks(others)} end"


def ends_waits_early(trace: Trace, essential: Sequence[int]) -> bool:
    """Whether what matters of a schedule is that a timeout fires, or a sleep ends, too early.

    That is: although another task could run, or another timed wait was outstanding.

    Parameters:
        trace: the minimised execution.
        essential: the steps that begin with an essential preemption.
    """
    fired = [step for step in range(1, len(trace)) if trace.has_fired(step)]
    if essential:
        return any(trace.enabled[step] and step in essential for step in fired)
    return any(not trace.enabled[step] and len(trace.timed[step]) > 1 for step in fired)


def _list_tasks(tasks: Sequence[TaskId]) -> str:
    if len(tasks) > 3:
        return f"{len(tasks)} other tasks"
    return " and ".join(f"task {task}" for task in tasks)


def explain(
    trace: Trace,
    essential: Sequence[int],
    names: Names,
    *,
    as_example: bool = False,
    example: str = "In the schedule below",
) -> str:
    """One sentence that says which preemptions matter.

    Parameters:
        trace: the minimised execution.
        essential: the steps that begin with an essential preemption.
        names: what to call things.
        as_example: the cause was shown, and this is only how it happens in this schedule.
        example: how an example begins.

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
    clauses = list(_clauses(trace, told, steps, names, mentioned))
    opening = f"{example} " if as_example else f"{verb} when "
    text = opening + "; and then ".join(clauses[:limit])
    if len(clauses) > limit:
        text += f"; and {plural(len(clauses) - limit, 'more preemption')}, marked below"
    data = _data_choices(trace, names)
    return f"{text}, {data}.{faults}" if data else f"{text}.{faults}"


def sentence_on(failure: Failure, names: Names, example: str = "In the schedule below") -> str:
    """What :func:`explain` says of a failure, beside its cause.

    Returns:
        The sentence; empty if the schedule is not to blame, so that there is nothing to say of it.
    """
    trace, cause = failure.trace, failure.cause
    is_always = cause is not None and cause.strength is Strength.ALWAYS
    if not len(trace) or (is_always and not failure.essential and not trace.faults()):
        return ""
    return explain(trace, failure.essential, names, as_example=cause is not None, example=example)
