"""Coroutine functions as tests: each execution runs the coroutine in an event loop of its own."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


def is_coroutine_function(function: Any) -> bool:
    """Whether a call gives a coroutine: of the function, or of an object with such a method."""
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


class CoroutineTest:
    """A test that calls a coroutine function and runs what it gives with :func:`asyncio.run`.

    It has the names of the function, by which reports call it and by which it is found again.

    Parameters:
        function: a coroutine function.
        arguments: of each call.
        named_arguments: of each call.
    """

    def __init__(self, function: Callable[..., Any], *arguments: Any, **named_arguments: Any):
        # Imported before the first execution, so that all are alike.
        import asyncio

        self._run = asyncio.run
        self._function = function
        self._arguments = arguments
        self._named_arguments = named_arguments
        for name in ("__module__", "__qualname__", "__doc__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    def __repr__(self) -> str:
        return f"<asyncio.run of {self._function!r}>"

    def __call__(self) -> object:
        """Run it once."""
        return self._run(self._function(*self._arguments, **self._named_arguments))


def as_test(function: Callable[[], object]) -> Callable[[], object]:
    """The function itself, or, for a coroutine function, what runs it."""
    return CoroutineTest(function) if is_coroutine_function(function) else function


@contextmanager
def outside_of_event_loops() -> Generator[None]:
    """Within it no event loop runs in this thread, so that tests can run theirs.

    For explorations from within a coroutine, as in a notebook.
    """
    events, tasks = sys.modules.get("asyncio.events"), sys.modules.get("asyncio.tasks")
    loop = None if events is None else events._get_running_loop()
    if loop is None or events is None or tasks is None:
        yield
        return
    task = tasks.current_task(loop)
    if task is not None:
        tasks._leave_task(loop, task)
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(loop)
        if task is not None:
            tasks._enter_task(loop, task)
