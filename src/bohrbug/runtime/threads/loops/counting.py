"""Callbacks of asyncio's own that only count, so that it makes no difference when they run.

Where several tasks are waited for together, by ``gather``, ``wait`` or a ``TaskGroup``, a callback
tells of the end of each.  All but the last of them note only that there is one less to wait for:
nobody but the other ones can see whether they have run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakSet

from bohrbug.runtime.threads.loops.references import references_to

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
"""Types of results that nobody sees die."""


def only_counts(handle: Any) -> bool:
    """Whether running a handle now makes no difference to anybody but those that count, too.

    Parameters:
        handle: of asyncio.
    """
    callback = handle._callback
    counts = _counter_of(callback)
    if counts is None or len(handle._args) != 1 or handle._loop._debug:
        # A loop that is debugged reads the clock.
        return False
    (future,) = handle._args
    # Methods of other classes may do anything.
    return type(future) in futures() and counts(callback, future)


def is_of_gather(callback: Any) -> bool:
    """Whether a callback is how a ``gather`` is told of the end of a future."""
    return _counter_of(callback) is _counts_for_gather


def is_of_group(callback: Any) -> bool:
    """Whether a callback is how a ``TaskGroup`` is told of the end of a task."""
    return _counter_of(callback) is _counts_for_group


def _counter_of(callback: Any) -> Callable[[Any, Any], bool] | None:
    code = getattr(getattr(callback, "__func__", callback), "__code__", None)
    # What is written in C has none: the steps of tasks, most of all.
    return None if code is None else counters().get(code)


@cache
def counters() -> dict[Any, Callable[[Any, Any], bool]]:
    """By the code of a callback: whether one only counts, by itself and what is done."""
    tasks: Any = sys.modules["asyncio.tasks"]
    groups: Any = sys.modules["asyncio.taskgroups"]
    found: dict[Any, Callable[[Any, Any], bool]] = {}
    found |= dict.fromkeys(_nested(tasks, tasks.gather, "_done_callback"), _counts_for_gather)
    found |= dict.fromkeys(_nested(tasks, tasks._wait, "_on_completion"), _counts_for_wait)
    found[groups.TaskGroup._on_task_done.__code__] = _counts_for_group
    return found


def _nested(module: Any, function: Any, name: str) -> Iterator[CodeType]:
    """The code of the functions of a name within another, if that is still the module's own."""
    if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
        for constant in function.__code__.co_consts:
            if isinstance(constant, CodeType) and constant.co_name == name:
                yield constant


@cache
def futures() -> frozenset[type]:
    """The classes of asyncio's own futures and tasks."""
    futures: Any = sys.modules["asyncio.futures"]
    tasks: Any = sys.modules["asyncio.tasks"]
    return frozenset({futures.Future, futures._PyFuture, tasks.Task, tasks._PyTask})


def _counts_for_gather(callback: Any, future: Any) -> bool:
    known = enclosed(callback)
    return (
        known["outer"] is not None
        and not known["outer"].done()
        and known["nfinished"] + 1 < known["nfuts"]
        and bool(known["return_exceptions"] or not (future.cancelled() or _has_failed(future)))
    )


def _counts_for_wait(callback: Any, future: Any) -> bool:
    known = enclosed(callback)
    tasks: Any = sys.modules["asyncio.tasks"]
    condition = known["return_when"]
    return (
        known["counter"] > 1
        # Who waits holds the future as long as that is so.
        and not known["waiter"].done()
        and (
            condition == tasks.ALL_COMPLETED
            or (condition == tasks.FIRST_EXCEPTION and not _has_failed(future))
        )
    )


def _counts_for_group(callback: Any, task: Any) -> bool:
    group = callback.__self__
    waiter = group._on_completed_fut
    return (
        type(group) is sys.modules["asyncio.taskgroups"].TaskGroup
        and waiter is not None
        and not waiter.done()
        and task in group._tasks
        and len(group._tasks) > 1
        and not _has_failed(task)
        # If nobody else holds the task, it dies with its result.
        and (task.cancelled() or type(task._result) in _PLAIN)
        and not _is_watched_for_death(task)
    )


def _has_failed(future: Any) -> bool:
    # To ask for it by ``exception()`` is to have seen it.
    return future._exception is not None


def enclosed(callback: Any) -> dict[str, Any]:
    """The variables of the function in which a callback was made."""
    names = callback.__code__.co_freevars
    return {
        name: cell.cell_contents for name, cell in zip(names, callback.__closure__, strict=True)
    }


def _is_watched_for_death(task: Any) -> bool:
    """Whether anybody but asyncio and this tool has a weak reference to a task of asyncio."""
    others = references_to(task)
    tasks = sys.modules["asyncio.tasks"]
    known = getattr(tasks, "_scheduled_tasks", None) or getattr(tasks, "_all_tasks", None)
    return len(others) > (isinstance(known, WeakSet) and task in known)
