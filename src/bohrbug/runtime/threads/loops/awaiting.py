"""What the tasks of event loops wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from bohrbug.model.operation import OTHERS_END, WAIT, Operation, ResourceId, TaskId
from bohrbug.model.outcome import Frame, Held
from bohrbug.model.site import site_of
from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.loops.coroutines import (
    all_frames,
    frames_of_coroutine,
    frames_within,
    is_busy,
    is_of_loop,
    own_frames,
)
from bohrbug.runtime.threads.loops.entered import Entered, entered_by
from bohrbug.runtime.threads.loops.tasks import LoopTasks
from bohrbug.runtime.threads.loops.trio_tasks import TrioTasks, is_of_trio_itself
from bohrbug.runtime.threads.stacks import site_in
from bohrbug.runtime.threads.task import Task

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

_ENTERING = ("__aenter__", "acquire")
"""Methods of asyncio's primitives that wait until somebody else leaves."""

_MOST_NAMED = 4
"""Tasks of which reports say that another one awaits them."""


class Awaiting(NamedTuple):
    """A task of an event loop that stands at an ``await``.

    Parameters:
        task: which one.
        stack: where its coroutines of the program stand, innermost last.
        place: the same of the innermost one, as code and offset.
        is_blocked: what it waits for has not come.
        holders: the tasks that it waits for, as far as that is known.
        resource: stands for what it waits for.
        type, label: how reports call that.
        holding: what others wait for, and this one has.
    """

    task: Task
    stack: tuple[Frame, ...]
    place: tuple[Any, int]
    is_blocked: bool
    holders: tuple[TaskId, ...]
    resource: ResourceId
    type: str
    label: str
    holding: tuple[Held, ...] = ()


def unfinished_in_loops(execution: Execution) -> list[Awaiting]:
    """The tasks that running event loops have, where they stand; changes nothing."""
    loops: LoopTasks | None = execution.loops
    if loops is None:
        return []
    return [*_unfinished_of_asyncio(loops), *_unfinished_of_trio(loops.of_trio)]


class _Standing(NamedTuple):
    """A task of asyncio, before it is known who has what it waits for.

    Parameters:
        awaiting: the task.
        wanted: the primitive that it waits for; ``None`` if that is none, or has come.
        is_entering: it waits for others to leave that, and not for a notification.
        entered: what it is within.
    """

    awaiting: Awaiting
    wanted: Any
    is_entering: bool
    entered: list[Entered]

    def has(self, manager: Any) -> bool:
        """Whether it is within something, and does not wait for it."""
        # Who waits for a lock is about to enter it, and who waits on a condition has let go of it.
        return manager is not self.wanted and any(each.manager is manager for each in self.entered)


def _unfinished_of_asyncio(loops: LoopTasks) -> list[Awaiting]:
    found: list[_Standing] = []
    # What several wait for is one resource.
    named: dict[int, ResourceId] = {}
    for asyncio_task, task in loops.unfinished():
        frames, place, owner, method = _standing_of(asyncio_task.get_coro())
        if task.host is None or not frames:
            continue
        waiter = asyncio_task._fut_waiter
        holders = tuple(
            known.id
            for awaited in getattr(waiter, "_children", (waiter,))
            if (known := loops.known(awaited)) is not None and not awaited.done()
        )
        if not holders:
            holders = tuple(_members(owner, loops))
        is_primitive = owner is not None and type(owner) is not set and not holders
        primitive = type(owner).__name__ if is_primitive else ""
        what = primitive or (OTHERS_END if holders else "a future")
        label = _end_of(holders) if what is OTHERS_END else what
        stack = tuple(Frame(site_in(each.f_code, max(each.f_lasti, 0))) for each in frames)
        is_blocked = waiter is not None and not waiter.done()
        resource = f"{task.id}:awaited"
        wanted = owner if is_blocked else None
        if wanted is not None:
            resource = named.setdefault(id(wanted), resource)
        awaiting = Awaiting(task, stack, place, is_blocked, holders, resource, what, label)
        is_entering = wanted is not None and method in _ENTERING
        found.append(_Standing(awaiting, wanted, is_entering, entered_by(asyncio_task.get_coro())))
    return [_with_locks(each, found, named) for each in found]


def _members(owner: Any, loops: LoopTasks) -> list[TaskId]:
    """The tasks of a group, asyncio's or anyio's, or of a set, that have not ended."""
    is_group = type(owner).__name__.endswith("TaskGroup")
    awaited = getattr(owner, "_tasks", ()) if is_group else owner if type(owner) is set else ()
    tasks = [loops.known(each) for each in awaited if not each.done()]
    return sorted((task.id for task in tasks if task is not None), key=_in_order)


def _in_order(id: TaskId) -> list[int]:
    return [int(number) for number in id.split(".")]


def _with_locks(
    standing: _Standing, all_of_them: Sequence[_Standing], named: Mapping[int, ResourceId]
) -> Awaiting:
    """A task of asyncio, with who has what it waits for, and what it has that others wait for.

    Parameters:
        standing: the task.
        all_of_them: it, and the others.
        named: what primitives that some wait for are called, by identity.
    """
    holders = standing.awaiting.holders
    if standing.is_entering and not holders:
        holders = tuple(each.awaiting.task.id for each in all_of_them if each.has(standing.wanted))
    holding = tuple(
        Held(named[id(manager)], site)
        for manager, site in standing.entered
        if id(manager) in named and standing.has(manager)
    )
    return standing.awaiting._replace(holders=holders, holding=holding)


def _unfinished_of_trio(tasks: TrioTasks) -> list[Awaiting]:
    found: list[Awaiting] = []
    # What several wait for is one resource.
    named: dict[int, ResourceId] = {}
    held: dict[TaskId, list[Held]] = {}
    for trio_task, task in tasks.unfinished():
        frames = frames_of_coroutine(trio_task.coro)
        if task.host is None or not frames or is_of_trio_itself(trio_task):
            continue
        within = frames_within(trio_task.coro)
        owners = [owner for frame in within for owner in _owners_in(frame)]
        is_blocked = trio_task._abort_func is not None
        resource = f"{task.id}:awaited"
        what = type(owners[0]).__name__ if owners else "a wake-up"
        if within and not owners:
            what = within[0].f_code.co_name
        holders: tuple[TaskId, ...] = ()
        if is_blocked:
            for owner in owners:
                those = [each for other in _holders(owner) if (each := tasks.known(other))]
                if not those:
                    continue
                holders = tuple(each.id for each in those)
                if hasattr(owner, "_nursery"):
                    what = OTHERS_END
                else:
                    resource = named.setdefault(id(owner), resource)
                    taken = Held(resource, site_of(tasks.taken_at(owner)))
                    held.setdefault(those[0].id, []).append(taken)
                break
            else:
                if owners:
                    resource = named.setdefault(id(owners[0]), resource)
        stack = tuple(Frame(site_in(each.f_code, max(each.f_lasti, 0))) for each in frames)
        place = frames[-1].f_code, max(frames[-1].f_lasti, 0)
        label = _end_of(holders) if what is OTHERS_END else what
        found.append(Awaiting(task, stack, place, is_blocked, holders, resource, what, label))
    return [
        each._replace(holding=tuple(dict.fromkeys(held.get(each.task.id, ())))) for each in found
    ]


def _end_of(tasks: Sequence[TaskId]) -> str:
    """What a task waits for that awaits others, in words."""
    named = [f"task {task}" for task in tasks[:_MOST_NAMED]]
    more = len(tasks) - len(named)
    if more:
        named.append(f"{more} more")
    return f"the end of {' and '.join(named)}" if named else OTHERS_END


def _owners_in(frame: Any) -> Iterator[Any]:
    """The object of which a frame runs a method, if it runs one."""
    owner = local_variables(frame).get("self")
    if owner is not None:
        yield owner


def _holders(owner: Any) -> Iterator[Any]:
    """The tasks of trio that have what is awaited, or are awaited themselves."""
    nursery = getattr(owner, "_nursery", None)
    children = getattr(nursery, "child_tasks", None)
    if children is not None:
        # In the order of their making.
        yield from sorted(children, key=lambda task: task._counter)
        return
    holder = getattr(owner, "_owner", None)
    if holder is not None:
        yield holder


def awaiting(execution: Execution) -> list[Awaiting]:
    """The tasks that running event loops have, once nobody can go on.

    Their pending operation is from then on that they wait.  One in the middle of a step, such as
    one that waits for the lock of a thread, is not among them: it waits as threads do.
    """
    loops: LoopTasks | None = execution.loops
    if loops is None:
        return []
    busy = {task for coroutine, task in loops.coroutines() if is_busy(coroutine)}
    found = [each for each in unfinished_in_loops(execution) if each.task not in busy]
    for each in found:
        task = each.task
        state = execution.resources.state_named(each.resource, each.label, each.type)
        task.pending = Operation(WAIT, state.id, each.place)
        task.waits_for = state
        task.blocked_since = _last_step(execution, task)
    return found


def _standing_of(coroutine: Any) -> tuple[list[FrameType], Any, Any, str]:
    """Where the coroutines of a task of asyncio stand, and what they wait for.

    Parameters:
        coroutine: the task's own.

    Returns:
        Their frames up to what asyncio does for them, the innermost last; where the program's
        own part of them stands; and the object of which that calls a method, be it asyncio's or
        that of a layer above, with the method's name: ``None`` if it calls none. The futures of
        ``asyncio.wait()`` are such an object, too.
    """
    own = own_frames(coroutine)[-1:]
    if not own:
        return [], None, None, ""
    frames = all_frames(coroutine)
    within = frames[frames.index(own[0]) + 1 :]
    shown = [frame for frame in frames if not is_of_loop(frame.f_globals)]
    called = within[0] if within else None
    place = own[0].f_code, max(own[0].f_lasti, 0)
    if called is None:
        return shown, place, None, ""
    variables = local_variables(called)
    return shown, place, variables.get("self", variables.get("fs")), called.f_code.co_name


def _last_step(execution: Execution, task: Task) -> int:
    rows = execution.rows
    return next((step for step in reversed(range(len(rows))) if rows[step][1] == task.id), 0)
