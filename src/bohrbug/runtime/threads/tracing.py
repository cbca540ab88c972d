"""Functions that ``threading.settrace`` and ``threading.setprofile`` give to the threads of a test.

The interpreter keeps one of each for an OS thread, which all tasks share.  So they are exchanged
whenever control passes to another task, from the moment that the first task has one.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.runtime.threads.stacks import is_own
from bohrbug.runtime.threads.task import Task

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


def has_hooks() -> bool:
    """Whether threads that are started now get a trace function or a profile function."""
    return bool(threading._trace_hook or threading._profile_hook)  # type: ignore[attr-defined]


def traced(execution: Execution, function: Callable[[], object]) -> Callable[[], object]:
    """What a task does under the trace function and the profile function for new threads.

    Parameters:
        execution: of the task.
        function: what it does otherwise.
    """
    exchange = execution._swap
    if not isinstance(exchange, _Exchange):
        execution._swap = exchange = _Exchange(exchange)
    trace: Any = threading._trace_hook  # type: ignore[attr-defined]
    profile: Any = threading._profile_hook  # type: ignore[attr-defined,unused-ignore]

    def run() -> None:
        if profile:
            sys.setprofile(_shielded(execution, profile))
        if trace:
            sys.settrace(_shielded(execution, trace))
        try:
            function()
        finally:
            exchange.restore()

    return run


class _Exchange:
    """What is done when control passes to another task: each has functions of its own.

    Parameters:
        others: what else is exchanged.
    """

    def __init__(self, others: Callable[[Task, Task], None] | None) -> None:
        self._others = others
        # Those of the root, such as the tracer of coverage.py, are for all that have no others.
        self._usual = (sys.gettrace(), sys.getprofile())
        self._of_tasks: dict[int, tuple[Any, Any]] = {}

    def __call__(self, leaving: Task, entering: Task) -> None:
        if self._others is not None:
            self._others(leaving, entering)
        self._of_tasks[leaving.index] = (sys.gettrace(), sys.getprofile())
        _set(*self._of_tasks.get(entering.index, self._usual))

    def restore(self) -> None:
        """The task that runs has done what it is traced for."""
        _set(*self._usual)


def _set(trace: Any, profile: Any) -> None:
    if sys.gettrace() is not trace:
        sys.settrace(trace)
    if sys.getprofile() is not profile:
        sys.setprofile(profile)


def _shielded(execution: Execution, function: Any) -> Callable[..., Any]:
    """A trace function that is not told of this tool, and loses control nowhere.

    Who traces runs in the middle of an instruction, where the interpreter can't pass to another
    stack.
    """

    def call(frame: Any, event: str, argument: Any) -> Any:
        if is_own(frame.f_code.co_filename):
            return None
        task = execution.current
        task.inside += 1
        try:
            local = function(frame, event, argument)
        finally:
            task.inside -= 1
        if local is None or local is function:
            return None if local is None else call
        return _shielded(execution, local)

    return call
