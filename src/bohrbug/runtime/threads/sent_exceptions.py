"""Exceptions that one thread sends to another, by its ident: ``PyThreadState_SetAsyncExc``.

The interpreter raises such an exception where the other thread is between two instructions, and
not while it waits in C.  Here it comes just before a step: the other task is chosen to go on, and
raises instead of doing what it was about to do.  That is possible in reality, as the task need not
have come to its operation by then; a task that waits raises once it could go on.  That it has done
the operation and raises behind it is not tried.
"""

from __future__ import annotations

import ctypes
from sys import _getframe
from typing import TYPE_CHECKING, Any

from bohrbug.model.operation import RAISE
from bohrbug.model.outcome import SENT_EXCEPTIONS
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.deferred_signals import expect_exception, sent_error, sent_to
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.synchronizers import place_of

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.task import Task

patches = LatePatches()

NAME = "PyThreadState_SetAsyncExc"

_real: Any = ctypes.pythonapi.PyThreadState_SetAsyncExc


class SetAsyncExc:
    """Stands for the function of ``ctypes.pythonapi``: what types it takes is set there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_real, name, value)

    def __call__(self, *args: Any) -> Any:
        """Send an exception to a thread, or take back one that has not come.

        Returns:
            To how many threads: 0 or 1.
        """
        execution = controlled()
        if execution is None or len(args) != 2:
            return _real(*args)
        ident, exception = (_value_of(argument) for argument in args)
        task = _thread_with(execution, ident)
        if task is None:
            return _real(*args)
        current = execution.current
        if not current.inside and (current.host or current) is not task:
            execution.perform(RAISE, sent_to(execution, task), place_of(_getframe(1)))
        if task.ended:
            return 0
        if not isinstance(exception, type):
            # A null pointer, in whichever way it is written.
            exception = exception or None
        if exception is None or execution.aborting:
            task.sent = None
            return 1
        if (current.host or current) is task:
            # Before the call has given its result back.
            raise sent_error(exception)
        execution.trace.uncontrolled.assume(SENT_EXCEPTIONS)
        expect_exception(execution, task)
        task.sent = exception
        return 1


def _value_of(argument: Any) -> Any:
    """What an object of ctypes holds, or what was given without one."""
    try:
        return argument.value if isinstance(argument, ctypes._SimpleCData) else argument
    except ValueError:
        # ``py_object()``
        return None


def _thread_with(execution: Execution, ident: object) -> Task | None:
    for task in execution.all_tasks:
        if task.ident == ident and not task.ended:
            return task
    return None


patches.add(ctypes.pythonapi, NAME, SetAsyncExc())
