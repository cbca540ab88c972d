"""``_thread`` and ``threading.Thread``: starting, joining, identity, exceptions.

The Python code of :class:`threading.Thread` runs as it is; what it asks of
``_thread`` is answered by the execution.
"""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import itertools
import sys
import threading
from collections.abc import Callable
from sys import _getframe
from typing import Any

from bohrbug.accelerator import native, never
from bohrbug.model.operation import BEGIN, IS_ALIVE, JOIN, SPAWN
from bohrbug.runtime.threads.control import (
    controlled,
    current,
    real_allocate_lock,
    real_get_ident,
)
from bohrbug.runtime.threads.direct_start import (
    active_threads,
    can_start_directly,
    run_thread,
    start_directly,
    stop_thread,
)
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.handed_over import HandedOver
from bohrbug.runtime.threads.idents import FIRST_IDENT
from bohrbug.runtime.threads.interpreter import (
    DESCRIBES_UNRAISABLE,
    HANDLE_NAME,
    HAS_CONTEXTS,
    HAS_HANDLES,
    HAS_NATIVE_IDS,
    INHERITS_CONTEXT,
    START_NAME,
)
from bohrbug.runtime.threads.last_task import Company
from bohrbug.runtime.threads.lifecycle import run_prelude, spawn
from bohrbug.runtime.threads.locks import wrap_lock
from bohrbug.runtime.threads.looking import daemon_property, look_around, may_start_elsewhere
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.replacement import as_in_c
from bohrbug.runtime.threads.synchronizers import event_in_c, is_quiet, place_of
from bohrbug.runtime.threads.task import Task, TaskKilled
from bohrbug.runtime.threads.thread_errors import invoke_excepthook, make_invoke_excepthook


class _ThreadPatches(Patches):
    """Gives threads that were not started under control their real handles back."""

    def restore(self) -> None:
        """See :class:`Patches`."""
        if HANDLE_NAME is not None:
            for thread in list(threading._dangling):  # type: ignore[attr-defined]
                handle = vars(thread).get(HANDLE_NAME)
                if isinstance(handle, ThreadHandle) and handle._task is None:
                    setattr(thread, HANDLE_NAME, handle._real)
        super().restore()


patches = _ThreadPatches()

real_start_new_thread = _thread.start_new_thread
real_get_native_id = _thread.get_native_id
# Which of these there are depends on the version of Python.
_real_set_sentinel: Any = getattr(_thread, "_set_sentinel", None)
_real_handle_type: Any = getattr(_thread, "_ThreadHandle", None)
_real_start_joinable_thread: Any = getattr(_thread, "start_joinable_thread", None)
real_count: Callable[[], int] = _thread._count
_Thread = threading.Thread
_Executor: Any = concurrent.futures.thread.ThreadPoolExecutor


def _new_ident(execution: Execution) -> int:
    return FIRST_IDENT + len(execution.all_tasks)


def _label_of(thread: Any) -> str:
    """What a ``Thread`` runs, for people."""
    target = getattr(thread, "_target", None)
    if target is None:
        return f"{type(thread).__qualname__}.run"
    return getattr(target, "__qualname__", None) or type(target).__qualname__


def _describe(function: Any, kwargs: Any) -> tuple[str, str, bool, Any]:
    """Name, target, daemon flag and ``Thread`` object of what is about to start."""
    thread = getattr(function, "__self__", None)
    if isinstance(thread, _Thread):
        return thread._name, _label_of(thread), thread._daemonic, thread  # type: ignore[attr-defined]
    label = getattr(function, "__qualname__", None) or type(function).__qualname__
    return label, label, True, None


_THREADING = vars(threading)
_OURS = globals()


def _caller_outside_threading() -> Any:
    frame = _getframe(2)
    if frame.f_globals is _THREADING or frame.f_globals is _OURS:
        return _outside_threading(frame)
    return frame


def _outside_threading(frame: Any) -> Any:
    while frame.f_globals.get("__name__") in ("threading", __name__) and frame.f_back:
        frame = frame.f_back
    return frame


def _spawn(execution: Execution, function: Any, args: Any, kwargs: Any) -> Task:
    name, target, daemon, thread = _describe(function, kwargs)
    parent = execution.current
    frame = _caller_outside_threading()
    place = place_of(frame)
    if not parent.inside and thread is None:
        state = execution.resources.state_named(f"{parent.id}.{parent.children + 1}", "", "Thread")
        execution.perform(SPAWN, state, place)

    def body() -> None:
        try:
            function(*args, **kwargs)
        except (SystemExit, TaskKilled):
            raise
        except BaseException as error:  # noqa: BLE001  (as the interpreter does)
            is_expected = sys.unraisablehook is not execution.unraisablehook_before
            if not is_expected:
                execution.ending.fail_with_exception(execution.current, error)
            if is_expected or execution.settings.is_service:
                sys.unraisablehook(_Unraisable(error, function))  # type: ignore[arg-type]

    task = spawn(execution, body, place, name, target, daemon, _new_ident(execution))
    if thread is not None:
        task.thread = thread
        run_prelude(execution, task)
    return task


class _Unraisable:
    """What ``sys.unraisablehook`` gets for an exception that left a bare thread."""

    def __init__(self, error: BaseException, function: Any) -> None:
        self.exc_type = type(error)
        self.exc_value = error
        self.exc_traceback = error.__traceback__
        if DESCRIBES_UNRAISABLE:
            self.err_msg: str | None = f"Exception ignored in thread started by {function!r}"
            self.object = None
        else:
            self.err_msg = "Exception ignored in thread started by"
            self.object = function


def start_new_thread(function: Any, args: Any, kwargs: Any = None, /) -> int:
    """Stands for ``_thread.start_new_thread``."""
    execution = controlled()
    if execution is None:
        if kwargs is None:
            return real_start_new_thread(function, args)
        return real_start_new_thread(function, args, kwargs)
    if not callable(function):
        raise TypeError("first arg must be callable")
    if not isinstance(args, tuple):
        raise TypeError("2nd arg must be a tuple")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise TypeError("optional 3rd arg must be a dictionary")
    return _spawn(execution, function, args, kwargs or {}).ident


def get_ident() -> int:
    """Stands for ``_thread.get_ident``: in a task, the ident of the task."""
    execution = current.execution
    ident = real_get_ident()
    if execution is not None and ident == current.thread:
        return execution.current.ident
    return ident


def get_native_id() -> int:
    """Stands for ``_thread.get_native_id``."""
    execution = current.execution
    if execution is not None and real_get_ident() == current.thread:
        task = execution.current
        if task.index:
            return task.ident
    return real_get_native_id()


def count() -> int:
    """Stands for ``_thread._count``: threads that run, without the main one."""
    execution = controlled()
    if execution is None:
        return int(real_count())
    return int(real_count()) + sum(task is not execution.root for task in execution.alive)


# -- the end of a thread, as ``Thread`` sees it ---------------------------------------


def _set_sentinel() -> Any:
    """Python 3.11 and 3.12: a lock that is released when the thread is gone."""
    execution = controlled()
    if execution is None:
        return _real_set_sentinel()
    sentinel = wrap_lock(real_allocate_lock())
    sentinel._internal = True

    def release() -> None:
        if sentinel._real.locked():
            sentinel._reset()
            if sentinel._real.locked():
                sentinel._real.release()

    execution.current.on_end.append(release)
    return sentinel


class ThreadHandle:
    """Python 3.13 on: stands for ``_thread._ThreadHandle``.

    Wraps a real handle; a thread started under control never uses it.
    """

    def __init__(self) -> None:
        self._real: Any = _real_handle_type()
        self._task: Task | None = None
        self._done = False

    @property
    def ident(self) -> int:
        """The ident of the thread."""
        return self._task.ident if self._task is not None else self._real.ident

    def is_done(self) -> bool:
        """Whether the thread is gone."""
        if self._task is not None:
            # Tasks live only in an execution; a forked child is outside of it.
            return self._done or current.execution is None
        return self._done or self._real.is_done()

    def _set_done(self) -> None:
        if self._task is None:
            # Raises if the thread was never started.
            self._real._set_done()
        self._done = True

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the thread."""
        execution = controlled()
        if self._task is None:
            if execution is not None and self._real.ident and not self._real.is_done():
                _join_outside(execution, self._real.is_done, timeout)
                return
            self._real.join(timeout)
            return
        if execution is None or self._done:
            return
        if execution.current is self._task:
            raise RuntimeError("Cannot join current thread")
        execution.perform(
            JOIN, self._task.state, place_of(_getframe(1)), lambda: self._done, timeout
        )
        if Company.falls_silent:
            Company.has_left(execution)


def _join_outside(execution: Execution, done: Callable[[], bool], timeout: float | None) -> None:
    """Wait for a thread that runs outside our control."""
    execution.trace.uncontrolled.note("joined a thread that was started outside the test")
    state = execution.resources.state_named("outside", "a thread outside our control", "Thread")
    execution.perform(JOIN, state, place_of(_getframe(2)), done, timeout, external=True)


def start_joinable_thread(function: Any, handle: Any = None, daemon: bool = True) -> Any:
    """Stands for ``_thread.start_joinable_thread`` (Python 3.13 on)."""
    execution = controlled()
    if not callable(function):
        raise TypeError("thread function must be callable")
    if handle is None:
        handle = ThreadHandle()
    if execution is None:
        real = handle._real if isinstance(handle, ThreadHandle) else handle
        _real_start_joinable_thread(function, handle=real, daemon=daemon)
        return handle
    if not isinstance(handle, ThreadHandle):
        raise TypeError("'handle' must be a _ThreadHandle")
    if handle._task is not None:
        raise RuntimeError("thread already started")
    name, target, _, thread = _describe(function, None)
    frame = _caller_outside_threading()
    task = spawn(execution, function, place_of(frame), name, target, daemon, _new_ident(execution))
    handle._task = task
    task.on_end.append(handle._set_done)
    if thread is not None:
        task.thread = thread
        run_prelude(execution, task)
    return handle


# -- Thread --------------------------------------------------------------------------

_thread_start = _Thread.start
_thread_join = _Thread.join
_thread_is_alive = _Thread.is_alive


def _handle_of(thread: Any) -> ThreadHandle:
    """The handle of a thread that is being started, which may have been made without control."""
    assert HANDLE_NAME is not None
    handle = getattr(thread, HANDLE_NAME)
    if not isinstance(handle, ThreadHandle):
        handle = ThreadHandle()
        setattr(thread, HANDLE_NAME, handle)
    return handle


def _join_handle_to_task(thread: Any, task: Task) -> None:
    handle = _handle_of(thread)
    handle._task = task
    task.on_end.append(handle._set_done)


_start_in_c, _join_in_c = (
    (never, never)
    if native is None
    else native.use_threads(
        _Thread,
        _THREADING,
        _OURS,
        active_threads,
        run_thread,
        stop_thread,
        _join_handle_to_task,
        real_allocate_lock,
        SPAWN,
        BEGIN,
        JOIN,
        as_in_c(start_joinable_thread if HAS_HANDLES else start_new_thread, _THREADING[START_NAME]),
        START_NAME,
        FIRST_IDENT,
        HAS_NATIVE_IDS,
        HAS_HANDLES,
        HAS_CONTEXTS,
        INHERITS_CONTEXT,
    )
)


@patches.method(_Thread, "start")
def _start(self: Any) -> None:
    if _start_in_c(self):
        return
    execution = controlled()
    if execution is None:
        _thread_start(self)
        return
    task = execution.current
    if self._initialized and not self._started._flag:
        place = place_of(_caller_outside_threading())
        target = getattr(self, "_target", None)
        if target is not None:
            self._target = HandedOver.telling(target)
        if isinstance(self, threading.Timer):
            self.function = HandedOver.telling(self.function)
        if not task.inside:
            state = execution.resources.thread(f"{task.id}.{task.children + 1}")
            execution.perform(SPAWN, state, place)
        # Unless another task has started it meanwhile.
        if not self._started._flag and can_start_directly(self):
            ident = _new_ident(execution)
            start_directly(execution, self, place, ident, _label_of(self), _join_handle_to_task)
            return
        if HAS_HANDLES and not self._started._flag:
            _handle_of(self)
    task.inside += 1
    try:
        _thread_start(self)
    finally:
        task.inside -= 1


def _task_of(execution: Execution, thread: Any) -> Task | None:
    ident = thread._ident
    if ident is None:
        return None
    index = ident - FIRST_IDENT
    if 0 < index < len(execution.all_tasks):
        task: Task = execution.all_tasks[index]
        # The ident may be one of an earlier execution.
        known = task.thread
        if known is thread or (task.ended and known is not None and known() is thread):
            return task
    return None


@patches.method(_Thread, "join")
def _join(self: Any, timeout: float | None = None) -> None:
    if timeout is None and _join_in_c(self):
        if Company.falls_silent:
            Company.has_left(current.execution)
        return
    execution = controlled()
    if execution is None or not self._initialized:
        _thread_join(self, timeout)
        return
    frame = _getframe(1)
    task = execution.current
    if not is_quiet(execution, frame) and may_start_elsewhere(execution, self):
        look_around(execution, frame)
    joined = _task_of(execution, self)
    if joined is None or joined is task or not self._started._flag:
        if joined is None and self._started._flag and self is not threading.main_thread():
            _join_outside(execution, lambda: not _thread_is_alive(self), timeout)
        _thread_join(self, timeout)
        return
    if timeout is not None and timeout <= 0:
        if not task.inside:
            execution.perform(IS_ALIVE, joined.state, place_of(frame))
            if not joined.ended:
                execution.observe(joined.state, place_of(frame))
    else:
        execution.perform(JOIN, joined.state, place_of(frame), joined.has_ended, timeout)
    if Company.falls_silent:
        Company.has_left(execution)
    if joined.ended and joined.started_directly:
        # What the original would do now has been done at the end of the task.
        return
    task.inside += 1
    try:
        _thread_join(self, timeout if joined.ended else 0)
    finally:
        task.inside -= 1


@patches.method(_Thread, "is_alive")
def _is_alive(self: Any) -> bool:
    execution = controlled()
    if execution is None:
        return _thread_is_alive(self)
    _look_whether_alive(execution, self, _getframe(1))
    task = execution.current
    task.inside += 1
    try:
        return _thread_is_alive(self)
    finally:
        task.inside -= 1


def _look_whether_alive(execution: Execution, thread: Any, frame: Any) -> None:
    """A task is about to ask whether a thread was started, and whether it has ended."""
    if is_quiet(execution, frame):
        return
    if may_start_elsewhere(execution, thread):
        look_around(execution, frame)
    other = _task_of(execution, thread) if thread._initialized else None
    if other is not None:
        execution.perform(IS_ALIVE, other.state, place_of(frame))
        execution.observe(other.state, place_of(frame))


_thread_repr = _Thread.__repr__


@patches.method(_Thread, "__repr__")
def _repr(self: Any) -> str:
    execution = controlled()
    if execution is not None and not execution.current.inside:
        frame = _getframe(1)
        if execution.current.thread is not self:
            _look_whether_alive(execution, self, frame)
    return _thread_repr(self)


_thread_init = _Thread.__init__


def _making_in_c() -> Callable[..., bool]:
    """What makes an ordinary thread under control in C, and says whether it has."""
    if event_in_c is None:
        return never
    usual = {
        name: _THREADING[name] for name in ("_newname", "current_thread", "Event", "_dangling")
    }
    usual["_make_invoke_excepthook"] = make_invoke_excepthook
    usual["get_ident"] = as_in_c(get_ident, _THREADING["get_ident"])
    make: Callable[..., bool] | None = native.use_thread_parts(
        _Thread,
        Task,
        tuple(vars(_Thread(target=never, name="any"))),
        usual,
        vars(sys),
        active_threads,
        daemon_property,
        invoke_excepthook,
    )
    return never if make is None else make


_thread_in_c = _making_in_c()


@patches.method(_Thread, "__init__")
def _init(
    self: Any,
    group: None = None,
    target: Any = None,
    name: Any = None,
    args: Any = (),
    kwargs: Any = None,
    **others: Any,
) -> None:
    if HAS_CONTEXTS and others.get("context") is not None and controlled() is not None:
        others["context"] = HandedOver.entering(others["context"])
    is_ordinary = group is None and len(others) == ("daemon" in others) + (
        HAS_CONTEXTS and "context" in others
    )
    if not is_ordinary or not _thread_in_c(
        self, target, name, args, kwargs, others.get("daemon"), others.get("context")
    ):
        _thread_init(self, group, target, name, args, kwargs, **others)


class ThreadNames:
    """Default names of threads and of executors' workers begin alike in every execution."""

    def __init__(self) -> None:
        self._counter: Any = None
        self._executors = 0
        self._executor_counter: Any = None

    def begin(self) -> None:
        """Before an execution."""
        self._counter = threading._counter  # type: ignore[attr-defined]
        threading._counter = itertools.count(1).__next__  # type: ignore[attr-defined]
        self._executors = -1
        if self._executor_counter is None:
            # Changing a class takes longer: it is done once, see close.
            self._executor_counter = vars(_Executor)["_counter"]
            _Executor._counter = self._next_executor

    def _next_executor(self) -> int:
        if controlled() is None:
            number: int = self._executor_counter()
            return number
        self._executors += 1
        return self._executors

    def end(self) -> None:
        """After an execution."""
        threading._counter = self._counter  # type: ignore[attr-defined]

    def close(self) -> None:
        """After the last execution."""
        if self._executor_counter is not None:
            _Executor._counter = self._executor_counter
            self._executor_counter = None


patches.add(threading, "_make_invoke_excepthook", make_invoke_excepthook)
patches.add(_thread, "start_new_thread", start_new_thread)
patches.add(_thread, "start_new", start_new_thread)
patches.add(_thread, "_count", count)
patches.add(_thread, "get_ident", get_ident)
patches.add(_thread, "get_native_id", get_native_id)
patches.add(threading, "get_ident", get_ident)
patches.add(threading, "get_native_id", get_native_id)
if HAS_HANDLES:
    patches.add(_thread, "start_joinable_thread", start_joinable_thread)
    patches.add(_thread, "_ThreadHandle", ThreadHandle)
    patches.add(threading, "_start_joinable_thread", start_joinable_thread)
    patches.add(threading, "_ThreadHandle", ThreadHandle)
else:
    patches.add(_thread, "_set_sentinel", _set_sentinel)
    patches.add(threading, "_set_sentinel", _set_sentinel)
    patches.add(threading, "_start_new_thread", start_new_thread)
