"""The tasks of trio, where they stand; to the model all of them are parts of one thread."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Frame
from bohrbug.runtime.threads.loops.awaiting import codes_and_owner
from bohrbug.runtime.threads.stacks import site_in

_RUN = "trio._core._run"


class TrioTask(NamedTuple):
    """A task of trio that has not ended.

    Parameters:
        id: that of its thread, a colon, and its number among those that there are now.
        name: the function that it runs.
        stack: where its coroutines of the program stand, innermost last; may be empty.
        place: the same of the innermost one, as code and offset, or ``None``.
        is_running: it runs now.
        is_blocked: what it waits for has not come.
        awaited: what that is; may be empty.
        holders: the tasks that it waits for, as far as trio says.
    """

    id: TaskId
    name: str
    stack: tuple[Frame, ...]
    place: tuple[Any, int] | None
    is_running: bool
    is_blocked: bool
    awaited: str
    holders: tuple[TaskId, ...]


def trio_tasks(thread: TaskId, frame: FrameType | None) -> list[TrioTask]:
    """The tasks of the ``trio.run`` in which a thread stands; none if it stands in none.

    Parameters:
        thread: the id of its task.
        frame: its innermost one.
    """
    runner = None
    while frame is not None and runner is None:
        if frame.f_globals.get("__name__") == _RUN:
            runner = frame.f_locals.get("runner")
        frame = frame.f_back
    tasks = [task for task in getattr(runner, "tasks", ()) if _is_of_program(task)]
    # In the order of their making.
    tasks.sort(key=lambda task: task._counter)
    ids = {task: f"{thread}:{number}" for number, task in enumerate(tasks, 1)}
    return [_seen(task, ids) for task in tasks]


def _is_of_program(task: Any) -> bool:
    """Whether a task is none of those that trio has for itself."""
    frame = getattr(task.coro, "cr_frame", None)
    return frame is not None and not _is_of_trio(frame.f_globals)


def _seen(task: Any, ids: dict[Any, TaskId]) -> TrioTask:
    codes, owner = codes_and_owner(task.coro, _is_of_trio)
    waits_for = [ids[other] for other in _holders(owner) if other in ids and other is not task]
    is_running = bool(getattr(task.coro, "cr_running", False))
    awaited = "" if owner is None else type(owner).__name__
    if hasattr(owner, "_nursery"):
        awaited = "the end of other tasks"
    return TrioTask(
        ids[task],
        str(task.name).rpartition(".")[2],
        tuple(Frame(site_in(code, offset)) for code, offset in codes),
        codes[-1] if codes else None,
        is_running,
        not is_running and task._abort_func is not None,
        awaited,
        tuple(sorted(waits_for)),
    )


def _holders(owner: Any) -> Iterator[Any]:
    """The tasks that have what is awaited, or are awaited themselves."""
    nursery = getattr(owner, "_nursery", None)
    if nursery is not None:
        yield from nursery.child_tasks
    statistics = getattr(owner, "statistics", None)
    if statistics is not None:
        holder = getattr(statistics(), "owner", None)
        if holder is not None:
            yield holder


def _is_of_trio(module: dict[str, Any]) -> bool:
    return str(module.get("__name__", "")).startswith(("trio.", "bohrbug.runtime."))
