"""What tasks can see of primitives and of each other without calling an operation of theirs.

Attributes such as ``Queue.unfinished_tasks``, the list of the threads that are alive, and names of
threads, once a test has changed that of one that runs.
"""

from __future__ import annotations

import abc
import queue
import sys
import threading
from collections.abc import Generator
from concurrent.futures import _base as pool_base
from concurrent.futures import thread as pool_threads
from sys import _getframe
from types import FrameType
from typing import Any

from bohrbug.model.operation import INSPECT, SET, Kind, TaskId
from bohrbug.runtime.threads import queue_items
from bohrbug.runtime.threads.control import controlled, current, outside_library
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.idents import FIRST_IDENT
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.recording import saw
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.stacks import is_own
from bohrbug.runtime.threads.synchronizers import place_of

patches = Patches()

_MODELLED_FILES = frozenset(
    module.__file__ for module in (threading, queue, pool_base, pool_threads) if module.__file__
)
"""Where the primitives are written in Python whose attributes are told of."""


def _inspect(owner: Any, name: str, is_write: bool, place: Any) -> None:
    """An attribute is about to be read that operations on the object change, or go by."""
    execution = controlled()
    if execution is None or execution.current.inside or execution.is_alone():
        return
    if place[0].co_filename in _MODELLED_FILES:
        # Part of an operation, which is told as a whole.
        return
    if isinstance(owner, FrameType):
        if _is_of_another_task(execution, owner):
            _ask("a frame of another task", place)
        return
    execution.inspected[id(place)] = place
    if isinstance(owner, threading.Thread):
        if may_start_elsewhere(execution, owner):
            _look_around(execution, place)
        return
    state = execution.resources.of(owner, type(owner).__name__)
    if is_write:
        execution.perform(SET, state, place)
        return
    if name == "queue":
        queue_items.look_into(execution)
    execution.perform(INSPECT, state, place)
    execution.observe(state, place)


def _watch_text(class_: Any, kind: str) -> None:
    """The text of a primitive says how it is."""
    original = class_.__repr__

    @patches.method(class_, "__repr__")
    def wrapper(self: Any) -> str:
        execution = controlled()
        if not (execution is None or execution.current.inside or execution.is_alone()):
            frame = _getframe(1)
            state = execution.resources.of(self, kind)
            place = place_of(outside_library(frame))
            execution.perform(INSPECT, state, place)
            execution.observe(state, place)
        text: str = original(self)
        return text


for _primitive in ("Condition", "Event", "Semaphore", "Barrier"):
    _watch_text(getattr(threading, _primitive), _primitive)


def _is_of_another_task(execution: Execution, frame: FrameType) -> bool:
    """Whether a frame is one that another task than the running one is in."""
    for task in execution.alive:
        if task is not execution.current and task.greenlet is not None:
            entered: FrameType | None = task.greenlet.gr_frame
            while entered is not None:
                if entered is frame:
                    return True
                entered = entered.f_back
    return False


def _ask(name: str, place: Any) -> None:
    """The interpreter is asked for what nothing tells of, while others may change it."""
    execution = controlled()
    if execution is not None and not execution.is_alone():
        execution.trace.uncontrolled.assume(f"what {name} gave as it was")


def _assume(what: str) -> None:
    """Something is done of which nobody can tell what comes of it, now or later."""
    execution = controlled()
    if execution is not None:
        execution.trace.uncontrolled.assume(what)


Inspecting.tell = staticmethod(_inspect)
Inspecting.ask = staticmethod(_ask)
Inspecting.assume = staticmethod(_assume)


def look_around(execution: Execution, frame: Any) -> None:
    """A task is about to ask which threads are alive, or whether one was started."""
    if not execution.current.inside and len(execution.all_tasks) > 1:
        _look_around(execution, place_of(outside_library(frame)))


def _look_around(execution: Execution, place: Any) -> None:
    state = execution.resources.state_named("threads", "the threads that are alive", "threads")
    execution.perform(INSPECT, state, place)
    execution.observe(state, place)
    # The answer depends on who has ended, and on whom anybody is still to start.
    # In a service all that has ended may be too much to look at, and is forgotten.
    tasks = execution.alive if execution.settings.is_service else execution.all_tasks
    for task in tasks:
        saw(execution, task.state or execution.resources.thread(task.id))
    for task in execution.alive:
        saw(execution, execution.resources.thread(f"{task.id}.{task.children + 1}"))


def _still_ending(execution: Execution, listed: list[Any]) -> list[Any]:
    """Threads that have left the list of ``threading``, but not ended: until then they count."""
    return [
        task.thread
        for task in execution.alive
        if task.begun
        and isinstance(task.thread, threading.Thread)
        and all(task.thread is not thread for thread in listed)
    ]


_enumerate = threading.enumerate


def _enumerate_threads() -> list[Any]:
    execution = controlled()
    if execution is None:
        return _enumerate()
    look_around(execution, _getframe(1))
    execution.current.inside += 1
    try:
        listed = _enumerate()
    finally:
        execution.current.inside -= 1
    return [*listed, *_still_ending(execution, listed)]


def _active_count() -> int:
    execution = controlled()
    if execution is None:
        return len(_enumerate())
    look_around(execution, _getframe(1))
    execution.current.inside += 1
    try:
        listed = _enumerate()
    finally:
        execution.current.inside -= 1
    return len(listed) + len(_still_ending(execution, listed))


for _name, _function in (("enumerate", _enumerate_threads), ("active_count", _active_count)):
    patches.add(threading, _name, _function)


_frames = sys._current_frames


def _about_to_begin() -> Generator[None]:
    """Its frame stands for those of a thread that was started and has come to no line yet."""
    yield


def _current_frames() -> dict[int, FrameType]:
    execution = controlled()
    if execution is None:
        return _frames()
    caller = _getframe(1)
    look_around(execution, caller)
    found = {ident: frame for ident, frame in _frames().items() if ident != current.thread}
    for task in execution.alive:
        frame: FrameType | None = caller
        if task is not execution.current:
            frame = None if task.greenlet is None else task.greenlet.gr_frame
            while frame is not None and is_own(frame.f_code.co_filename):
                frame = frame.f_back
        beginning: Any = _about_to_begin()
        found[task.ident] = frame or beginning.gi_frame
    return found


patches.add(sys, "_current_frames", _current_frames)

_update_methods = abc.update_abstractmethods


def _update_abstractmethods(cls: Any) -> Any:
    before = getattr(cls, "__abstractmethods__", None)
    updated = _update_methods(cls)
    execution = controlled()
    if (
        execution is not None
        and not execution.is_alone()
        and getattr(cls, "__abstractmethods__", None) != before
    ):
        execution.trace.uncontrolled.assume(_NO_OBJECTS)
    return updated


_NO_OBJECTS = "abc.update_abstractmethods as called while no other task makes objects of the class"
"""Whoever makes one asks whether the class is abstract, and nothing tells of that."""

patches.add(abc, "update_abstractmethods", _update_abstractmethods)

_THREADING = vars(threading)
_GETTERS = (threading.Thread.getName.__code__, threading.Thread.isDaemon.__code__)
"""What the program calls to read a property."""


def _is_of_library(frame: Any) -> bool:
    return frame.f_globals is _THREADING and frame.f_code not in _GETTERS


def _point_at(name: str, kind: Kind, frame: Any) -> None:
    """A task is about to set a property of a thread, or to read it."""
    execution = controlled()
    if execution is None or execution.current.inside or execution.is_alone():
        return
    if kind is SET:
        # From the next execution on, reading one is an operation, too.
        execution.namespaces.add(("Thread", name))
    elif ("Thread", name) not in execution.namespaces or _is_of_library(frame):
        return
    label = f"{name}s of threads"
    state = execution.resources.state_named(label, label, name)
    execution.perform(kind, state, place_of(outside_library(frame)))


def _watch_property(name: str) -> property:
    """Setting a property of threads is an operation, and where some task does so, reading it."""
    original: Any = vars(threading.Thread)[name]

    def get(self: Any) -> Any:
        _point_at(name, INSPECT, _getframe(1))
        return original.__get__(self)

    def set_(self: Any, value: Any) -> None:
        _point_at(name, SET, _getframe(1))
        original.__set__(self, value)

    watched = property(get, set_, doc=original.__doc__)
    patches.add(threading.Thread, name, watched)
    return watched


_watch_property("name")
daemon_property = _watch_property("daemon")
"""What ``Thread.daemon`` is under control, unless the program replaces it."""


def _watch_ident(name: str) -> None:
    """An ident of a thread that there is once it has been started."""
    original: Any = vars(threading.Thread)[name]

    def get(self: Any) -> Any:
        execution = controlled()
        if execution is not None and may_start_elsewhere(execution, self):
            look_around(execution, _getframe(1))
        return original.__get__(self)

    patches.add(threading.Thread, name, property(get, doc=original.__doc__))


for _name in ("ident", "native_id"):
    if _name in vars(threading.Thread):
        _watch_ident(_name)


def may_start_elsewhere(execution: Execution, thread: Any) -> bool:
    """Whether it is another task than the running one that starts a thread, or has started it."""
    if not thread._initialized or execution.current.inside:
        return False
    if not thread._started._flag:
        return True
    index = (thread._ident or 0) - FIRST_IDENT
    if not 0 < index < len(execution.all_tasks):
        return False
    return not _was_started_before(execution.all_tasks[index].id, execution.current.id)


def _was_started_before(other: TaskId, running: TaskId) -> bool:
    """Whether another task was started by the running one, or before that by an ancestor of both.

    Its id says so: it is that of who started it, and how many that one has started.
    """
    starter, _, number = other.rpartition(".")
    if running == starter:
        return True
    if not running.startswith(f"{starter}."):
        return False
    return int(running[len(starter) + 1 :].partition(".")[0]) > int(number)
