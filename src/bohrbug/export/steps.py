"""From a failing execution of an event loop to the order of steps that has to be forced on it."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.model.operation import BEGIN, CALLBACK, CANCELLED, RESUME, TaskId
from bohrbug.model.trace import Trace


@dataclass(frozen=True, slots=True)
class ForcedSteps:
    """The order in which the tasks of event loops go on, each from one ``await`` to the next.

    Parameters:
        steps: who goes on, step by step.
        names: what each task runs, for people.
        beside: the tasks that go on beside a deadlock.
    """

    steps: tuple[TaskId, ...]
    names: tuple[tuple[TaskId, str], ...] = ()
    beside: tuple[TaskId, ...] = ()


def has_event_loop(trace: Trace) -> bool:
    """Whether tasks of an event loop take part."""
    return any(operation.kind in (RESUME, CANCELLED, CALLBACK) for operation in trace.operations)


def steps_of(trace: Trace) -> ForcedSteps:
    """The order of the steps of an execution.

    Threads beside the one of the loop are not held up: whether the test fails without that shows
    when it is run.
    """
    rows = list(zip(trace.tasks, trace.operations, strict=True))
    threads = {task for task, operation in rows if operation.resource == task}
    begun = {task for task, operation in rows if operation.kind is BEGIN} - threads
    # Who goes on beside a deadlock is not held up.
    until, _ = trace.rounds()
    steps, beside = (
        tuple(
            task
            for task, operation in part
            if task in begun and operation.kind in (BEGIN, RESUME, CANCELLED)
        )
        for part in (rows[:until], rows[until:])
    )
    names = {task: info.target or info.name for task, info in trace.task_infos.items()}
    named = tuple((task, names.get(task, "")) for task in dict.fromkeys(steps))
    return ForcedSteps(steps, named, tuple(dict.fromkeys(beside)))
