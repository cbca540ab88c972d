"""What asyncio tells nobody but its log: errors that no test fails for, natively.

An exception of a task that nobody asks for, a task that is destroyed while it is pending, a
callback that raises: a loop hands them to its exception handler, and that of asyncio writes them
into the log.  Whether they come may depend on the schedule, so they are noted; on request they are
failures.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Mapping
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.loops.tasks import LoopTasks


class AsyncioError(Exception):
    """An execution fails for what asyncio has written into its log."""


def note_logged(context: Mapping[str, Any]) -> None:
    """A loop has called the exception handler of asyncio.

    Parameters:
        context: what it is called with.
    """
    execution = controlled()
    if execution is None or execution.aborting:
        return
    words = _words_of(context)
    execution.trace.uncontrolled.log(words)
    execution.logged_errors.setdefault(words, context.get("exception"))


class TellsOfLogged:
    """A test that calls :func:`tell_of_logged` at its end."""


class TellingOfLogged(TellsOfLogged):
    """Lets a test do that.

    Parameters:
        function: the test itself.
        fails: see :func:`tell_of_logged`.
    """

    def __init__(self, function: Callable[[], object], fails: bool) -> None:
        self._function = function
        self._fails = fails

    def __call__(self) -> object:
        """Run the test, and return what it returns."""
        result = self._function()
        tell_of_logged(self._fails)
        return result


def tell_of_logged(fails: bool) -> None:
    """At the end of an execution that has gone well so far.

    Parameters:
        fails: it fails for what asyncio has written into its log.

    Raises:
        AsyncioError: it does.
    """
    execution = controlled()
    loops: LoopTasks | None = None if execution is None else execution.loops
    if execution is None or loops is None:
        return
    if loops.would_tell():
        # They often die only when the collector finds them.
        gc.collect()
    if fails:
        for words, error in execution.logged_errors.items():
            raise AsyncioError(words) from error


def _words_of(context: Mapping[str, Any]) -> str:
    words = str(context.get("message") or "error in an event loop").rstrip("!")
    task: Any = context.get("task") or context.get("future")
    coroutine = task.get_coro() if hasattr(task, "get_coro") else None
    name = getattr(coroutine, "__qualname__", None)
    if name is not None:
        words += f" ({name})"
    error = context.get("exception")
    if error is not None:
        words += f": {type(error).__name__}: {error}"
    # Addresses differ from one execution to the next.
    return re.sub(r"\b0x[0-9a-f]+", "0x...", words)
