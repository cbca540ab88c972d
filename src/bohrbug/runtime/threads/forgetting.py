"""Letting go of the first steps of a long execution, so that its memory is bounded.

The steps that are left are numbered from 0 again: whatever has the number of a step is told.  Of an
execution that never ends, what is known of tasks and resources that are no more is let go of, too.
"""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.channels import channels_of
from bohrbug.runtime.threads.raised import forget_raised
from bohrbug.runtime.threads.task import Task


def forget_steps(execution: Execution, steps: int) -> None:
    """Let go of the first so many steps; called between two steps, where no prefix is followed.

    Parameters:
        execution: the execution; nobody watches it.
        steps: at most as many as it has done.
    """
    forget_raised()
    trace = execution.trace
    execution.forget(steps)
    trace.forget()
    trace.effects[:] = [
        (step - steps, task, resource, is_write)
        for step, task, resource, is_write in trace.effects
        if step >= steps
    ]
    trace.early_timeouts[:] = [step - steps for step in trace.early_timeouts if step >= steps]
    _renumber(trace.arities, steps)
    _renumber(trace.defaults, steps)
    _renumber(trace.gates, steps)


def _renumber(facts: dict[int, Any], steps: int) -> None:
    left = {step - steps: fact for step, fact in facts.items() if step >= steps}
    facts.clear()
    facts.update(left)


def _ended() -> Task:
    task = Task("", 0, 0)
    task.name, task.ended = "a thread that has ended", True
    return task


_ENDED = _ended()
"""Stands for all tasks that were forgotten: others are found by their places in the list."""


class ForgettingEnded:
    """Lets go of tasks that have ended, and of resources that nobody can use any more.

    Parameters:
        execution: nobody watches it.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        # Tasks up to this one were looked at; of these the ones that are still needed.
        self._looked_at = 1
        self._needed: list[int] = []

    def forget(self) -> None:
        """Between two steps, after :func:`forget_steps`."""
        execution = self._execution
        told = {row[1] for row in execution.rows}
        used = {row[2].resource for row in execution.rows if row[2] is not None}
        used.update(task.pending.resource for task in execution.alive if task.pending is not None)
        used.update(task.waits_for.id for task in execution.alive if task.waits_for is not None)
        execution.forget_ended()
        gone = self._forget_tasks(told | used)
        execution.resources.forget(gone, used)
        channels_of(execution).forget(used)

    def _forget_tasks(self, told: set[str]) -> set[str]:
        """Let go of tasks of which nothing is told, and that nobody can ask for; their ids."""
        tasks = self._execution.all_tasks
        left, gone = [], set()
        for index in (*self._needed, *range(self._looked_at, len(tasks))):
            task = tasks[index]
            if task.ended and task.id not in told and not _is_held(task):
                gone.add(task.id)
                tasks[index] = _ENDED
            else:
                left.append(index)
        self._looked_at, self._needed = len(tasks), left
        return gone


def _is_held(task: Task) -> bool:
    """Whether the program still has the ``Thread`` of a task that has ended."""
    return task.thread is not None and task.thread() is not None
