"""Sets of asyncio tasks, which Python goes through in the order of their addresses.

A task group that fails cancels its tasks in that order, and a runner those that are left; programs
go through what ``asyncio.wait`` gives them.  Here it is the order of the tasks' ids.
"""

from __future__ import annotations

from asyncio import taskgroups, tasks
from collections.abc import Iterable, Iterator
from typing import Any

from bohrbug.runtime.channels.aio import aio_stream, streams
from bohrbug.runtime.channels.events import tree_key
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_Group: Any = taskgroups.TaskGroup
_init = _Group.__init__
_all_tasks = tasks.all_tasks


def _rank(future: Any) -> tuple[Any, ...]:
    stream = streams.get(future)
    return (1,) if stream is None else (0, tree_key(stream.task))


def in_order(futures: Iterable[Any]) -> list[Any]:
    """Futures in an order that is the same in each run: as given, or as their tasks are named."""
    if isinstance(futures, list | tuple):
        return list(dict.fromkeys(futures))
    return sorted(dict.fromkeys(futures), key=_rank)


class TaskSet(set[Any]):
    """A set of asyncio tasks that is gone through in the order of their ids."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__(), key=_rank))

    def pop(self) -> Any:
        """Remove and return the first one.

        Raises:
            KeyError: there is none.
        """
        for task in self:
            self.remove(task)
            return task
        raise KeyError("pop from an empty set")


@patches.method(_Group, "__init__")
def _make_group(self: Any, *args: Any, **kwargs: Any) -> None:
    _init(self, *args, **kwargs)
    if aio_stream() is not None:
        self._tasks = TaskSet(self._tasks)


@patches.method(tasks, "all_tasks")
def _find_all_tasks(loop: Any = None) -> set[Any]:
    found = _all_tasks(loop)
    return found if aio_stream() is None else TaskSet(found)
