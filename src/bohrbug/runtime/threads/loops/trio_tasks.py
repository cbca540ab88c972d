"""The tasks of trio as tasks of the model, with ids that are paths in the spawn tree.

What trio starts for itself is there, too; only the task that starts all others and waits for
their ends, which runs no code of the program, is a part of the thread that runs trio.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from types import FrameType
from typing import Any
from weakref import ref

from bohrbug.model.operation import BEGIN, CANCELLED, RESUME, Kind, TaskId
from bohrbug.runtime.threads.loops.coroutines import (
    Place,
    frames_of_coroutine,
    is_of_library,
    place_in_program,
)
from bohrbug.runtime.threads.loops.references import OwnReference
from bohrbug.runtime.threads.task import Task


class TrioTasks:
    """The tasks of trio that one execution runs.

    Parameters:
        make: makes a task of the model, from the one that starts it and the place where it does.

    Attributes:
        runs: the generators by which trio makes its turns, and the runners that they belong to.
        waiting: threads that wait for a run, the thread of which does other things meanwhile.
    """

    def __init__(self, make: Callable[[Task, Place | None], Task]) -> None:
        self._make = make
        self.runs: list[tuple[ref[Any], ref[Any]]] = []
        self.waiting: set[Task] = set()
        self._known: dict[int, tuple[OwnReference, Task]] = {}
        # Where locks were taken by those who hold them.
        self._taken: dict[int, tuple[OwnReference, Place | None]] = {}

    def end_runs(self) -> None:
        """The execution is over: no run is left in the middle of its turns.

        To trio its thread would else be in a run for ever, in which there can't be another one.
        """
        with warnings.catch_warnings():
            # To trio such a run is abandoned.
            warnings.simplefilter("ignore")
            for generator, runner in self.runs:
                turns, abandoned = generator(), runner()
                if abandoned is not None:
                    _abandon(list(abandoned.tasks))
                if turns is not None:
                    # It may be in the middle of a step, whose greenlet could not be unwound.
                    with suppress(BaseException):
                        turns.close()
        self.runs.clear()

    def spawned(self, trio_task: Any, creator: Task, frame: FrameType | None) -> Task:
        """A task of trio was made.

        Parameters:
            trio_task: the task.
            creator: the task of the model that has made it.
            frame: in which it was made.
        """
        task = self._make(creator, place_of_caller(frame))
        _describe(task, trio_task)
        self._known[id(trio_task)] = OwnReference(trio_task), task
        return task

    def known(self, trio_task: Any) -> Task | None:
        """The task of the model that a task of trio is; ``None`` if it was not seen."""
        entry = self._known.get(id(trio_task))
        return entry[1] if entry is not None and entry[0]() is trio_task else None

    def unfinished(self) -> list[tuple[Any, Task]]:
        """The tasks of trio that have not ended, each with its task of the model."""
        found = []
        for reference, task in self._known.values():
            trio_task = reference()
            if trio_task is not None and trio_task in trio_task._runner.tasks:
                found.append((trio_task, task))
        return found

    def timers(self) -> list[tuple[float, int]]:
        """Deadlines that are still to come: each by its moment, in seconds, and its identity."""
        runners = {trio_task._runner for trio_task, _ in self.unfinished()}
        return [
            (deadline, id(scope))
            for runner in runners
            for deadline, _, scope in runner.deadlines._heap
            if deadline == scope._registered_deadline
        ]

    def frames_of(self, id: TaskId) -> list[FrameType]:
        """The frames of the program in which a task stands, the outermost first."""
        for trio_task, task in self.unfinished():
            if task.id == id:
                return frames_of_coroutine(trio_task.coro)
        return []

    def took(self, lock: Any, place: Place | None) -> None:
        """A task has taken a lock of trio.

        Parameters:
            lock: the lock.
            place: where in the program.
        """
        self._taken[id(lock)] = OwnReference(lock), place

    def taken_at(self, lock: Any) -> Place | None:
        """Where a lock was taken by the task that holds it, if that was seen."""
        entry = self._taken.get(id(lock))
        return entry[1] if entry is not None and entry[0]() is lock else None


def operation_of(trio_task: Any) -> tuple[Kind, Place | None]:
    """What a task of trio is about to do, and where it stands."""
    coroutine = trio_task.coro
    place = place_in_program(coroutine)
    if not trio_task._schedule_points:
        return BEGIN, place
    error = getattr(trio_task._next_send, "error", None)
    return CANCELLED if type(error).__name__ == "Cancelled" else RESUME, place


def is_of_trio_itself(trio_task: Any) -> bool:
    """Whether trio has started a task of its own accord, to run what other threads ask it for."""
    nursery = trio_task._parent_nursery
    runner = trio_task._runner
    return (
        trio_task is not runner.main_task
        and nursery is not None
        and nursery._parent_task is runner.init_task
        and is_of_library(trio_task.coro.cr_frame.f_globals if trio_task.coro.cr_frame else {})
    )


def _describe(task: Task, trio_task: Any) -> None:
    """Let a task have the names of a task of trio."""
    coroutine = trio_task.coro
    task.target = str(getattr(coroutine, "__qualname__", type(coroutine).__name__))
    name = str(trio_task.name)
    if name.startswith("<"):
        # One of trio's own.
        task.target = name.strip("<>")
        return
    if is_of_library(coroutine.cr_frame.f_globals):
        # What a layer above trio runs knows more than that.
        task.target = name.rpartition("<locals>.")[2]
        return
    # By default it is that of the function, behind its module.
    task.name = "" if name == task.target or name.endswith(f".{task.target}") else name


def place_of_caller(frame: FrameType | None) -> Place | None:
    """The place in the program from which trio was called."""
    while frame is not None and is_of_library(frame.f_globals):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def _abandon(trio_tasks: Collection[Any]) -> None:
    """End what the tasks of an abandoned run have begun, as the interpreter would, but in silence.

    Else it would do so with errors that nobody can catch, whenever they die.
    """
    nurseries = [nursery for each in trio_tasks for nursery in each.child_nurseries]
    for trio_task in trio_tasks:
        _end_coroutine(trio_task.coro)
    for nursery in nurseries:
        # A nursery that dies with tasks in it complains.
        nursery._children.clear()


_MOST_CLOSES = 10
"""How often a coroutine may wait again that is told to end: a nursery does so in each ``with``."""


def _end_coroutine(coroutine: Any) -> None:
    for _ in range(_MOST_CLOSES):
        if getattr(coroutine, "cr_frame", None) is None:
            return
        with suppress(BaseException):
            coroutine.close()
