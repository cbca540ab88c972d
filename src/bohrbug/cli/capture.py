"""What a test prints in its executions: kept, and shown only for the one that failed."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from types import CodeType
from typing import IO


class _Kept(io.BytesIO):
    """What is printed.

    Parameters:
        descriptor: of the stream whose place this takes, for who asks whether that is a terminal,
            or gives it to a child process; negative if it has none.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor, as that of any file."""
        return super().fileno() if self._descriptor < 0 else self._descriptor


def _descriptor_of(stream: IO[str] | None) -> int:
    try:
        return -1 if stream is None else stream.fileno()
    except (OSError, ValueError, AttributeError):
        return -1


class OutputKeeper:
    """Wraps a test so that what each execution prints is kept instead of shown.

    Parameters:
        function: the test.
        show: print everything of every execution instead.
    """

    def __init__(self, function: Callable[[], object], *, show: bool = False) -> None:
        self._function = function
        self._show = show
        self._last = ""
        self._failing: str | None = None
        self._running: tuple[io.TextIOWrapper, io.BytesIO] | None = None

    @property
    def text(self) -> str:
        """Output of the last execution that an exception or its end by a monitor cut short.

        The last replay of a failure is one of these; where a failure showed only after
        the test had returned, it is the output of the last execution.
        """
        return self._failing if self._failing is not None else self._last

    @property
    def codes(self) -> tuple[CodeType, ...]:
        """What the test has so: the code that is rewritten before it is executed only once."""
        return tuple(getattr(self._function, "codes", ()))

    def so_far(self) -> str:
        """Output of the execution that is running, or else of the last one."""
        if self._running is None:
            return self._last
        stream, buffer = self._running
        if not stream.closed:
            stream.flush()
        return "" if buffer.closed else buffer.getvalue().decode("utf-8", "replace")

    def __call__(self) -> None:
        """Execute the test."""
        if self._show:
            self._function()
            return
        stdout, stderr, stdin = sys.stdout, sys.stderr, sys.stdin
        buffer = _Kept(_descriptor_of(stdout))
        stream = io.TextIOWrapper(buffer, "utf-8", "backslashreplace")
        sys.stdout = sys.stderr = stream
        self._running = (stream, buffer)
        sys.stdin = io.StringIO()
        failed = True
        try:
            self._function()
            failed = False
        finally:
            self._running = None
            kept = sys.stdout
            sys.stdout, sys.stderr, sys.stdin = stdout, stderr, stdin
            if isinstance(kept, io.TextIOWrapper) and not kept.closed:
                kept.flush()
            self._last = buffer.getvalue().decode("utf-8", "replace") if not buffer.closed else ""
            if failed:
                self._failing = self._last
