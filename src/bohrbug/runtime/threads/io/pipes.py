"""``os.pipe``, ``os.read``, ``os.write`` and files over pipes under control."""

from __future__ import annotations

import io
import os
import stat
from sys import _getframe
from typing import Any

from bohrbug.model.operation import CLOSE, RECEIVE, SEND
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.channels import channel_of, is_counter
from bohrbug.runtime.threads.io.handed_buffers import filled_by, read_by
from bohrbug.runtime.threads.io.opened import Closing
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.io.waiting import READABLE, WRITABLE, await_descriptor, point
from bohrbug.runtime.threads.rewrite.descriptors import closed, share_position
from bohrbug.runtime.threads.synchronizers import place_of

_real_fstat = os.fstat
_real_get_blocking = os.get_blocking
_real_set_blocking = os.set_blocking
_real_pipe = os.pipe
_real_read = os.read
_real_write = os.write
_real_close = os.close


def _may_block(descriptor: Any) -> bool:
    """Whether reading or writing a file descriptor may have to wait for somebody."""
    try:
        mode = _real_fstat(descriptor).st_mode
        is_awaited = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or is_counter(descriptor, mode)
        return is_awaited and _real_get_blocking(descriptor)
    except (OSError, TypeError, ValueError):
        # The call itself will say what is wrong with it.
        return False


@patches.function(os, "pipe")
def pipe() -> tuple[int, int]:
    """Stands for ``os.pipe``."""
    ends = _real_pipe()
    execution = controlled()
    if execution is not None:
        channel_of(execution, ends[0], place_of(_getframe(2)))
    return ends


def _read_under_control(execution: Execution, descriptor: int, place: Any) -> None:
    await_descriptor(execution, lambda: descriptor, READABLE, None, place, RECEIVE)
    execution.current.looks.clear()


def _write_under_control(execution: Execution, descriptor: int, data: Any, place: Any) -> int:
    """A blocking write returns when all is written: wait as often as that needs."""
    with memoryview(data) as view, view.cast("B") as content:
        written = 0
        while True:
            await_descriptor(execution, lambda: descriptor, WRITABLE, None, place, SEND)
            _real_set_blocking(descriptor, False)
            try:
                written += _real_write(descriptor, content[written:])
            except BlockingIOError:
                continue
            finally:
                _real_set_blocking(descriptor, True)
            if written >= len(content):
                execution.current.looks.clear()
                return written


@patches.function(os, "read")
def read(descriptor: Any, length: Any, /) -> bytes:
    """Stands for ``os.read``."""
    execution = controlled()
    if execution is not None and _may_block(descriptor):
        _read_under_control(execution, descriptor, place_of(_getframe(2)))
    return _real_read(descriptor, length)


@patches.function(os, "write")
def write(descriptor: Any, data: Any, /) -> int:
    """Stands for ``os.write``."""
    execution = controlled()
    if execution is not None and _may_block(descriptor):
        return _write_under_control(execution, descriptor, data, place_of(_getframe(2)))
    return _real_write(descriptor, data)


if hasattr(os, "eventfd"):
    _real_eventfd_read = os.eventfd_read
    _real_eventfd_write = os.eventfd_write

    @patches.function(os, "eventfd_read")
    def eventfd_read(fd: Any) -> int:
        """Stands for ``os.eventfd_read``."""
        execution = controlled()
        if execution is not None and _may_block(fd):
            _read_under_control(execution, fd, place_of(_getframe(2)))
        return _real_eventfd_read(fd)

    @patches.function(os, "eventfd_write")
    def eventfd_write(fd: Any, value: Any) -> None:
        """Stands for ``os.eventfd_write``."""
        execution = controlled()
        if execution is not None and _may_block(fd):
            # It waits while the sum would be too large, which is not looked at.
            await_descriptor(execution, lambda: fd, WRITABLE, None, place_of(_getframe(2)), SEND)
            execution.current.looks.clear()
        _real_eventfd_write(fd, value)


@patches.function(os, "close")
def close_descriptor(descriptor: Any, /) -> None:
    """Stands for ``os.close``."""
    execution = controlled()
    if execution is not None:
        place = place_of(_getframe(2))
        if _may_block(descriptor):
            point(execution, descriptor, place, CLOSE)
        Closing.tell(descriptor, place)
    _real_close(descriptor)
    if execution is not None:
        closed(descriptor)


_real_dup = os.dup
_real_dup2 = os.dup2


@patches.function(os, "dup")
def duplicate(fd: Any, /) -> int:
    """Stands for ``os.dup``."""
    made = _real_dup(fd)
    if controlled() is not None:
        share_position(fd, made)
    return made


@patches.function(os, "dup2")
def duplicate_as(fd: Any, fd2: Any, *args: Any, **kwargs: Any) -> int:
    """Stands for ``os.dup2``."""
    if controlled() is not None:
        Closing.tell(fd2, place_of(_getframe(2)))
    made = _real_dup2(fd, fd2, *args, **kwargs)
    if controlled() is not None:
        share_position(fd, made)
    return made


class PipeFile(io.FileIO):
    """A raw file on a pipe or socket that waits as a task; files in C can't be patched."""

    def readinto(self, buffer: Any, /) -> int | None:
        """As ``FileIO.readinto``."""
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            place = place_of(caller(_getframe(1)))
            _read_under_control(execution, self.fileno(), place)
            if filled_by("FileIO.readinto", buffer):
                # Another task may have taken what there was.
                _read_under_control(execution, self.fileno(), place)
        return super().readinto(buffer)

    def read(self, size: int | None = -1, /) -> bytes | None:  # type: ignore[override]
        """As ``FileIO.read``."""
        if size is None or size < 0:
            return self.readall()
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            _read_under_control(execution, self.fileno(), place_of(caller(_getframe(1))))
        return super().read(size)

    def readall(self) -> bytes:
        """As ``FileIO.readall``."""
        pieces: list[bytes] = []
        while True:
            piece = self.read(65_536)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)

    def write(self, data: Any, /) -> int | None:  # type: ignore[override]
        """As ``FileIO.write``."""
        read_by("FileIO.write", data)
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            place = place_of(caller(_getframe(1)))
            return _write_under_control(execution, self.fileno(), data, place)
        return super().write(data)

    def close(self) -> None:
        """As ``FileIO.close``."""
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            point(execution, self.fileno(), place_of(caller(_getframe(1))), CLOSE)
        super().close()


def caller(frame: Any) -> Any:
    """The frame outside this module that a call comes from."""
    while frame.f_globals.get("__name__") == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def with_pipe_file(stream: Any) -> Any:
    """The same stream on a :class:`PipeFile`, if it is on a pipe or socket.

    Parameters:
        stream: as ``open`` gives it for a file descriptor; text streams must
            have been opened with universal newlines.
    """
    if not _may_block(stream.fileno()):
        return stream
    text = None
    if isinstance(stream, io.TextIOWrapper):
        text = (stream.encoding, stream.errors, stream.line_buffering, stream.write_through)
        stream = stream.detach()
    raw: Any = (
        stream.detach() if isinstance(stream, io.BufferedReader | io.BufferedWriter) else stream
    )
    reading = raw.readable()
    ours: Any = PipeFile(_real_dup(raw.fileno()), "r" if reading else "w")
    if type(raw.name) is not int:
        ours.name = raw.name
    raw.close()
    if stream is raw:
        return ours
    buffered: Any = io.BufferedReader(ours) if reading else io.BufferedWriter(ours)
    if text is None:
        return buffered
    encoding, errors, line_buffering, write_through = text
    return io.TextIOWrapper(
        buffered,
        encoding=encoding,
        errors=errors,
        line_buffering=line_buffering,
        write_through=write_through,
    )


_fdopen = os.fdopen


def fdopen(
    fd: int,
    mode: str = "r",
    buffering: int = -1,
    encoding: Any = None,
    errors: Any = None,
    newline: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Stands for ``os.fdopen``."""
    stream = _fdopen(fd, mode, buffering, encoding, errors, newline, *args, **kwargs)
    execution = controlled()
    if execution is None or newline is not None or args or kwargs or "+" in mode:
        return stream
    return with_pipe_file(stream)


fdopen.__module__ = "os"
patches.add(os, "fdopen", fdopen)
