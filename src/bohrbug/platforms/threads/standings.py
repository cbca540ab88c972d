"""Where the tasks of a running execution stand: at a decision, or wherever somebody looks."""

from __future__ import annotations

from collections.abc import Iterable

from bohrbug.model.decision import Readiness, Standing
from bohrbug.model.operation import WAIT, Operation, Resource, ResourceId
from bohrbug.model.outcome import Frame, Held
from bohrbug.model.site import site_of
from bohrbug.monitors.outcomes import resource_of
from bohrbug.platforms.threads.explaining import abandoned_by, holders_of
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.loops.awaiting import Awaiting, unfinished_in_loops
from bohrbug.runtime.threads.stacks import stack_of
from bohrbug.runtime.threads.task import Task


def standing_of(
    execution: Execution,
    task: Task,
    stack: tuple[Frame, ...],
    readiness: Readiness | None = None,
    *,
    is_data: bool = False,
) -> Standing:
    """Where a thread stands, or a task of an event loop of which a step comes next.

    Parameters:
        execution: in which it is.
        task: which one.
        stack: where its code stands.
        readiness: what the scheduler says of it; ``None``: that it can't be chosen.
        is_data: the running task chooses a value, and no task is chosen.
    """
    is_ready = task.ready is None or task.ready()
    if readiness is None:
        readiness = Readiness.YIELDED if is_ready else Readiness.BLOCKED
        if is_data and is_ready:
            readiness = Readiness.ENABLED
    in_choice = is_data and task is execution.current
    holders = () if is_ready else holders_of(execution, task)
    return Standing(
        task.id,
        readiness,
        None if in_choice else task.pending,
        stack,
        _held_by(task),
        holders,
        None if is_ready or holders else abandoned_by(execution, task),
    )


def _held_by(task: Task) -> tuple[Held, ...]:
    return tuple(Held(resource_of(held), site_of(place)) for held, place in task.holding.items())


def standings_of(execution: Execution, here: tuple[Frame, ...]) -> list[Standing]:
    """Where all tasks stand: the threads, those that have ended too, and what their loops run.

    Parameters:
        execution: it stands still, and nobody is in control.
        here: where the running task stands.
    """
    current = execution.current
    loops = unfinished_in_loops(execution)
    hosts = {each.task.host for each in loops}
    found = []
    for thread in execution.all_tasks:
        if thread.ended:
            found.append(Standing(thread.id, Readiness.ENDED, None, (), _held_by(thread)))
            continue
        is_hosting = thread in hosts and thread not in execution.alive
        is_current = thread is current or (thread in hosts and thread is current.host)
        stack = here if is_current else stack_of(thread, current)
        if is_hosting:
            found.append(Standing(thread.id, Readiness.HOSTING, None, stack, _held_by(thread)))
        else:
            found.append(_now(execution, thread, stack))
        found += [_of_loop(execution, each, here) for each in loops if each.task.host is thread]
    shown = {each.task for each in found}
    # Callbacks, which are tasks only for the moment.
    found += [
        _now(execution, task, here if task is current else ())
        for task in execution.alive
        if task.id not in shown
    ]
    return found


def _now(execution: Execution, task: Task, stack: tuple[Frame, ...]) -> Standing:
    """Where a task stands that is alive, whatever it is doing."""
    if task is execution.current and not task.waiting:
        return Standing(task.id, Readiness.RUNNING, None, stack, _held_by(task))
    is_ready = task.ready is None or task.ready()
    readiness = Readiness.ENABLED if is_ready else Readiness.BLOCKED
    if not is_ready and task.deadline is not None:
        readiness = Readiness.TIMED
    return standing_of(execution, task, stack, readiness)


def _of_loop(execution: Execution, each: Awaiting, here: tuple[Frame, ...]) -> Standing:
    """Where a task of an event loop stands."""
    task = each.task
    if task is execution.current and not task.waiting:
        return Standing(task.id, Readiness.RUNNING, None, here, _held_by(task))
    if not each.is_blocked:
        operation = task.pending if task in execution.alive else None
        return Standing(task.id, Readiness.ENABLED, operation, each.stack, _held_by(task))
    operation = Operation(WAIT, each.resource, each.place)
    return Standing(task.id, Readiness.BLOCKED, operation, each.stack, _held_by(task), each.holders)


def resources_of(execution: Execution, standings: Iterable[Standing]) -> dict[ResourceId, Resource]:
    """What tasks hold and what they are about to act on, described for people."""
    ids = {each.operation.resource for each in standings if each.operation is not None}
    ids.update(held.resource for each in standings for held in each.holding)
    known = execution.resources.descriptions()
    described = {each: found for each in ids if (found := known.get(each)) is not None}
    for each in unfinished_in_loops(execution):
        described.setdefault(each.resource, Resource(each.resource, each.label, each.label))
    return described
