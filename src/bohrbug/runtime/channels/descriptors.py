"""Sockets that are channels, by their descriptors; and waiting until one is ready."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from bohrbug.runtime.channels.ends import Ends
from bohrbug.runtime.channels.events import ChannelId
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.streams import Channel, Stream
from bohrbug.runtime.pollers import READ, WRITE, real_poll

CONNECTION = "socket"
"""Flavour of both directions of a connection."""

LISTEN = "socket.accept"
"""Flavour of a socket that others connect to."""

DESCRIPTOR = "asyncio.descriptor"
"""A channel that only a loop knows: of a pipe, a socket of another kind."""

_SLICE = 0.05

known: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Sockets that are channels, by descriptor."""


class Beside:
    """What is known of a socket, which takes no attributes itself."""

    _bohrbug_channel: Channel | None = None
    _bohrbug_ends: Ends | None = None
    name: ChannelId | None = None
    """That an event loop has given it."""


_beside: WeakKeyDictionary[Any, Beside] = WeakKeyDictionary()


def beside(socket: Any) -> Beside:
    """What is known of a socket."""
    found = _beside.get(socket)
    if found is None:
        found = _beside[socket] = Beside()
    return found


def would_block() -> BlockingIOError:
    """What a non-blocking call raises where a blocking one would wait."""
    return BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def is_channel(descriptor: int) -> bool:
    """Whether a file descriptor is that of a socket that is a channel."""
    there = known.get(descriptor)
    return there is not None and there.fileno() == descriptor


def has_more(descriptor: int) -> bool:
    """Whether something that came early is kept for a socket."""
    there = known.get(descriptor)
    channel = None if there is None else beside(there)._bohrbug_channel
    return channel is not None and bool(channel.arrived)


def wait_ready(stream: ReplayingStream, descriptor: int, events: int, expected: str) -> bool:
    """Wait until a descriptor is ready.

    Returns:
        False if all is native now.
    """
    poll = real_poll()
    poll.register(descriptor, events)
    waited = 0.0
    while not poll.poll(_SLICE * 1000):
        if stream.is_free:
            return False
        waited += _SLICE
        stream.replay.check(stream, waited, f"a socket: {expected}")
    return True


def wait_for(stream: ReplayingStream, descriptor: int, events: int) -> None:
    """Wait until a descriptor is ready for all of the events: ``READ``, ``WRITE`` or both."""
    for event in (READ, WRITE):
        if events & event and not (event == READ and has_more(descriptor)):
            wait_ready(stream, descriptor, event, "readiness")


def exactly(
    stream: Stream, descriptor: int, real: Callable[[int], bytes], count: int, size: int
) -> bytes:
    """In a replay: as many bytes at once as there were when this was recorded; 0 for the end.

    Parameters:
        stream: of the task, or event loop, that receives.
        descriptor: of the socket or pipe.
        real: receives natively, so many at most.
        count: how many there were.
        size: how many to take at most where all is native.
    """
    assert isinstance(stream, ReplayingStream)
    parts = b""
    while True:
        if not wait_ready(stream, descriptor, READ, f"{count} bytes"):
            return parts or real(size)
        part = real(count - len(parts) if count else 1)
        parts += part
        if len(parts) >= count or not part:
            break
    if len(parts) != count:
        words = f"received {len(parts)} bytes and the end" if count else "received more bytes"
        stream.differ(words)
    return parts
