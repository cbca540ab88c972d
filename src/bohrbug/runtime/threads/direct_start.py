"""Starting a ``threading.Thread`` as a task without the hand-shake of real threads.

The Python code of ``Thread`` makes, takes and waits for half a dozen locks to
tell its starter that the new thread runs.  In one OS thread nobody could see it
half started, so that the same state is set at once.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from types import MethodType
from typing import Any

from bohrbug.runtime.threads.control import real_allocate_lock
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.interpreter import (
    HAS_CONTEXTS,
    HAS_HANDLES,
    HAS_NATIVE_IDS,
    INHERITS_CONTEXT,
    START_NAME,
)
from bohrbug.runtime.threads.lifecycle import spawn
from bohrbug.runtime.threads.task import Task
from bohrbug.runtime.threads.tracing import has_hooks, traced

_Thread = threading.Thread
_ORIGINALS = tuple(vars(_Thread)[name] for name in ("_bootstrap", "_bootstrap_inner", "_delete"))


active_threads: dict[int, Any] = threading._active  # type: ignore[attr-defined]


def run_thread(thread: Any) -> None:
    """What the task of a thread does."""
    try:
        try:
            if HAS_CONTEXTS:
                thread._context.run(thread.run)
            else:
                thread.run()
        except:  # noqa: E722  (as Thread._bootstrap_inner does)
            thread._invoke_excepthook(thread)
    finally:
        if threading.get_ident.__module__ == "_thread":
            active_threads.pop(thread._ident, None)
        else:
            # A program that has put a function of its own there is told so of ends of threads.
            thread._delete()


def stop_thread(thread: Any) -> None:
    """Up to Python 3.12: what happens to a thread whose sentinel is released."""
    sentinel = thread._tstate_lock
    if sentinel is not None:  # None after a fork, which has told the thread already
        sentinel.release()
        thread._is_stopped = True
        thread._tstate_lock = None


def can_start_directly(thread: Any) -> bool:
    """Whether nothing is overridden or replaced that the hand-shake would call."""
    cls = type(thread)
    return getattr(threading, START_NAME).__module__ == "_thread" and (
        cls is _Thread or (cls._bootstrap, cls._bootstrap_inner, cls._delete) == _ORIGINALS
    )


def start_directly(
    execution: Execution,
    thread: Any,
    place: Any,
    ident: int,
    target: str,
    new_handle: Callable[[Any, Task], None],
) -> Task:
    """Start a thread under control; on return it is alive and about to begin.

    Parameters:
        execution: in control.
        thread: initialised and not started before.
        place: of the call to ``start``.
        ident: the ident that the thread gets.
        target: what it runs, for people.
        new_handle: Python 3.13 on: joins the handle of the thread to its task.
    """
    function: Callable[[], object] = MethodType(run_thread, thread)
    if has_hooks():
        function = traced(execution, function)
    task = spawn(
        execution,
        function,
        place,
        thread._name,
        target,
        thread._daemonic,
        ident,
    )
    task.thread = thread
    task.started_directly = True
    thread._ident = ident
    if HAS_NATIVE_IDS:
        thread._native_id = ident
    if HAS_CONTEXTS and thread._context is None:
        thread._context = contextvars.copy_context() if INHERITS_CONTEXT else contextvars.Context()
    if HAS_HANDLES:
        new_handle(thread, task)
    else:
        sentinel = thread._tstate_lock = real_allocate_lock()
        sentinel.acquire()
        task.on_end.append(MethodType(stop_thread, thread))
    thread._started._flag = True
    active_threads[ident] = thread
    return task
