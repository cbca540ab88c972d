"""``concurrent.futures``: each call on a future or an executor is one operation."""

from __future__ import annotations

import concurrent.futures._base as base
import concurrent.futures.thread as pool
import threading
import weakref
from collections.abc import Callable
from sys import _getframe
from types import FrameType
from typing import Any

from bohrbug.model.operation import ADD_CALLBACK, INSPECT, JOIN, PUT, RESULT, SHUTDOWN, kind_named
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads import kept_errors, thread_functions
from bohrbug.runtime.threads.control import controlled, outside_library
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.handed_over import HandedOver
from bohrbug.runtime.threads.interpreters import runs_elsewhere
from bohrbug.runtime.threads.last_task import Company
from bohrbug.runtime.threads.locks import RLock
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.queues import SimpleQueue
from bohrbug.runtime.threads.quiet_sets import QuietSet
from bohrbug.runtime.threads.synchronizers import _registering, is_quiet, place_of
from bohrbug.runtime.threads.task import Task

patches = Patches()

_DONE = (base.CANCELLED, base.CANCELLED_AND_NOTIFIED, base.FINISHED)
_Future = base.Future
_Executor = pool.ThreadPoolExecutor
_registering(_Future, "Future")


_initialise_executor = _Executor.__init__


def _initialise(
    self: Any,
    max_workers: Any = None,
    thread_name_prefix: Any = "",
    initializer: Any = None,
    initargs: Any = (),
    **others: Any,
) -> None:
    if callable(initializer) and controlled() is not None and not runs_elsewhere(self):
        initializer = HandedOver.telling(initializer)
    _initialise_executor(self, max_workers, thread_name_prefix, initializer, initargs, **others)


_registering(_Executor, "ThreadPoolExecutor", initialise=_initialise)


def _is_free(self: Any, task: Task) -> bool:
    """Whether ``task`` may enter the future: its re-entrant lock is free, or the task's own."""
    lock = getattr(self._condition, "_lock", None)
    if not isinstance(lock, RLock):
        return True
    return not lock._real.locked() or lock._ident == task.ident


def _place_from(frame: FrameType) -> Any:
    """The place in the program from which ``concurrent.futures`` was called, or that in itself."""
    return place_of(outside_library(frame))


def _wrap(owner: Any, name: str, kind: Any, looks: bool = False) -> None:
    """One scheduling point, then the original; callbacks run by it are points again."""
    original = getattr(owner, name)

    @patches.method(owner, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is None:
            return original(self, *args, **kwargs)
        task = execution.current
        frame = _getframe(1)
        # wait() and as_completed() look at futures whose locks they hold.
        quiet = task.inside or (looks and is_quiet(execution, frame))
        if not quiet:
            state = execution.resources.of(self, owner.__name__)
            place = _place_from(frame)
            if owner is _Future:
                execution.perform(kind, state, place, lambda: _is_free(self, task))
            else:
                execution.perform(kind, state, place)
            if looks:
                execution.observe(state, place)
        task.inside += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            task.inside -= 1


_add_done_callback = _Future.add_done_callback


@patches.method(_Future, "add_done_callback")
def add_done_callback(self: Any, fn: Callable[[Any], object]) -> None:
    """Stands for ``Future.add_done_callback``."""
    execution = controlled()
    if execution is None:
        _add_done_callback(self, fn)
        return
    task = execution.current
    if not task.inside:
        execution.perform(
            ADD_CALLBACK,
            execution.resources.of(self, "Future"),
            _place_from(_getframe(1)),
            lambda: _is_free(self, task),
        )
    if self._state in _DONE:
        # It is called at once, and is code of the program. The state of a future that is done does
        # not change any more, and its lock is quiet.
        _add_done_callback(self, HandedOver.telling(fn))
        return
    task.inside += 1
    try:
        _add_done_callback(self, fn)
    finally:
        task.inside -= 1


def _wrap_waiting(name: str) -> None:
    original = getattr(_Future, name)

    @patches.method(_Future, name)
    def wrapper(self: Any, timeout: float | None = None) -> Any:
        try:
            execution = controlled()
            if execution is None:
                return original(self, timeout)
            task = execution.current
            frame = _getframe(1)

            def ready() -> bool:
                return self._state in _DONE and _is_free(self, task)

            # Also where a module of the library calls: whether there is a step must not depend on
            # how far the others are.
            if not (task.inside and ready()):
                state = execution.resources.of(self, "Future")
                place = _place_from(frame)
                if timeout is None or timeout > 0:
                    execution.perform(RESULT, state, place, ready, timeout)
                elif not task.inside:
                    execution.perform(INSPECT, state, place, lambda: _is_free(self, task))
                    execution.observe(state, place)
            if self._state in _DONE:
                kept_errors.ask(self)
            task.inside += 1
            try:
                return original(self, 0 if timeout is not None else None)
            finally:
                task.inside -= 1
        finally:
            # The exception of the future has this frame in its traceback: a cycle, as the original
            # knows, too.
            self = None


for _name, _kind in wrapped_alike("concurrent.futures._base:Future", CONTROL):
    if _kind == "result":
        _wrap_waiting(_name)
    else:
        _wrap(_Future, _name, kind_named(_kind), looks=_kind == "inspect")

_invoke_callbacks = _Future._invoke_callbacks  # type: ignore[attr-defined]


@patches.method(_Future, "_invoke_callbacks")
def _invoke(self: Any) -> None:
    execution = controlled()
    if execution is not None:
        kept_errors.keep(execution, self)
    _outside(_invoke_callbacks, self)


def _outside(function: Callable[..., Any], *args: Any) -> Any:
    """Run code of the program that a modelled primitive calls back."""
    execution = controlled()
    if execution is None:
        return function(*args)
    task = execution.current
    inside, task.inside = task.inside, 0
    try:
        return function(*args)
    finally:
        task.inside = inside


_submit = _Executor.submit


@patches.method(_Executor, "submit")
def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stands for ``ThreadPoolExecutor.submit``."""
    if not self._threads:
        lasting_executors.add(self)
    execution = controlled()
    if execution is None:
        return _submit(self, fn, *args, **kwargs)
    task = execution.current
    if not task.inside:
        execution.perform(
            PUT,
            execution.resources.of(self, "ThreadPoolExecutor"),
            _place_from(_getframe(1)),
        )
    task.inside += 1
    try:
        target = fn if runs_elsewhere(self) else HandedOver.telling(fn)
        return _submit(self, target, *args, **kwargs)
    finally:
        task.inside -= 1


def _has_ended(task: Any) -> Callable[[], bool]:
    return lambda: bool(task.ended)


_shutdown = _Executor.shutdown


@patches.method(_Executor, "shutdown")
def shutdown(self: Any, wait: bool = True, *, cancel_futures: bool = False) -> None:
    """Stands for ``ThreadPoolExecutor.shutdown``."""
    lasting_executors.forget(self)
    execution = controlled()
    if execution is None:
        _shutdown(self, wait, cancel_futures=cancel_futures)
        return
    task = execution.current
    place = _place_from(_getframe(1))
    state = execution.resources.of(self, "ThreadPoolExecutor")
    if not task.inside:
        execution.perform(SHUTDOWN, state, place)
    task.inside += 1
    try:
        _shutdown(self, False, cancel_futures=cancel_futures)
    finally:
        task.inside -= 1
    if wait:
        for thread in list(self._threads):
            worker = thread_functions._task_of(execution, thread)
            if worker is not None and worker is not task:
                execution.perform(JOIN, worker.state, place, _has_ended(worker))
            else:
                thread.join()
        if Company.falls_silent:
            Company.has_left(execution)


class LastingExecutors:
    """Executors that live from one execution to the next: each begins without workers.

    Their worker threads of one execution do not exist in the next one, and real
    ones, started outside, would run without control.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakSet[Any] = QuietSet()
        # Most tests have no executors; asking the set takes longer.
        self._is_used = False
        self._saved: list[tuple[Any, dict[str, Any]]] = []

    def add(self, executor: Any) -> None:
        """Take care of an executor."""
        self._known.add(executor)
        self._is_used = True

    def forget(self, executor: Any) -> None:
        """It is shut down."""
        self._known.discard(executor)

    def begin(self) -> None:
        """Before an execution: hide the workers there are."""
        if not self._is_used:
            return
        for executor in self._known:
            if not executor._shutdown:
                names = ("_threads", "_idle_semaphore", "_work_queue", "_broken", "_shutdown")
                self._saved.append((executor, {name: getattr(executor, name) for name in names}))
                _lose_workers(executor)

    def end(self) -> None:
        """After an execution: put back what was there, and keep what was made in it."""
        if not self._is_used:
            return
        for executor, saved in self._saved:
            self._known.add(executor)
            for name, value in saved.items():
                setattr(executor, name, value)
        if len(self._known) > len(self._saved):
            older = [executor for executor, _ in self._saved]
            for executor in self._known:
                if executor not in older:
                    # Its workers have ended as they do when the interpreter exits.
                    _lose_workers(executor)
                    executor._shutdown = False
        self._saved.clear()
        self._is_used = len(self._known) > 0


def _lose_workers(executor: Any) -> None:
    executor._threads = set()
    executor._idle_semaphore = threading.Semaphore(0)
    executor._work_queue = SimpleQueue()


lasting_executors = LastingExecutors()
"""Those of this process."""


def _workers(execution: Execution) -> dict[Any, Any]:
    """The live worker tasks of executors, with the queue each one takes work from."""
    found = {}
    for thread, work_queue in list(pool._threads_queues.items()):
        task = thread_functions._task_of(execution, thread)
        if task is not None and not task.ended:
            found[task] = work_queue
    return found


def _wake_up_workers(execution: Execution) -> None:
    for work_queue in _workers(execution).values():
        work_queue._real.put(None)


def let_workers_end(execution: Execution) -> None:
    """What the interpreter does for executors at its exit: wait for work, then end workers.

    Without it every test that does not shut down its executor would leave
    threads that wait for ever.
    """
    # Without their queues: in this frame they would live on until the task is told to leave it.
    workers = frozenset(_workers(execution))
    if not workers:
        return

    def idle() -> bool:
        return all(
            task.daemon
            or task is execution.root
            or (task in workers and task.ready is not None and not task.ready())
            for task in execution.alive
        )

    execution.ending.wait_for_the_rest(idle)
    pool._shutdown = True
    try:
        _wake_up_workers(execution)
        execution.ending.wait_for_the_rest(
            lambda: not any(task in workers for task in execution.alive)
        )
    finally:
        pool._shutdown = False
