"""From a trace to the columns of a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bohrbug.exploration.sights import Sights as Seen
from bohrbug.exploration.sights import Values
from bohrbug.model.operation import BEGIN, CHOOSE, END, SPAWN, Operation, TaskId
from bohrbug.model.trace import Trace
from bohrbug.report.columns import preempted_words, timeout_words
from bohrbug.report.frames import program_frames
from bohrbug.report.html.document import BLOCKED, COULD_RUN, ENDED, NOWHERE, Sights, Steps
from bohrbug.report.html.tables import Tables
from bohrbug.report.naming import Names
from bohrbug.report.schedule import TIMEOUT, Line, Preempted, choice_in_words, schedule_of
from bohrbug.report.stories import TaskSteps, is_late


def steps_of(
    trace: Trace,
    essential: Sequence[int],
    early_timeouts: Sequence[int],
    pairs: Iterable[tuple[int, int]],
    names: Names,
    tables: Tables,
) -> Steps:
    """The steps of an execution.

    Parameters:
        trace: the execution.
        essential: the steps that begin with an essential preemption.
        early_timeouts: the steps in which a timeout came early.
        pairs: steps that conflict.
        names: what to call things.
        tables: of the document.
    """
    count = len(trace)
    steps = Steps()
    steps.tasks = [tables.task(task) for task in trace.tasks]
    numbers: dict[Operation, int] = {}
    for operation in trace.operations:
        found = numbers.get(operation)
        if found is None:
            found = numbers[operation] = len(steps.table)
            has_place = operation.kind not in (BEGIN, END)
            place = tables.place(names.site(operation)) if has_place else NOWHERE
            steps.table.append((operation.kind.name, names.brief(operation), place))
        steps.operations.append(found)
    for index in range(count):
        options = trace.arities.get(index, 0) or len(trace.enabled[index]) + len(trace.timed[index])
        steps.options.append(options)
    steps.words = {
        index: choice_in_words(trace, index)
        for index in sorted(trace.arities)
        if trace.operations[index].kind is CHOOSE
    }
    states = states_of(trace)
    steps.states = [states.get(task.id, []) for task in tables.tasks()]
    by_task = TaskSteps(trace)
    for index in trace.preemptions():
        if trace.has_fired(index):
            continue
        task = trace.goes_on(index)
        pending = by_task.next_operation(trace, task, index)
        late = is_late(trace, index, pending)
        (steps.late if late else steps.preemptions).append(index)
        if pending is not None:
            site = None if pending.kind in (BEGIN, END) else names.site(pending)
            # Of a preemption the words say enough.
            where = names.place(site) if late else ""
            row = Preempted(task, trace.tasks[index], where, names.brief(pending), True, late)
            place = tables.place(site)
            steps.before[index] = (tables.task(task), preempted_words(row), place)
    steps.fired = [index for index in range(count) if trace.has_fired(index)]
    for index in steps.fired:
        operation = trace.operations[index]
        is_of_asyncio = names.timed_out(operation, trace.tasks[index]) is not None
        what = TIMEOUT if is_of_asyncio else names.brief(operation)
        steps.words[index] = timeout_words(what, bool(trace.enabled[index]))
    steps.early = list(early_timeouts)
    steps.essential = sorted(essential)
    schedule = schedule_of(trace, essential, names)
    told = {step for row in schedule.rows if isinstance(row, Line) for step in row.steps}
    steps.told = sorted(told.union(essential))
    steps.pairs = sorted({pair for pair in pairs if pair[0] < pair[1]})
    return steps


def states_of(trace: Trace) -> dict[TaskId, list[int]]:
    """For each task, alternately a step and the state that it is in from that step on."""
    last = {task: index for index, task in enumerate(trace.tasks)}
    pending = set(trace.final_pending) | {blocked.task for blocked in trace.outcome.blocked}
    found: dict[TaskId, list[int]] = {}
    states: dict[TaskId, int] = {}
    alive: set[TaskId] = set()

    def enter(task: TaskId, index: int, state: int) -> None:
        if states.get(task) != state:
            states[task] = state
            found.setdefault(task, []).extend((index, state))

    previous: tuple[TaskId, ...] | None = None
    changed = True
    for index, task in enumerate(trace.tasks):
        operation = trace.operations[index]
        enabled = trace.enabled[index]
        if operation.kind is not CHOOSE and (changed or enabled != previous):
            alive.update(enabled)
            for each in alive:
                enter(each, index, COULD_RUN if each in enabled else BLOCKED)
            previous = enabled
        changed = False
        if task not in alive:
            alive.add(task)
            enter(task, index, BLOCKED)
            changed = True
        if operation.kind is SPAWN and operation.resource not in alive:
            alive.add(operation.resource)
            changed = True
        if operation.kind is END or (last[task] == index and task not in pending):
            alive.discard(task)
            enter(task, index + 1, ENDED)
    for blocked in trace.outcome.blocked:
        enter(blocked.task, len(trace), BLOCKED)
    return found


def sights_of(seen: Seen | None, count: int, tables: Tables) -> Sights:
    """Stacks and values at the steps, as far as a replay has seen them.

    Parameters:
        seen: what it has seen.
        count: the number of steps.
        tables: of the document.
    """
    sights = Sights()
    if seen is None or not seen.by_step:
        return sights
    known: dict[tuple[int, int], int] = {}
    sets: dict[Values, int] = {}
    for index in range(count):
        sight = seen.by_step.get(index)
        if sight is None:
            sights.at.append(NOWHERE)
            continue
        outer = NOWHERE
        for frame in program_frames(sight.stack):
            key = (tables.place(frame.site), outer)
            outer = known.setdefault(key, len(sights.stacks))
            if outer == len(sights.stacks):
                sights.stacks.append(key)
        sights.at.append(outer)
        if sight.values:
            sights.values[index] = sets.setdefault(sight.values, len(sets))
    sights.sets = [list(values) for values in sets]
    return sights
