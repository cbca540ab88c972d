"""What the tasks of event loops wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from bohrbug.model.operation import WAIT, Operation, ResourceId, TaskId
from bohrbug.model.outcome import Frame
from bohrbug.runtime.threads.loops.tasks import LoopTasks, is_of_asyncio
from bohrbug.runtime.threads.stacks import site_in
from bohrbug.runtime.threads.task import Task

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


class Awaiting(NamedTuple):
    """A task of an event loop that stands at an ``await``.

    Parameters:
        task: which one.
        stack: where its coroutines of the program stand, innermost last.
        place: the same of the innermost one, as code and offset.
        is_blocked: what it waits for has not come.
        holders: the tasks that it waits for, if it does not wait for anything else.
        resource: stands for what it waits for.
        label: how reports call that.
    """

    task: Task
    stack: tuple[Frame, ...]
    place: tuple[Any, int]
    is_blocked: bool
    holders: tuple[TaskId, ...]
    resource: ResourceId
    label: str


def unfinished_in_loops(execution: Execution) -> list[Awaiting]:
    """The tasks that running event loops have, where they stand; changes nothing."""
    loops: LoopTasks | None = execution.loops
    if loops is None:
        return []
    found = []
    for asyncio_task, task in loops.unfinished():
        if task.host is None:
            continue
        codes, owner = codes_and_owner(asyncio_task.get_coro(), is_of_asyncio)
        if not codes:
            continue
        waiter = asyncio_task._fut_waiter
        holders = tuple(
            known.id
            for awaited in getattr(waiter, "_children", (waiter,))
            if (known := loops.known(awaited)) is not None and not awaited.done()
        )
        primitive = "" if owner is None else type(owner).__name__
        label = primitive or ("the end of other tasks" if holders else "a future")
        stack = tuple(Frame(site_in(code, offset)) for code, offset in codes)
        is_blocked = waiter is not None and not waiter.done()
        found.append(
            Awaiting(task, stack, codes[-1], is_blocked, holders, f"{task.id}:awaited", label)
        )
    return found


def awaiting(execution: Execution) -> list[Awaiting]:
    """The tasks that running event loops have, once nobody can go on.

    Their pending operation is from then on that they wait.
    """
    found = unfinished_in_loops(execution)
    for each in found:
        task = each.task
        state = execution.resources.state_named(each.resource, each.label, each.label)
        task.pending = Operation(WAIT, state.id, each.place)
        task.waits_for = state
        task.blocked_since = _last_step(execution, task)
    return found


def codes_and_owner(
    coroutine: Any, is_of_loop: Callable[[dict[str, Any]], bool]
) -> tuple[list[tuple[Any, int]], Any]:
    """Where the coroutines of a task stand, up to what its event loop does for them.

    Parameters:
        coroutine: the task's own.
        is_of_loop: whether code is the event loop's, by its globals.

    Returns:
        Code and offset of those of the program, the innermost last, and the object of the event
        loop of which the innermost one calls a method; ``None`` if it calls none.
    """
    codes: list[tuple[Any, int]] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        if is_of_loop(frame.f_globals):
            return codes, frame.f_locals.get("self")
        codes.append((frame.f_code, max(frame.f_lasti, 0)))
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return codes, None


def _last_step(execution: Execution, task: Task) -> int:
    rows = execution.rows
    return next((step for step in reversed(range(len(rows))) if rows[step][1] == task.id), 0)
