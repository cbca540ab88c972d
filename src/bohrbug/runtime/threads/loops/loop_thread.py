"""The thread of an event loop, for which the tasks that the loop runs stand.

While a loop runs, the task whose step it runs stands for its thread among the tasks that are
alive; between two steps, all that may come next do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bohrbug.accelerator import native
from bohrbug.model.operation import BEGIN, CALLBACK, CANCELLED, RESUME
from bohrbug.runtime.threads.loops.tasks import LoopEntry, loop_tasks_of, operation_of
from bohrbug.runtime.threads.recording import saw
from bohrbug.runtime.threads.task import Task, TaskKilled

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.resources import ResourceState


class LoopThread:
    """Who stands for the thread of a loop.

    Parameters:
        execution: the execution; the running thread is that of the loop.
        state: the loop as a resource.

    Attributes:
        host: the task that ran the loop: that of the thread, or one of another loop of the thread.
        standing: the one that stands for it.
    """

    __slots__ = ("_execution", "_state", "host", "standing")

    def __init__(self, execution: Execution, state: ResourceState) -> None:
        self._execution = execution
        self._state = state
        self.host: Task = execution.current
        self.standing: Task = execution.current

    def begin(self) -> None:
        """The running thread is that of the loop from now on."""
        self.host = self.standing = self._execution.current

    def stand(self, task: Task) -> None:
        """Let a task stand for the thread."""
        execution = self._execution
        if self.standing is not task:
            alive = execution.alive
            if self.standing in alive:
                alive[alive.index(self.standing)] = task
            else:
                alive.append(task)
            self.standing = task
        execution.current = task

    def choose(self, tasks: list[Task]) -> Task:
        """Whose step comes next, once this thread is to go on; it stands for the thread then.

        Parameters:
            tasks: whose steps may, what the loop would run by itself first; another thread may add
                to it.

        Raises:
            TaskKilled: the execution is over.
        """
        execution = self._execution
        if len(tasks) > 1:
            loop_tasks_of(execution).have_choices = True
        alive = execution.alive
        at = alive.index(self.standing)
        alive[at : at + 1] = tasks
        running = execution.current
        chosen = execution.decide_by_default(tasks[0])
        if chosen.greenlet is not self.host.greenlet:
            execution.switch(running, chosen)
            chosen = execution.current
        if len(tasks) > 1:
            # There may be a thousand, and this is done at each step.
            passed_over = {id(task) for task in tasks if task is not chosen}
            alive[:] = [task for task in alive if id(task) not in passed_over]
        elif tasks[0] is not chosen and tasks[0] in alive:
            alive.remove(tasks[0])
        self.standing = execution.current = chosen
        if execution.aborting:
            raise TaskKilled
        chosen.waiting = False
        if execution.detector is not None:
            execution.detector.synchronise(chosen.index, self._state, True)
        if self.host.looks_at is not None:
            # A signal that has come before may be handled by the loop, or in the step.
            saw(execution, self.host.looks_at)
        return chosen


if native is not None:
    native.use_offers(
        LoopThread, LoopEntry, Task, (BEGIN, RESUME, CANCELLED, CALLBACK), saw, operation_of
    )
