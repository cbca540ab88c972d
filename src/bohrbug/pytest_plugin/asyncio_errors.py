"""What asyncio tells nobody but its log: errors that no test fails for, natively.

An exception of a task that nobody asks for, a task that is destroyed while it is pending, a
callback that raises: a loop hands them to its exception handler, and that of asyncio writes them
into the log.  Whether they come may depend on the schedule, so they are noted; on request they are
failures.
"""

from __future__ import annotations

import gc
import re
import sys
from collections import Counter
from types import TracebackType
from typing import Any, Self

from bohrbug.pytest_plugin.remains import Remains
from bohrbug.report.wording import plural
from bohrbug.runtime.threads.control import controlled


class AsyncioError(Exception):
    """An execution fails for what asyncio has written into its log."""


class AsyncioErrors:
    """A context for the executions of one item.

    Parameters:
        fail: an execution with such an error has failed.
        remains: of executions that failed, which are no news.
    """

    def __init__(self, fail: bool, remains: Remains) -> None:
        self._fails = fail
        self._remains = remains
        self._executions = 0
        self._counts: Counter[str] = Counter()
        self._told: dict[str, BaseException | None] = {}
        self._loops: Any = None
        self._handler: Any = None

    def __enter__(self) -> Self:
        self._loops = getattr(sys.modules.get("asyncio"), "BaseEventLoop", None)
        if self._loops is not None:
            handler = self._handler = self._loops.default_exception_handler

            def default_exception_handler(loop: Any, context: dict[str, Any]) -> None:
                self._note(context)
                handler(loop, context)

            self._loops.default_exception_handler = default_exception_handler
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._told.clear()
        if self._loops is not None:
            self._loops.default_exception_handler = self._handler

    def _note(self, context: dict[str, Any]) -> None:
        execution = controlled()
        if self._remains.are_left if execution is None else execution.aborting:
            return
        words = _words_of(context)
        if words not in self._told:
            self._told[words] = context.get("exception")
            self._counts[words] += 1

    def begin(self) -> None:
        """An execution begins."""
        self._executions += 1
        self._told.clear()

    def end(self) -> None:
        """An execution ends well so far.

        Raises:
            AsyncioError: there was such an error, and it is a failure.
        """
        if not self._fails:
            return
        # Tasks often die only when the collector finds them.
        gc.collect()
        for words, error in self._told.items():
            raise AsyncioError(words) from error

    @property
    def notices(self) -> list[str]:
        """One for each kind of error: in how many executions it came."""
        if self._fails:
            return []
        executions = plural(self._executions, "execution")
        return [
            f"asyncio has logged, in {count:,} of {executions}: {words}"
            for words, count in self._counts.items()
        ]


def _words_of(context: dict[str, Any]) -> str:
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
