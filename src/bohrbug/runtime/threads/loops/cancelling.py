"""Cancellation as a choice: between two steps of an event loop, tasks that wait can be cancelled.

That is how cancellation comes in life: from outside, at any time at which a task waits, be it for
something that is not there yet or for its turn to go on with what has come.  One task is cancelled
in an execution at most, so that a failure says of one that it breaks the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from bohrbug.model.operation import cancellation_id
from bohrbug.runtime.threads.loops.tasks import has_begun, loop_tasks_of, place_in
from bohrbug.runtime.threads.task import Task

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

SCOPES = "scopes"
"""Stands for all tasks that something may cancel: a timeout, ``wait_for``, a ``TaskGroup``."""


class Cancelling:
    """Which tasks of one event loop are to be cancelled, and when.

    Parameters:
        execution: the execution.
        loop: the event loop.
        patterns: of names of tasks, or of their coroutines, with ``*`` and ``?``; or
            :data:`SCOPES`.
    """

    def __init__(self, execution: Execution, loop: Any, patterns: tuple[str, ...]) -> None:
        self._execution = execution
        self._loop = loop
        self._patterns = tuple(pattern for pattern in patterns if pattern != SCOPES)
        self._has_scopes = SCOPES in patterns

    def after_step(self, host: Task) -> None:
        """The loop has run a step: perhaps one of its tasks is cancelled before the next.

        Parameters:
            host: the task that the thread of the loop is.
        """
        execution = self._execution
        loops = loop_tasks_of(execution)
        if loops.has_cancelled:
            return
        found = [
            (asyncio_task, task)
            for asyncio_task, task in self._candidates()
            if task.host is host and has_begun(asyncio_task.get_coro())
        ]
        if not found:
            return
        names = [task.id for _, task in found]
        resource = execution.resources.state_named(cancellation_id(names), "cancellation")
        places = [None, *(place_in(each.get_coro()) for each, _ in found)]
        loops.have_choices = True
        value = execution.choose_about(resource, len(places), places.__getitem__)
        if value:
            loops.has_cancelled = True
            found[value - 1][0].cancel()

    def _candidates(self) -> Iterator[tuple[Any, Task]]:
        timed = _under_timeout(self._loop) if self._has_scopes else frozenset()
        for asyncio_task, task in loop_tasks_of(self._execution).unfinished():
            if (
                is_named(asyncio_task.get_name(), task.target, self._patterns)
                or id(asyncio_task) in timed
                or (self._has_scopes and _is_watched(asyncio_task))
            ):
                yield asyncio_task, task


def is_named(name: str, target: str, patterns: Iterable[str]) -> bool:
    """Whether a task of an event loop is meant by one of some patterns.

    Parameters:
        name: of the task.
        target: the qualified name of its coroutine; its last part will do.
        patterns: with ``*`` and ``?``.
    """
    names = name, target, target.rpartition(".")[2]
    return any(fnmatchcase(each, pattern) for pattern in patterns for each in names)


def never_met(execution: Execution) -> list[str]:
    """The patterns of names by which no task of an execution is meant."""
    return [
        pattern
        for pattern in execution.settings.cancel
        if pattern != SCOPES
        and not any(is_named(task.name, task.target, (pattern,)) for task in execution.loop_tasks)
    ]


def _under_timeout(loop: Any) -> frozenset[int]:
    """The ids of the tasks that the timers of a loop are to cancel.

    Timeouts of asyncio and of async_timeout have one task, scopes of anyio several.
    """
    owners = [getattr(timer._callback, "__self__", None) for timer in loop._scheduled]
    return frozenset(
        id(task)
        for owner in owners
        for task in (getattr(owner, "_task", None), *(getattr(owner, "_tasks", None) or ()))
    )


def _is_watched(asyncio_task: Any) -> bool:
    """Whether a ``TaskGroup`` is to be told of a task's end, or ``wait_for`` as it was to 3.11."""
    for callback, _ in asyncio_task._callbacks or ():
        function = getattr(callback, "func", callback)
        name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
        if name in ("asyncio.taskgroups.TaskGroup._on_task_done", "asyncio.tasks._release_waiter"):
            return True
    return False
