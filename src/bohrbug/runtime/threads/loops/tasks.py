"""The tasks of an event loop as tasks of the model: each coroutine that a loop runs is one.

All steps of an asyncio task are steps of one task; a callback that belongs to none is a task of
its own, and so is what watches a descriptor.  Ids are paths in the spawn tree, as those of
threads: they say who asked for it.
"""

from __future__ import annotations

import functools
import sys
from contextlib import suppress
from math import inf
from operator import attrgetter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from bohrbug.accelerator import native, with_fast_path
from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import BEGIN, CALLBACK, CANCELLED, RESUME, Kind, Operation, TaskId
from bohrbug.runtime.threads.lone import SinkOfLoneTask
from bohrbug.runtime.threads.loops.coroutines import (
    frame_of,
    innermost_own,
    is_name_of_library,
    is_name_of_loop,
    is_of_library,
    is_of_loop,
    own_frames,
)
from bohrbug.runtime.threads.loops.ready_queue import Order
from bohrbug.runtime.threads.loops.references import OwnReference
from bohrbug.runtime.threads.loops.trio_tasks import TrioTasks
from bohrbug.runtime.threads.task import Task, TaskKilled

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.resources import ResourceState


@plain
class Origin:
    """What is known of a handle of asyncio from its making.

    Parameters:
        task: whose step it is.
        goes_on: whether it lets a task of asyncio go on.
        order: what is promised of it: ``sleep(0)`` gives way for at least one turn.
        number: handles are numbered in the order of their making.
        cause: who made it, a :class:`.access_log.Cause`; ``None`` while nobody takes that down.
    """

    __slots__ = ("cause", "goes_on", "number", "order", "task")

    def __init__(self, task: Task, goes_on: bool, order: Order, number: int, cause: Any) -> None:
        self.task = task
        self.goes_on = goes_on
        self.order = order
        self.number = number
        self.cause = cause


@plain
class LoopEntry:
    """A handle that an event loop is to run; see :class:`.ready_queue.Entry`.

    Parameters:
        handle: asyncio's.
        task: whose step it is.
        goes_on: whether that is a task of asyncio, which it lets go on.
        order: what is promised of it.
    """

    __slots__ = ("goes_on", "handle", "order", "pending", "place", "since", "task")

    def __init__(self, handle: Any, task: Task, goes_on: bool, order: Order) -> None:
        # What its task is about to do, once that was looked up: it does not move meanwhile.
        self.pending: Operation | None = None
        self.handle = handle
        self.task = task
        self.goes_on = goes_on
        self.order = order
        self.place = 0, 0
        self.since = 0

    @property
    def deadline(self) -> object:
        """See :class:`.ready_queue.Entry`."""
        return getattr(self.handle, "_when", None)

    # Asked most of all: not by a function in Python.
    cancelled: bool = property(  # type: ignore[assignment]
        attrgetter("handle._cancelled"), doc="See :class:`.ready_queue.Entry`."
    )


class Turns(Protocol):
    """Those of a loop, which it refers to, and they to it."""

    def let_go(self) -> None:
        """Drop references back to the loop."""
        ...


class LoopTasks:
    """The tasks that the event loops of one execution run.

    Parameters:
        execution: the execution.

    Attributes:
        have_choices: somewhere more than one of them could come next.
        have_company: coroutines of several tasks have not ended at one time.
        has_cancelled: one was cancelled by choice, see :mod:`.cancelling`.
        of_trio: the tasks of trio among them.
        origins: what is known of handles, by their ids; see :meth:`origin_of`.
        offered: what could have come next, by the task whose step it is, and has not run yet: it
            was late, or a timer that could have been over early.  Who cancels it, withdraws it.
    """

    __slots__ = (
        "_execution",
        "_number",
        "_of_asyncio",
        "_of_loops",
        "_pauses_can_be_late",
        "_turns",
        "has_cancelled",
        "have_choices",
        "have_company",
        "of_trio",
        "offered",
        "origins",
    )

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._pauses_can_be_late = execution.settings.late_pauses
        self.have_choices = False
        self.have_company = False
        self.has_cancelled = False
        self.offered: dict[TaskId, Operation] = {}
        self._of_loops: set[TaskId] = set()
        self._number = 0
        self.origins: dict[int, Origin] = {}
        self._of_asyncio: dict[int, tuple[ref[Any], Task]] = {}
        self.of_trio = TrioTasks(self.make)
        # Weakly: the program may let go of a loop, which then dies at once.
        self._turns: list[ref[Turns]] = []

    def note_turns(self, turns: Turns) -> None:
        """A loop turns under control; its turns are to be let go of once the execution is over."""
        self._turns.append(ref(turns))

    def let_go(self) -> None:
        """Drop references back to what refers to this, see :meth:`.Execution.let_go`."""
        for reference in self._turns:
            turns = reference()
            if turns is not None:
                turns.let_go()
        self._turns.clear()
        del self.of_trio

    def handle_made(self, handle: Any, callback: Any, frame: FrameType) -> None:
        """The running task makes a handle.

        Parameters:
            handle: of asyncio, just made.
            callback: what it calls.
            frame: of its maker.
        """
        execution = self._execution
        creator = execution.current
        order = Order.FIFO
        owner, is_step = _goes_on(callback)
        if owner is not None:
            known = self.known(owner)
            gives_way = is_step and known is creator
            if known is None:
                # One that is started eagerly has come to its first ``await`` when it is first seen.
                gives_way = is_step and has_begun(owner.get_coro())
                task = self.make(creator, place_from(frame))
                describe(task, owner)
                self._of_asyncio[id(owner)] = (OwnReference(owner), task)
                self.have_company = self.have_company or len(self.unfinished()) > 1
            else:
                task = known
            if gives_way and self._pauses_can_be_late:
                order = Order.ARRIVAL
        else:
            function = _function_of(callback)
            code = _code_in(function)
            is_own = code is not None and is_of_loop(getattr(function, "__globals__", _NOTHING))
            # What asyncio calls by itself is of no interest, but who has set a timer is.
            is_hidden = is_own and not hasattr(type(handle), "_when")
            task = self.make(creator, None if is_hidden else place_from(frame))
            if is_own:
                self._of_loops.add(task.id)
            task.target = code.co_qualname if code else _name_in_c(callback)
        log = execution.access_log
        cause = None if log is None else log.cause_of_call(frame)
        self.origins[id(handle)] = Origin(task, owner is not None, order, self._number, cause)
        self._number += 1

    def known(self, asyncio_task: Any) -> Task | None:
        """The task of the model that an asyncio task is; ``None`` if it was not seen."""
        entry = self._of_asyncio.get(id(asyncio_task))
        return entry[1] if entry is not None and entry[0]() is asyncio_task else None

    def origin_of(self, handle: Any) -> Origin:
        """What is known of a handle; one that was made out of control has its loop's thread."""
        found = self.origins.get(id(handle))
        if found is None:
            self.handle_made(handle, handle._callback, sys._getframe(1))
            found = self.origins[id(handle)]
        return found

    def is_of_program(self, task: Task) -> bool:
        """Whether the program has asked for a task, and not an event loop for itself."""
        return task.spawned is not None and task.id not in self._of_loops

    def count(self) -> int:
        """How many tasks of loops there were that the program has asked for."""
        return len(self._execution.loop_tasks) - len(self._of_loops)

    def frame_of(self, id: TaskId) -> FrameType | None:
        """Where a task stands, if it is one that an event loop has to go on with."""
        return next(reversed(self.frames_of(id)), None)

    def frames_of(self, id: TaskId) -> list[FrameType]:
        """The frames in which such a task stands, the outermost first."""
        for asyncio_task, task in self.unfinished():
            if task.id == id:
                return own_frames(asyncio_task.get_coro())
        return self.of_trio.frames_of(id)

    def unfinished(self) -> list[tuple[Any, Task]]:
        """The asyncio tasks that have not ended, each with its task of the model."""
        found = []
        for reference, task in self._of_asyncio.values():
            asyncio_task = reference()
            if asyncio_task is not None and not asyncio_task.done():
                found.append((asyncio_task, task))
        return found

    def close_coroutines(self, loop: Any) -> None:
        """Close the coroutines that a loop will not go on with, as its thread is ended.

        Else they would die later, in the midst of another execution, and what they do at their end,
        such as to cancel a timer, would be a step there.  And nobody is to be told of them.
        """
        for asyncio_task, _ in self.unfinished():
            if asyncio_task.get_loop() is loop:
                asyncio_task._log_destroy_pending = False
                # What it raises is no news: this is no end that the program would come to.
                with suppress(BaseException):
                    asyncio_task.get_coro().close()
        for reference, _ in self._of_asyncio.values():
            ended = reference()
            if ended is not None and ended.done() and isinstance(ended._exception, TaskKilled):
                # Nor is that it was ended, should it live as long as the process.
                ended._log_traceback = False

    def coroutines(self) -> list[tuple[Any, Task]]:
        """Those of the tasks of asyncio and trio that have not ended, each with its task."""
        return [
            *((asyncio_task.get_coro(), task) for asyncio_task, task in self.unfinished()),
            *((trio_task.coro, task) for trio_task, task in self.of_trio.unfinished()),
        ]

    def timers(self) -> frozenset[tuple[float, int]]:
        """What is still to come by time: each by its moment, in seconds, and its identity."""
        loops = {task.running_loop for task in self._execution.loop_tasks if task.running_loop}
        timers = [
            (timer._when, id(timer))
            for loop in loops
            for timer in getattr(loop, "_scheduled", ())
            if not timer._cancelled and timer._when < inf
        ]
        return frozenset([*timers, *self.of_trio.timers()])

    def failed(self) -> list[tuple[Task, BaseException]]:
        """The asyncio tasks that have ended with an exception that nobody has retrieved."""
        asyncio_tasks = [(reference(), task) for reference, task in self._of_asyncio.values()]
        return [
            (task, each._exception)
            for each, task in asyncio_tasks
            if each is not None and each.done() and each._log_traceback
        ]

    def would_tell(self) -> bool:
        """Whether asyncio will log something of a task that is still there, once it dies."""
        return any(
            asyncio_task is not None and (not asyncio_task.done() or asyncio_task._log_traceback)
            for reference, _ in self._of_asyncio.values()
            for asyncio_task in (reference(),)
        )

    def make(self, creator: Task, place: Any) -> Task:
        """A new task of a loop.

        Parameters:
            creator: the task that has asked for it.
            place: where in the program; ``None`` if that is not known.
        """
        creator.children += 1
        task = Task(f"{creator.id}.{creator.children}", creator.index, creator.ident)
        task.spawned = place
        task.begun = task.entered = True
        self._execution.loop_tasks.append(task)
        return task


def describe(task: Task, asyncio_task: Any) -> None:
    """Let a task have the names of an asyncio task, which may get its own after its making."""
    coroutine = asyncio_task.get_coro()
    target = getattr(coroutine, "__qualname__", None) or type(coroutine).__name__
    task.target = str(target)
    name = asyncio_task.get_name()
    if name.startswith("Task-"):
        # These are counted on from one execution to the next.
        name = ""
    elif name.endswith(f".{target}"):
        # As anyio names it, by the module, too.
        name = ""
    elif name and is_of_library(getattr(frame_of(coroutine), "f_globals", {})):
        # anyio runs the function within a coroutine of its own.
        task.target, name = name, ""
    task.name = name


def loop_tasks_of(execution: Execution) -> LoopTasks:
    """What is known of the tasks of an execution's event loops."""
    loops: LoopTasks | None = execution.loops
    if loops is None:
        loops = execution.loops = LoopTasks(execution)
        if isinstance(execution.sink, SinkOfLoneTask):
            execution.sink.company_comes()
    return loops


def bind(task: Task, host: Task, loop: Any, state: ResourceState) -> None:
    """Let a task of a loop be run by a thread.

    Parameters:
        task: of the loop.
        host: the task that the thread is.
        loop: the event loop.
        state: the loop as a resource.
    """
    task.host = host
    task.state = task.looks_at = state
    task.index = host.index
    task.ident = host.ident
    task.greenlet = host.greenlet
    task.thread = host.thread
    task.daemon = host.daemon
    task.local_values = host.local_values
    task.running_loop = loop


def operation_of(entry: LoopEntry) -> tuple[Kind, Any]:
    """What a task of a loop is about to do, and where it stands."""
    coroutine = coroutine_of(entry)
    if coroutine is not None:
        place = place_in(coroutine)
        if not has_begun(coroutine):
            return BEGIN, place
        return CANCELLED if is_cancelled(entry) else RESUME, place
    code = _code_of(entry.handle._callback)
    # What has no code of its own stands where it was asked for.
    return CALLBACK, entry.task.spawned if code is None else (code, 0)


def is_cancelled(entry: LoopEntry) -> bool:
    """Whether a task of asyncio goes on as what it awaits, or the task, was cancelled."""
    handle = entry.handle
    if handle._callback.__self__._must_cancel:
        return True
    awaited = handle._args[0] if handle._args else None
    return bool(getattr(awaited, "_state", None) == "CANCELLED")


def coroutine_of(entry: LoopEntry) -> Any:
    """That of the task of asyncio that an entry lets go on; ``None``: it is another callback."""
    callback = entry.handle._callback if entry.goes_on else None
    return None if callback is None else callback.__self__.get_coro()


def is_asyncio_task(owner: Any) -> bool:
    """Whether something is a task of asyncio."""
    tasks = sys.modules.get("asyncio.tasks")
    return tasks is not None and isinstance(owner, (tasks.Task, tasks._PyTask))


@with_fast_path
def place_from(frame: FrameType | None) -> Any:
    """The place in the program from which asyncio was called, or a layer above it."""
    outer = None
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not is_name_of_library(name):
            return frame.f_code, frame.f_lasti
        if outer is None and not is_name_of_loop(name):
            outer = frame
        frame = frame.f_back
    return None if outer is None else (outer.f_code, outer.f_lasti)


_NOTHING: dict[str, Any] = {}


def _goes_on(callback: Any) -> tuple[Any, bool]:
    """Which task of asyncio a callback lets go on; and whether it is the next step of it.

    Otherwise it is its waking by a future.  One may also be asked to cancel a task: ``None``.
    """
    owner = getattr(callback, "__self__", None)
    if owner is None:
        return None, False
    # The step has no name in C; that of waking is ``task_wakeup``.
    name = getattr(callback, "__name__", None)
    is_step = name is None or name == "__step"
    if (is_step or name in ("task_wakeup", "__wakeup")) and is_asyncio_task(owner):
        return owner, is_step
    return None, False


def _function_of(callback: Any) -> Any:
    while isinstance(callback, functools.partial):
        callback = callback.func
    return getattr(callback, "__func__", callback)


def _code_of(callback: Any) -> CodeType | None:
    return _code_in(_function_of(callback))


def _code_in(function: Any) -> CodeType | None:
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _name_in_c(callback: Any) -> str:
    """What a callback without code is called: a function in C by its name, else by its class."""
    function = _function_of(callback)
    # Whatever class it has: those that are bound under control have one of their own.
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__name__


def has_begun(coroutine: Any) -> bool:
    """Whether a coroutine stands at an ``await``."""
    return getattr(coroutine, "cr_await", None) is not None


def place_in(coroutine: Any) -> Any:
    """Where the program's own code of a coroutine stands, the innermost of it."""
    frame = innermost_own(coroutine)
    return None if frame is None else (frame.f_code, max(frame.f_lasti, 0))


if native is not None:
    native.use_handles(
        LoopTasks,
        Origin,
        OwnReference,
        Order.FIFO,
        Order.ARRIVAL,
        describe,
        is_name_of_library,
        is_name_of_loop,
    )
