"""Sockets and pipes of an event loop: how much at once, as it was recorded.

What an event loop does with its descriptors are events of the loop, not of one of its tasks.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from bohrbug.runtime.channels.aio_arrivals import ReplayedLoop
from bohrbug.runtime.channels.aio_turns import SeenLoop
from bohrbug.runtime.channels.descriptors import CONNECTION, DESCRIPTOR, exactly, would_block
from bohrbug.runtime.channels.ends import channel_named
from bohrbug.runtime.channels.events import ChannelId, Kind, Outcome, Status
from bohrbug.runtime.channels.streams import Channel
from bohrbug.runtime.pollers import real_poll

_PATIENCE = 1.0
"""Seconds to wait for space that there was; the reader may be of this very loop."""


def expected(seen: SeenLoop, channel: ChannelId, kind: Kind) -> Outcome | None:
    """How the log says that an operation ends; ``None`` if it goes natively."""
    return seen.next_of(channel, kind) if isinstance(seen, ReplayedLoop) else None


def note(seen: SeenLoop, channel: ChannelId, kind: Kind, status: Status, *values: int) -> None:
    """An operation has ended natively."""
    seen.stream.note(kind, _channel(seen, channel), status, values)


def _channel(seen: SeenLoop, id: ChannelId) -> Channel:
    flavour = DESCRIPTOR if id.creator == seen.task else CONNECTION
    channel = channel_named(seen.session, id, flavour)
    assert channel is not None
    return channel


@contextmanager
def _noting_errors(
    seen: SeenLoop, channel: ChannelId, kind: Kind, when_blocked: Status
) -> Generator[None]:
    """Note how an operation ends that moves nothing."""
    try:
        yield
    except BlockingIOError:
        note(seen, channel, kind, when_blocked)
        raise
    except OSError:
        note(seen, channel, kind, Status.CLOSED)
        raise


def receive(
    seen: SeenLoop,
    channel: ChannelId,
    descriptor: int,
    real: Callable[[int], bytes],
    size: int,
) -> bytes:
    """Receive bytes.

    Parameters:
        seen: the event loop.
        channel: that they come through.
        descriptor: of the socket or pipe.
        real: receives natively, so many at most.
        size: how many the program takes at most.
    """
    kind = Kind.TRY_RECV
    outcome = expected(seen, channel, kind)
    if outcome is not None:
        if outcome.status is Status.EMPTY:
            raise would_block()
        if outcome.status is Status.VALUE:
            count = outcome.values[0]
            return exactly(seen.stream, descriptor, real, count, max(count, 1))
    with _noting_errors(seen, channel, kind, Status.EMPTY):
        data = real(size)
    note(seen, channel, kind, Status.VALUE, len(data))
    return data


def send(
    seen: SeenLoop,
    channel: ChannelId,
    descriptor: int,
    real: Callable[[Any], int],
    data: Any,
) -> int:
    """Send bytes; the parameters are those of :func:`receive`."""
    kind = Kind.TRY_SEND
    outcome = expected(seen, channel, kind)
    if outcome is not None:
        if outcome.status is Status.FULL:
            raise would_block()
        if outcome.status is Status.VALUE:
            return _send_so_many(descriptor, real, data, outcome.values[0])
    with _noting_errors(seen, channel, kind, Status.FULL):
        count = real(data)
    note(seen, channel, kind, Status.VALUE, count)
    return count


def _send_so_many(descriptor: int, real: Callable[[Any], int], data: Any, count: int) -> int:
    view = memoryview(data).cast("B")[:count]
    sent = 0
    end = monotonic() + _PATIENCE
    while sent < len(view):
        try:
            sent += real(view[sent:])
        except BlockingIOError:
            if monotonic() > end:
                if not sent:
                    raise
                break
            _wait_for_space(descriptor)
    return sent


def _wait_for_space(descriptor: int) -> None:
    poll = real_poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll(50)
