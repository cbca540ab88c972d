"""Where the tasks of a running execution stand: at a decision, or wherever somebody looks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType

from bohrbug.model.decision import Readiness, Standing
from bohrbug.model.operation import WAIT, Operation, Resource, ResourceId
from bohrbug.model.outcome import Frame, Held
from bohrbug.model.site import site_of
from bohrbug.monitors.outcomes import resource_of
from bohrbug.platforms.threads.explaining import abandoned_by, holders_of
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.loops.awaiting import Awaiting, unfinished_in_loops
from bohrbug.runtime.threads.stacks import frames_from
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


@dataclass(frozen=True, slots=True)
class Stillness:
    """An execution that stands still, as data.

    Parameters:
        standings: where all tasks stand: the threads, those that have ended too, and what their
            event loops run.
        resources: what they hold and what they are about to act on, described for people.
    """

    standings: tuple[Standing, ...]
    resources: dict[ResourceId, Resource]


def stand_still(
    execution: Execution,
    frame: FrameType | None,
    here: tuple[Frame, ...] | None = None,
    *,
    is_between: bool = True,
) -> Stillness:
    """Where all tasks of an execution stand.

    Parameters:
        execution: nobody is in control of it.
        frame: the innermost one of the task that ran last.
        here: where that stands, if the frame does not say so.
        is_between: it is about to make a step, and not in the middle of one.
    """
    current = execution.current
    running = None if is_between else current
    here = frames_from(frame) if here is None else here
    loops = unfinished_in_loops(execution)
    hosts = {each.task.host for each in loops}
    found: list[Standing] = []
    resources = {each.resource: Resource(each.resource, each.type, each.label) for each in loops}
    for thread in execution.all_tasks:
        if thread.ended:
            found.append(Standing(thread.id, Readiness.ENDED, None, (), _held_by(thread)))
            continue
        innermost = frame
        if thread is not current and thread is not current.host:
            innermost = None if thread.greenlet is None else thread.greenlet.gr_frame
        stack = here if innermost is frame else frames_from(innermost)
        if thread in hosts:
            standing = Standing(thread.id, Readiness.HOSTING, None, stack, _held_by(thread))
        else:
            standing = _now(execution, thread, running, stack)
        found.append(standing)
        found += [
            _of_loop(execution, each, running, here) for each in loops if each.task.host is thread
        ]
    shown = {each.task for each in found}
    # Callbacks, which are tasks only for the moment.
    found += [
        _now(execution, task, running, here if task is current else ())
        for task in execution.alive
        if task.id not in shown
    ]
    resources.update(_resources_of(execution, found))
    return Stillness(tuple(found), resources)


def _now(
    execution: Execution, task: Task, running: Task | None, stack: tuple[Frame, ...]
) -> Standing:
    """Where a task stands that is alive, whatever it is doing."""
    if task is running:
        return Standing(task.id, Readiness.RUNNING, None, stack, _held_by(task))
    is_ready = task.ready is None or task.ready()
    readiness = Readiness.ENABLED if is_ready else Readiness.BLOCKED
    if not is_ready and task.deadline is not None:
        readiness = Readiness.TIMED
    return standing_of(execution, task, stack, readiness)


def _of_loop(
    execution: Execution, each: Awaiting, running: Task | None, here: tuple[Frame, ...]
) -> Standing:
    """Where a task of an event loop stands."""
    task = each.task
    if task is running:
        return Standing(task.id, Readiness.RUNNING, None, here, _held_by(task))
    if not each.is_blocked:
        operation = task.pending if task in execution.alive else None
        return Standing(task.id, Readiness.ENABLED, operation, each.stack, _held_by(task))
    operation = Operation(WAIT, each.resource, each.place)
    holding = _held_by(task) + each.holding
    return Standing(task.id, Readiness.BLOCKED, operation, each.stack, holding, each.holders)


def _resources_of(
    execution: Execution, standings: Iterable[Standing]
) -> dict[ResourceId, Resource]:
    """What tasks hold and what they are about to act on, described for people."""
    ids = {each.operation.resource for each in standings if each.operation is not None}
    ids.update(held.resource for each in standings for held in each.holding)
    known = execution.resources.descriptions()
    return {each: found for each in ids if (found := known.get(each)) is not None}
