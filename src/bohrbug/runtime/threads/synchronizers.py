"""``Condition``, ``Event``, ``Semaphore``, ``Barrier``: each call is one operation.

The classes of :mod:`threading` stay what they are; only their methods are
wrapped, so that subclasses, existing objects and existing references work.
Each wrapper is a scheduling point that waits until the original would not
block, and then lets the original run, within which nothing is one.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import thread as executors
from sys import _getframe
from types import CodeType, FrameType
from typing import Any, cast

from bohrbug.accelerator import native
from bohrbug.model.operation import (
    ACQUIRE,
    CLEAR,
    IS_SET,
    NOTIFY,
    RELEASE,
    SET,
    TRY_ACQUIRE,
    WAIT,
    WAKE,
    kind_named,
)
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import (
    INTERNAL_MODULES,
    controlled,
    current,
    is_unseen,
    outside_internal_modules,
    outside_library,
    real_allocate_lock,
)
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.handed_over import HandedOver
from bohrbug.runtime.threads.lifecycle import end_prelude
from bohrbug.runtime.threads.locks import _Lock, free_predicate
from bohrbug.runtime.threads.locks import lock as lock_type
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.recording import note_gate, touch
from bohrbug.runtime.threads.task import TaskKilled

patches = Patches()

_THREADING = vars(threading)


def _codes_that_call_targets() -> frozenset[CodeType]:
    """Code of internal modules that calls what the program has given it to be called."""
    functions = [threading.Thread.run, threading.Timer.run, executors._WorkItem.run]
    # From Python 3.14 on a worker has its context do it.
    context: Any = getattr(executors, "WorkerContext", None)
    if context is not None:
        functions += [context.run, context.initialize]
    return frozenset(function.__code__ for function in functions)


_CALLING_TARGETS = _codes_that_call_targets()


def is_quiet(execution: Execution, frame: Any) -> bool:
    """Whether an operation called from ``frame`` is no scheduling point of its own."""
    if execution.current.inside:
        return True
    if frame.f_globals.get("__name__") not in INTERNAL_MODULES:
        return False
    # ``Thread(target=semaphore.acquire)`` is an operation of the program.
    return frame.f_code not in _CALLING_TARGETS


def place_of(frame: Any) -> Any:
    """The place of the instruction that ``frame`` executes."""
    return (frame.f_code, frame.f_lasti)


_EXECUTORS = "concurrent.futures."
_PARTS = ("Event", "Semaphore")
"""Primitives of these modules that tasks of the program wait for: they get ids, too."""


def _registering(
    cls: type,
    type_name: str,
    make_in_c: Callable[[Any], bool] | None = None,
    initialise: Callable[..., None] | None = None,
) -> None:
    """Let objects of ``cls`` get their deterministic id when the program makes them.

    Parameters:
        cls: of the objects.
        type_name: how reports call it.
        make_in_c: makes an object if it is a part of another, and says whether it has.
        initialise: called in place of its ``__init__``, which it has to call.
    """
    original: Callable[..., None] = initialise or cls.__init__  # type: ignore[misc]

    @patches.method(cls, "__init__")
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if make_in_c is not None and make_in_c(self):
            return
        execution = current.execution
        if execution is None or _getframe(1).f_globals is _THREADING:
            # A part of another primitive; or it is not made under control.
            original(self, *args, **kwargs)
            return
        if not is_unseen():
            frame = _getframe(1)
            if type_name == "Future":
                # Made by an executor on behalf of who submits.
                frame = outside_library(outside_internal_modules(frame))
            module = str(frame.f_globals.get("__name__"))
            is_part = type_name in _PARTS and module.startswith(_EXECUTORS)
            if module not in INTERNAL_MODULES or is_part:
                task = execution.current
                execution.resources.register(self, task, type_name, place_of(frame))
                task.inside += 1
                try:
                    original(self, *args, **kwargs)
                finally:
                    task.inside -= 1
                if type_name == "Condition":
                    _adopt_own_lock(self, execution, place_of(frame))
                return
        original(self, *args, **kwargs)


def _adopt_own_lock(condition: Any, execution: Execution, place: Any) -> None:
    """A lock that a condition made for itself is used by the program, through it."""
    lock = condition._lock
    if isinstance(lock, _Lock) and lock._internal:
        lock._lend()
        lock._register(execution, place)


# -- Condition ---------------------------------------------------------------------

_Condition = threading.Condition
_condition_wait = _Condition.wait
_condition_notify = _Condition.notify
_condition_enter = _Condition.__enter__
_condition_exit = _Condition.__exit__
_registering(_Condition, "Condition")


def _function_begins() -> None:
    """These methods are written in Python, where a build with the GIL can switch threads."""
    execution = controlled()
    if execution is not None:
        execution.current.breakable = True


@patches.method(_Condition, "__enter__")
def _enter(self: Any) -> Any:
    lock = self._lock
    if isinstance(lock, _Lock):
        _function_begins()
        return lock._acquire(_getframe(1), True, -1)
    return _condition_enter(self)


@patches.method(_Condition, "__exit__")
def _exit(self: Any, *exc_info: Any) -> Any:
    lock = self._lock
    if isinstance(lock, _Lock):
        _function_begins()
        return lock._release(_getframe(1))
    return _condition_exit(self, *exc_info)


@patches.method(_Condition, "wait")
def _wait(self: Any, timeout: float | None = None) -> bool:
    execution = controlled()
    if execution is None:
        return _condition_wait(self, timeout)
    if not self._is_owned():
        raise RuntimeError("cannot wait on un-acquired lock")
    frame = _getframe(1)
    state = execution.resources.of(self, "Condition")
    task = execution.current
    if frame.f_globals is _THREADING:
        # Within wait_for() or a barrier.
        place = place_of(outside_library(frame))
    else:
        place = place_of(frame)
        if not is_quiet(execution, frame):
            execution.perform(WAIT, state, place)
    waiter = real_allocate_lock()
    waiter.acquire()
    self._waiters.append(waiter)
    task.inside += 1
    try:
        saved = self._release_save()
    finally:
        task.inside -= 1
    notified = False
    lock_is_free = free_predicate(self._lock)

    def ready() -> bool:
        return not waiter.locked() and (lock_is_free is None or lock_is_free())

    try:
        if timeout is not None and timeout <= 0:
            notified = not waiter.locked()
        else:
            notified = execution.perform(WAKE, state, place, ready, timeout)
    finally:
        if not execution.aborting:
            task.inside += 1
            try:
                self._acquire_restore(saved)
            finally:
                task.inside -= 1
        else:
            _restore_quietly(self, saved)
        if not notified:
            try:
                self._waiters.remove(waiter)
            except ValueError:
                # A notify came between the timeout and now; CPython loses it too.
                notified = False
    return notified


def _restore_quietly(condition: Any, saved: Any) -> None:
    """At the end of an execution: own the lock if it is free, so that ``with`` can leave it."""
    try:
        condition._acquire_restore(saved)
    except TaskKilled:
        return


@patches.method(_Condition, "notify")
def _notify(self: Any, n: int = 1) -> None:
    execution = controlled()
    if execution is None:
        _condition_notify(self, n)
        return
    frame: Any = _getframe(1)
    task = execution.current
    if frame.f_code is _notify_all_code:
        frame = frame.f_back
    if not is_quiet(execution, frame) and self._is_owned():
        execution.perform(NOTIFY, execution.resources.of(self, "Condition"), place_of(frame))
    else:
        known = execution.resources.known(self)
        if known is not None and known.type == "Barrier":
            # The last one has called the action: who is woken comes after that.
            touch(execution, known)
    task.inside += 1
    try:
        _condition_notify(self, n)
    finally:
        task.inside -= 1


_notify_all_code = _Condition.notify_all.__code__

# -- Event ---------------------------------------------------------------------------

_Event = threading.Event
_event_set = _Event.set
_event_clear = _Event.clear
_event_wait = _Event.wait


def _making_in_c() -> Callable[[Any], bool] | None:
    """Makes events of ``threading`` itself in C, if they are made as we know them."""
    condition = _Condition(cast(Any, lock_type()))
    parts = dict(vars(condition))
    own_lock, waiters = parts.pop("_lock", None), parts.pop("_waiters", None)
    is_known = (
        vars(_Event()).keys() == {"_cond", "_flag"}
        and own_lock is not None
        and type(waiters) is deque
        and all(getattr(part, "__self__", None) is own_lock for part in parts.values())
    )
    if native is None or not is_known:
        return None
    names = tuple(parts)
    (make,) = native.use_parts(
        _Event, _Condition, lock_type, _THREADING, names, deque, real_allocate_lock
    )
    return cast(Callable[[Any], bool], make)


event_in_c = _making_in_c()
"""Makes an event if ``threading`` does so, and says whether it has; ``None``: nothing does in C."""

_registering(_Event, "Event", event_in_c)


_timer_cancel_code = threading.Timer.cancel.__code__


@patches.method(_Event, "set")
def _set(self: Any) -> None:
    execution = controlled()
    if execution is None:
        _event_set(self)
        return
    frame: Any = _getframe(1)
    task = execution.current
    if task.prelude_of is not None:
        # A new thread tells its starter that it runs.
        task.inside += 1
        try:
            _event_set(self)
        finally:
            task.inside -= 1
        end_prelude(execution, task)
        return
    if frame.f_code is _timer_cancel_code:
        frame = frame.f_back
    if not is_quiet(execution, frame):
        execution.perform(SET, execution.resources.of(self, "Event"), place_of(frame))
    else:
        touch(execution, execution.resources.known(self))
    task.inside += 1
    try:
        _event_set(self)
    finally:
        task.inside -= 1


@patches.method(_Event, "clear")
def _clear(self: Any) -> None:
    execution = controlled()
    if execution is None:
        _event_clear(self)
        return
    frame = _getframe(1)
    task = execution.current
    if not is_quiet(execution, frame):
        execution.perform(CLEAR, execution.resources.of(self, "Event"), place_of(frame))
    task.inside += 1
    try:
        _event_clear(self)
    finally:
        task.inside -= 1


def _look_at(event: Any, frame: FrameType) -> bool:
    execution = controlled()
    if execution is not None and not is_quiet(execution, frame):
        state = execution.resources.of(event, "Event")
        place = place_of(frame)
        execution.perform(IS_SET, state, place)
        execution.observe(state, place)
    return event._flag  # type: ignore[no-any-return]


@patches.method(_Event, "is_set")
def _is_set(self: Any) -> bool:
    return _look_at(self, _getframe(1))


@patches.method(_Event, "isSet")
def _is_set_by_its_old_name(self: Any) -> bool:
    message = "isSet() is deprecated, use is_set() instead"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return _look_at(self, _getframe(1))


@patches.method(_Event, "wait")
def _event_wait_(self: Any, timeout: float | None = None) -> bool:
    execution = controlled()
    if execution is None:
        return _event_wait(self, timeout)
    if timeout is not None and timeout <= 0:
        frame = _getframe(1)
        if not is_quiet(execution, frame):
            state = execution.resources.of(self, "Event")
            execution.perform(IS_SET, state, place_of(frame))
            execution.observe(state, place_of(frame))
        return self._flag  # type: ignore[no-any-return]
    if self._flag and execution.current.inside:
        return True
    frame = _getframe(1)
    execution.perform(
        WAIT,
        execution.resources.of(self, "Event"),
        place_of(outside_library(frame)),
        lambda: self._flag,
        timeout,
    )
    return self._flag  # type: ignore[no-any-return]


# -- Semaphore -------------------------------------------------------------------------

_Semaphore = threading.Semaphore
_BoundedSemaphore = threading.BoundedSemaphore
_semaphore_acquire = _Semaphore.acquire
_registering(_Semaphore, "Semaphore")
# Its own __init__ calls that of the other as a part of it.
_registering(threading.BoundedSemaphore, "BoundedSemaphore")


def _is_unlocked(condition: Any) -> bool:
    """Whether nobody holds the lock inside a primitive (a test may take it directly)."""
    lock = condition._lock
    return not (isinstance(lock, _Lock) and lock._real.locked())


@patches.method(_Semaphore, "acquire")
def _acquire(self: Any, blocking: bool = True, timeout: float | None = None) -> bool:
    execution = controlled()
    if execution is None:
        return _semaphore_acquire(self, blocking, timeout)
    if not blocking and timeout is not None:
        raise ValueError("can't specify timeout for non-blocking acquire")
    frame = _getframe(1)
    task = execution.current
    state = execution.resources.of(self, "Semaphore")
    place = place_of(frame)
    if not blocking or (timeout is not None and timeout <= 0):
        if not is_quiet(execution, frame):
            execution.perform(TRY_ACQUIRE, state, place)
            note_gate(execution, self._value > 0, True, False)
            if self._value <= 0:
                execution.observe(state, place)
        else:
            touch(execution, execution.resources.known(self))
    elif not (self._value > 0 and is_quiet(execution, frame)):

        def ready() -> bool:
            return self._value > 0 and _is_unlocked(self._cond)

        acquired = execution.perform(ACQUIRE, state, place, ready, timeout)
        note_gate(execution, self._value > 0, True, True)
        if not acquired:
            return False
    task.inside += 1
    try:
        return _semaphore_acquire(self, False)
    finally:
        task.inside -= 1


patches.add(_Semaphore, "__enter__", _acquire)


def _wrap_semaphore_release(cls: Any) -> None:
    original = cls.release

    @patches.method(cls, "release")
    def release(self: Any, n: int = 1) -> None:
        execution = controlled()
        if execution is None:
            original(self, n)
            return
        frame: Any = _getframe(1)
        if frame.f_code is _semaphore_exit_code:
            frame = frame.f_back
        task = execution.current
        if not is_quiet(execution, frame):
            execution.perform(RELEASE, execution.resources.of(self, "Semaphore"), place_of(frame))
            note_gate(execution, self._value > 0, True, False)
        else:
            touch(execution, execution.resources.known(self))
        task.inside += 1
        try:
            original(self, n)
        finally:
            task.inside -= 1


_semaphore_exit_code = _Semaphore.__exit__.__code__
_wrap_semaphore_release(_Semaphore)
_wrap_semaphore_release(_BoundedSemaphore)

# -- Barrier ---------------------------------------------------------------------------

_Barrier = threading.Barrier
_registering(_Barrier, "Barrier")


def _wrap_barrier(name: str, kind: Any) -> None:
    """The original's own waiting on its condition blocks; the entry is the scheduling point."""
    original = getattr(_Barrier, name)

    @patches.method(_Barrier, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is None:
            return original(self, *args, **kwargs)
        frame = _getframe(1)
        state = execution.resources.of(self, "Barrier")
        execution.resources.share(self._cond, state)
        if self._action is not None:
            self._action = HandedOver.telling(self._action)
        if not is_quiet(execution, frame):
            execution.perform(kind, state, place_of(frame))
        return original(self, *args, **kwargs)


for _name, _kind in wrapped_alike("threading:Barrier", CONTROL):
    _wrap_barrier(_name, kind_named(_kind))

# -- Timer -----------------------------------------------------------------------------

_Timer = threading.Timer
_timer_init = _Timer.__init__


@patches.method(_Timer, "__init__")
def _init_timer(self: Any, *args: Any, **kwargs: Any) -> None:
    _timer_init(self, *args, **kwargs)
    execution = controlled()
    if execution is not None:
        # What a timer waits for and what cancels it is its event.
        place = place_of(outside_library(_getframe(1)))
        execution.resources.register(self.finished, execution.current, "Timer", place)
