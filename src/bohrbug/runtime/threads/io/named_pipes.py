"""``open`` and ``os.open`` under control: opening a named pipe waits for who opens its other end.

The kernel would let the one thread wait in which all tasks run. So a pipe is opened here without
waiting, and who opens it waits as a task, until the other end was opened since: as in the kernel,
it need not be open any more by then. The kernel does not let anybody write where nobody reads: a
task that waits for a reader gets its descriptor from whoever comes to read.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from sys import _getframe
from typing import Any

from bohrbug.model.operation import OPEN
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.channels import Reach, channel_of_pipe, reach_of
from bohrbug.runtime.threads.io.opened import note_opened
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.io.pipes import with_pipe_file
from bohrbug.runtime.threads.io.waiting import READABLE, is_ready, wait_until
from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.replacement import Function
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TaskKilled

_real_set_blocking = os.set_blocking
_real_stat = os.stat
_real_open = os.open
_real_close = os.close
_real_file = builtins.open
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0)


class _Pipe:
    """What has been opened of a named pipe in an execution.

    Attributes:
        writers: how often somebody has begun to open it for writing.
        waiting: those who wait for a reader; each gets a descriptor in its list.
        is_made_here: the test has made it, so that nobody outside is to open its other end.
    """

    def __init__(self) -> None:
        self.is_made_here = False
        self.writers = 0
        self.waiting: list[list[int]] = []


_pipes: dict[int, _Pipe] = {}
"""By their inodes."""
forgotten_afterwards(_pipes)


def _inode_of_pipe(path: Any, flags: int, folder: int | None) -> int | None:
    """That of a named pipe whose opening with these flags waits for the other end."""
    if flags & os.O_ACCMODE == os.O_RDWR or flags & _WITHOUT_WAITING or type(path) is int:
        return None
    try:
        status = _real_stat(path, dir_fd=folder)
    except (OSError, TypeError, ValueError):
        # The call itself will say what is wrong with it.
        return None
    return status.st_ino if stat.S_ISFIFO(status.st_mode) else None


class _Opening:
    """A task opens a named pipe.

    Parameters:
        execution: the execution.
        inode: of the pipe.
        flags: as ``os.open`` takes them.
        place: where.
        open_as: opens it with other flags.
    """

    def __init__(
        self,
        execution: Execution,
        inode: int,
        flags: int,
        place: Any,
        open_as: Callable[[int], int],
    ) -> None:
        self._execution = execution
        self._pipe = _pipes.setdefault(inode, _Pipe())
        self._state = channel_of_pipe(execution, inode, place)
        self._flags = flags
        self._place = place
        self._open_as = open_as

    def descriptor(self) -> int:
        """The open pipe, once the other end was opened, too."""
        execution = self._execution
        if not execution.current.inside:
            execution.perform(OPEN, self._state, self._place)
        is_for_writing = self._flags & os.O_ACCMODE == os.O_WRONLY
        descriptor = self._for_writing() if is_for_writing else self._for_reading()
        _real_set_blocking(descriptor, True)
        return descriptor

    def _for_reading(self) -> int:
        pipe = self._pipe
        descriptor = self._open_as(self._flags | _WITHOUT_WAITING)
        for given in pipe.waiting:
            for_writing = self._flags & ~os.O_ACCMODE | os.O_WRONLY | _WITHOUT_WAITING
            given.append(self._open_as(for_writing))
        if pipe.waiting or reach_of(self._execution, descriptor) is Reach.LOCAL:
            pipe.waiting.clear()
            return descriptor
        before = pipe.writers
        try:
            self._wait(lambda: pipe.writers != before or is_ready(descriptor, READABLE))
        except BaseException:
            _real_close(descriptor)
            raise
        return descriptor

    def _for_writing(self) -> int:
        execution, pipe = self._execution, self._pipe
        flags = self._flags | _WITHOUT_WAITING
        pipe.writers += 1
        try:
            return self._open_as(flags)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        given: list[int] = []

        def has_reader() -> bool:
            # Who reads in another process gives nothing to those who wait here.
            if not given and (execution.outside.has_children or not pipe.is_made_here):
                with suppress(OSError):
                    given.append(self._open_as(flags))
            return bool(given)

        pipe.waiting.append(given)
        try:
            self._wait(has_reader)
        except BaseException:
            for descriptor in given:
                _real_close(descriptor)
            raise
        finally:
            pipe.waiting[:] = [each for each in pipe.waiting if each is not given]
        return given[0]

    def _wait(self, ready: Callable[[], bool]) -> None:
        """Wait as a task, for another one or for somebody outside."""
        execution, pipe = self._execution, self._pipe

        def reach() -> Reach:
            is_ours = pipe.is_made_here and not execution.outside.has_children
            return Reach.LOCAL if is_ours else Reach.FAR

        wait_until(execution, self._state, self._place, ready, None, reach, kind=OPEN)
        if execution.aborting:
            raise TaskKilled


_real_mkfifo = os.mkfifo


@patches.function(os, "mkfifo")
def mkfifo(path: Any, mode: int = 0o666, *, dir_fd: Any = None) -> None:
    """Stands for ``os.mkfifo``."""
    _real_mkfifo(path, mode, dir_fd=dir_fd)
    execution = controlled()
    if execution is not None:
        pipe = _pipes.setdefault(_real_stat(path, dir_fd=dir_fd).st_ino, _Pipe())
        pipe.is_made_here = True


@patches.function(os, "open")
def open_descriptor(path: Any, flags: Any, mode: int = 0o777, *, dir_fd: Any = None) -> int:
    """Stands for ``os.open``."""
    execution = controlled()
    inode = None if execution is None else _inode_of_pipe(path, flags, dir_fd)
    if execution is None or inode is None:
        return _real_open(path, flags, mode, dir_fd=dir_fd)
    return _Opening(
        execution,
        inode,
        flags,
        place_of(_getframe(2)),
        lambda wanted: _real_open(path, wanted, mode, dir_fd=dir_fd),
    ).descriptor()


_ONE_WAY = {"r": os.O_RDONLY, "w": os.O_WRONLY, "a": os.O_WRONLY}


def open_file(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: Any = None,
    errors: Any = None,
    newline: Any = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    """Stands for ``open``."""
    execution = controlled()
    inode = None
    if execution is not None and opener is None and type(mode) is str and "+" not in mode:
        flags = _ONE_WAY.get(mode[:1] if mode[:1] not in "bt" else mode[1:2])
        inode = None if flags is None else _inode_of_pipe(file, flags, None)
    if execution is None or inode is None:
        stream = _real_file(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if execution is not None:
            note_opened(stream)
        return stream
    place = place_of(_getframe(2))

    def open_it(path: Any, wanted: int) -> int:
        return _Opening(
            execution, inode, wanted, place, lambda flags: _real_open(path, flags, 0o666)
        ).descriptor()

    stream = _real_file(file, mode, buffering, encoding, errors, newline, closefd, open_it)
    return stream if newline is not None else with_pipe_file(stream)


_stands_for_open = Function(open_file, _real_file)
patches.add(builtins, "open", _stands_for_open)
patches.add(io, "open", _stands_for_open)
