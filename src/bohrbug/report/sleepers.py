"""The sleeps of coroutines: the callback that ends one is told as the end of that sleep."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.model.asyncio_runs import ENDS_A_SLEEP, asked_by
from bohrbug.model.operation import Operation, TaskId
from bohrbug.model.trace import Trace
from bohrbug.report.stories import TaskSteps


@dataclass(frozen=True, slots=True)
class Slept:
    """A sleep that ends.

    Parameters:
        task: who has slept.
        operation: by which it goes on; its place is that of the sleep.
    """

    task: TaskId
    operation: Operation


def sleep_ended_by(trace: Trace, steps: TaskSteps, step: int) -> Slept | None:
    """The sleep of a coroutine that a step ends; ``None`` if it is another kind of step.

    Parameters:
        trace: the execution.
        steps: those of the execution by task.
        step: the number of a step.
    """
    callback = trace.tasks[step]
    info = trace.task_infos.get(callback)
    if info is None or info.target != ENDS_A_SLEEP:
        return None
    task = asked_by(callback)
    operation = steps.next_operation(trace, task, step)
    return None if operation is None else Slept(task, operation)
