"""Replay between processes: what one has taken from a pipe that another is to receive.

Several processes may read from one pipe.  Nobody can look whose message comes next without taking
it, so whoever takes another's message leaves it as a file in the folder that the processes share,
where the right one finds it.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading

from bohrbug.runtime.channels.events import TaskId
from bohrbug.runtime.channels.polling import real_poll
from bohrbug.runtime.channels.streams import Channel


def _path(channel: Channel, message: tuple[TaskId | None, int]) -> str:
    sender, number = message
    name = f"message-{channel.id.creator}-{channel.id.number}-{sender or 'unseen'}-{number}"
    return f"{channel.session.options.folder}/{name}"


def leave(channel: Channel, message: tuple[TaskId | None, int], data: bytes) -> None:
    """Leave a message for another process.

    Raises:
        OSError: the folder can't be written to.
    """
    part = f"{channel.session.options.folder}/part-{os.getpid()}-{threading.get_ident()}"
    with open(part, "wb", buffering=0) as file:
        file.write(data)
    os.rename(part, _path(channel, message))


def find(channel: Channel, message: tuple[TaskId | None, int]) -> bytes | None:
    """A message that another process has left; each is found once."""
    path = _path(channel, message)
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.unlink(path)
    return data


def any_left(channel: Channel) -> bytes | None:
    """Some message that was left, for a receiver that takes what comes."""
    pattern = f"message-{channel.id.creator}-{channel.id.number}-*"
    for path in sorted(channel.session.folder.glob(pattern)):
        taken = path.with_name(f"part-{os.getpid()}-{threading.get_ident()}")
        try:
            path.rename(taken)
            data = taken.read_bytes()
            taken.unlink()
        except OSError:
            continue
        return data
    return None


def is_readable(descriptor: int, seconds: float = 0) -> bool:
    """Whether there is something to read within so many seconds, or the end."""
    poll = real_poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class Bell:
    """Tells a process that something was left for it: a named pipe that it can wait for.

    Parameters:
        path: of the named pipe.
    """

    def __init__(self, path: str) -> None:
        self._descriptor: int | None = None
        with contextlib.suppress(OSError, AttributeError):
            with contextlib.suppress(FileExistsError):
                os.mkfifo(path)
            # Open for writing too, so that it never ends.
            self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wait_beside(self, descriptor: int, seconds: float) -> tuple[bool, bool]:
        """Wait until there is something to read there, or the bell rings, or time is over.

        Returns:
            Whether there is something to read there, and whether the bell has rung.
        """
        poll = real_poll()
        poll.register(descriptor, select.POLLIN)
        if self._descriptor is not None:
            poll.register(self._descriptor, select.POLLIN)
        ready = dict(poll.poll(seconds * 1000))
        rung = self._descriptor is not None and self._descriptor in ready
        if self._descriptor is not None and rung:
            with contextlib.suppress(OSError):
                os.read(self._descriptor, 4096)
        return descriptor in ready, rung

    @staticmethod
    def ring(path: str) -> None:
        """Ring the bell of another process, if it has one."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        with contextlib.suppress(OSError):
            os.write(descriptor, b"!")
        os.close(descriptor)
