"""What a trace tells of the event loops of asyncio: its timers, and what only asyncio calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from bohrbug.model.operation import (
    CALLBACK,
    EVENT_LOOP,
    WAKE,
    Kind,
    Resource,
    ResourceId,
    Site,
    TaskId,
)
from bohrbug.model.outcome import TaskInfo

ENDS_A_SLEEP = "_set_result_unless_cancelled"
"""What ``asyncio.sleep`` asks its loop to call."""

TIMES_OUT = frozenset({"_release_waiter", "Timeout._on_timeout"})
"""What ``wait_for`` and ``timeout`` ask their loop to call when their time is over."""


class AsyncioRuns:
    """The event loops of asyncio in an execution.

    Parameters:
        infos: what is known of its tasks.
        resources: of it.
    """

    def __init__(
        self, infos: Mapping[TaskId, TaskInfo], resources: Mapping[ResourceId, Resource]
    ) -> None:
        self._infos = infos
        self._resources = resources

    def timer_set(
        self, task: TaskId, kind: Kind, resource: ResourceId, site: Site | None
    ) -> Site | None:
        """Where the timer was set that is over by an operation; ``None`` if it is none.

        What asyncio calls by itself has been asked for nowhere in the program, but for timers.

        Parameters:
            task: who does it.
            kind, resource: of it.
            site: where it is done, if that is known.
        """
        info = self._infos.get(task)
        if info is None or not self.is_loop(resource):
            return None
        return info.spawned if kind is WAKE or _is_call_of_asyncio(kind, site) else None

    def is_timeout(self, task: TaskId, kind: Kind, resource: ResourceId, site: Site | None) -> bool:
        """Whether an operation is a timer of the program's that is over, and ends no sleep.

        Parameters:
            task, kind, resource, site: see :meth:`timer_set`.
        """
        info = self._infos.get(task)
        ends_a_sleep = info is not None and info.target == ENDS_A_SLEEP
        return not ends_a_sleep and self.timer_set(task, kind, resource, site) is not None

    def timed_out(
        self, task: TaskId, kind: Kind, resource: ResourceId, site: Site | None
    ) -> TaskId | None:
        """Whose ``wait_for`` or ``timeout`` is over by an operation; ``None`` if none is.

        Parameters:
            task, kind, resource, site: see :meth:`timer_set`.
        """
        info = self._infos.get(task)
        if info is None or info.target not in TIMES_OUT or site is None:
            return None
        is_timer = self.timer_set(task, kind, resource, site) is not None
        return asked_by(task) if is_timer and is_file_of_asyncio(site.filename) else None

    def passed_on(self, task: TaskId, kind: Kind, site: Site | None) -> TaskId | None:
        """Whose doing asyncio passes on by a callback of its own; ``None`` if it is another step.

        Parameters:
            task, kind, site: see :meth:`timer_set`.
        """
        info = self._infos.get(task)
        is_own = (info is None or info.spawned is None) and _is_call_of_asyncio(kind, site)
        return asked_by(task) if is_own else None

    def is_own(self, task: TaskId, kind: Kind, resource: ResourceId, site: Site | None) -> bool:
        """Whether an operation is asyncio's own: of its tasks, or a callback but for timers.

        Parameters:
            task, kind, resource, site: see :meth:`timer_set`.
        """
        if self.is_own_task(task):
            return True
        info = self._infos.get(task)
        return (
            _is_call_of_asyncio(kind, site)
            and self.is_loop(resource)
            and (info is None or info.spawned is None)
        )

    def is_own_task(self, task: TaskId) -> bool:
        """Whether a task runs a coroutine of an event loop, such as at its end."""
        info = self._infos.get(task)
        return info is not None and info.target.startswith("BaseEventLoop.")

    def is_loop(self, resource: ResourceId) -> bool:
        """Whether a resource is an event loop of asyncio."""
        known = self._resources.get(resource)
        return known is not None and known.type == EVENT_LOOP


def asked_by(callback: TaskId) -> TaskId:
    """Who has asked a loop for a callback: its parent in the tree of tasks."""
    return callback.rpartition(".")[0]


def _is_call_of_asyncio(kind: Kind, site: Site | None) -> bool:
    return kind is CALLBACK and site is not None and is_file_of_asyncio(site.filename)


@lru_cache(maxsize=4096)
def is_file_of_asyncio(filename: str) -> bool:
    """Whether a file belongs to ``asyncio``."""
    folder = os.path.join(os.path.dirname(os.__file__), "asyncio")
    return os.path.abspath(filename).startswith(os.path.abspath(folder) + os.sep)
