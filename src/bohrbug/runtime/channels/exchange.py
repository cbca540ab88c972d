"""Replay between processes: messages for a process that are not to be taken from a pipe.

Several processes may read from one pipe, and nobody can look whose message comes next without
taking it.  The log says who is to receive a message; so it is posted to that process, into a named
pipe of its own.  What does not fit there is left as a file in the folder that the processes share.
"""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import select
import struct
import threading

from bohrbug.runtime.channels.events import TaskId
from bohrbug.runtime.channels.streams import Channel
from bohrbug.runtime.pollers import real_poll

Posted = tuple[bytes, bytes]
"""The address (see :func:`address_of`), and what was sent; nothing says that a file was left."""

_TO_ANY = "unclaimed"
_FRAME = struct.Struct("<HI")
_AT_ONCE = getattr(select, "PIPE_BUF", 512)
"""So many bytes are written to a pipe whole, whoever else writes."""
_CAPACITY = 1 << 16
_LOOKS = 64
"""So often in vain files are looked for after one may have been left."""


def _path(channel: Channel, message: tuple[TaskId | None, int], sort: str = "message") -> str:
    sender, number = message
    name = f"{sort}-{channel.id.creator}-{channel.id.number}-{sender or 'unseen'}-{number}"
    return f"{channel.session.options.folder}/{name}"


def leave(
    channel: Channel, message: tuple[TaskId | None, int], data: bytes, *, to_any: bool = False
) -> None:
    """Leave a message for another process.

    Parameters:
        channel: that it was sent to.
        message: which one.
        data: as it would go through the pipe.
        to_any: for whoever receives past the end of its log, not for who does by the log.

    Raises:
        OSError: the folder can't be written to.
    """
    part = f"{channel.session.options.folder}/part-{os.getpid()}-{threading.get_ident()}"
    with open(part, "wb", buffering=0) as file:
        file.write(data)
    os.rename(part, _path(channel, message, _TO_ANY if to_any else "message"))


def find(channel: Channel, message: tuple[TaskId | None, int]) -> bytes | None:
    """A message that another process has left; each is found once."""
    return _claim(_path(channel, message))


def any_left(channel: Channel, *, desynchronised: bool) -> bytes | None:
    """Some message that was left, for a receiver that takes what comes.

    Parameters:
        channel: to receive from.
        desynchronised: whether there is no log any more that says who receives what.
    """
    sorts = (_TO_ANY, "message") if desynchronised else (_TO_ANY,)
    beginnings = tuple(f"{sort}-{channel.id.creator}-{channel.id.number}-" for sort in sorts)
    for name in sorted(os.listdir(channel.session.folder)):
        if name.startswith(beginnings):
            data = _claim(f"{channel.session.options.folder}/{name}")
            if data is not None:
                return data
    return None


def _claim(path: str) -> bytes | None:
    """What is in a file, for the one who comes first."""
    mine = f"{os.path.dirname(path)}/part-{os.getpid()}-{threading.get_ident()}"
    try:
        os.rename(path, mine)
        with open(mine, "rb", buffering=0) as file:
            data = file.read()
        os.unlink(mine)
    except OSError:
        return None
    return data


def is_readable(descriptor: int, seconds: float = 0) -> bool:
    """Whether there is something to read within so many seconds, or the end."""
    poll = real_poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def address_of(channel: Channel) -> bytes:
    """The channel's id and flavour, as they are written before a message."""
    return marshal.dumps((*channel.id, channel.flavour))


class Mailbox:
    """Where messages for this process come in: a named pipe.

    Parameters:
        path: of the named pipe.

    Attributes:
        looks: how often to look for a file yet, as one may have been left for this process.  That
            is done where the pipe is not open, where it is full, and with what is too large; of
            the last the pipe tells, and one that is full brings much at once.
    """

    def __init__(self, path: str) -> None:
        self.looks = _LOOKS
        self._descriptor = -1
        self._data = b""
        self._poll = real_poll()
        with contextlib.suppress(OSError, AttributeError):
            with contextlib.suppress(FileExistsError):
                os.mkfifo(path)
            # Open for writing too, so that it never ends.
            self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            self._poll.register(self._descriptor, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Wait until there may be something, or time is over; whether there may."""
        return bool(self._poll.poll(seconds * 1000))

    def take(self) -> list[Posted]:
        """All that has come."""
        try:
            data = os.read(self._descriptor, _CAPACITY)
        except OSError:
            return []
        if len(data) >= _AT_ONCE:
            self.looks = _LOOKS
        self._data += data
        found = []
        at = 0
        while len(self._data) - at >= _FRAME.size:
            head, size = _FRAME.unpack_from(self._data, at)
            begin = at + _FRAME.size
            if begin + head + size > len(self._data):
                break
            middle = begin + head
            found.append((self._data[begin:middle], self._data[middle : middle + size]))
            if not size:
                self.looks = _LOOKS
            at = middle + size
        self._data = self._data[at:]
        return found


class Postman:
    """Brings messages to the mailboxes of other processes."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}
        self._addresses: dict[Channel, bytes] = {}

    def post(
        self, path: str, channel: Channel, message: tuple[TaskId | None, int], data: bytes
    ) -> None:
        """Bring a message to a process.

        Parameters:
            path: of its mailbox.
            channel: that it was sent to.
            message: which one.
            data: as it would go through the pipe.

        Raises:
            OSError: the folder can't be written to.
        """
        address = self._addresses.get(channel)
        if address is None:
            address = self._addresses[channel] = address_of(channel)
        frame = _FRAME.pack(len(address), len(data)) + address + data
        if len(frame) > _AT_ONCE or not self._write(path, frame):
            leave(channel, message, data)
            self._write(path, _FRAME.pack(len(address), 0) + address)

    def _write(self, path: str, frame: bytes) -> bool:
        """Whether there is a reader, and space for all of it."""
        try:
            descriptor = self._descriptors.get(path)
            if descriptor is None:
                flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
                descriptor = self._descriptors[path] = os.open(path, flags)
            os.write(descriptor, frame)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENXIO, errno.ENOENT):
                # Closed by the program, which closes descriptors that it does not know.
                self._descriptors.pop(path, None)
            return False
        return True
