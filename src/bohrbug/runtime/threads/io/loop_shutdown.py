"""The end of ``asyncio.run``: it waits for asynchronous generators and for an executor's threads.

Since Python 3.12 it gives those threads up after five minutes, with a warning.  That is no timeout
of the program, and one that fires before the threads have run would only tell of that: so it waits
until they end, and who never ends is in a deadlock.

Mostly there are neither; then to run the loop for that, twice, would only cost time.
"""

from __future__ import annotations

import sys
from inspect import CORO_CREATED, getcoroutinestate
from types import CoroutineType
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.loops.as_asyncio import handles_signals, runs_as_asyncios, watches


@patches.when_imported("asyncio.base_events")
def _wrap_shutdown(module: Any) -> None:
    usual = getattr(module.constants, "THREAD_JOIN_TIMEOUT", None)
    if usual is None:
        return
    original = module.BaseEventLoop.shutdown_default_executor

    @patches.method(module.BaseEventLoop, "shutdown_default_executor")
    def shutdown_default_executor(self: Any, timeout: float | None = None) -> Any:
        is_usual = timeout == usual and controlled() is not None
        return original(self, None if is_usual else timeout)


@patches.when_imported("asyncio.base_events")
def _end_at_once_what_has_nothing_to_wait_for(module: Any) -> None:
    cls = module.BaseEventLoop
    run = cls.run_until_complete
    ends = {
        _code_of(cls, name): waits_for
        for name, waits_for in (
            ("shutdown_asyncgens", "_asyncgens"),
            ("shutdown_default_executor", "_default_executor"),
        )
    }

    @patches.method(cls, "run_until_complete")
    def run_until_complete(self: Any, future: Any) -> Any:
        execution = controlled()
        waits_for = ends.get(future.cr_code) if type(future) is CoroutineType else None
        if execution is None or waits_for is None or getattr(self, waits_for):
            return run(self, future)
        if not _is_new_and_of(future, self) or not _is_idle(execution, self, cls):
            return run(self, future)
        try:
            future.send(None)
        except StopIteration:
            return None
        raise AssertionError(f"{future} has waited for something")


def _code_of(cls: Any, name: str) -> Any:
    function = getattr(cls, name)
    return getattr(function, "__wrapped__", function).__code__


def _is_new_and_of(coroutine: Any, loop: Any) -> bool:
    """Whether a coroutine is a method of a loop that has not begun to run."""
    return (
        getcoroutinestate(coroutine) == CORO_CREATED
        and local_variables(coroutine.cr_frame).get("self") is loop
    )


def _is_idle(execution: Execution, loop: Any, own: Any) -> bool:
    """Whether nothing could run in a loop besides a coroutine, and nobody sees that run."""
    return (
        # Not of who is alive: whether others have ended is nothing that this waits for.
        len(execution.all_tasks) == 1
        and not execution.current.inside
        and runs_as_asyncios(loop)
        and not (loop._ready or loop._scheduled or loop._closed or loop.is_running())
        and not handles_signals(loop)
        and not watches(loop)
        and loop._task_factory is None
        and type(loop).create_task is own.create_task
        and sys.modules["asyncio.events"]._get_running_loop() is None
    )
