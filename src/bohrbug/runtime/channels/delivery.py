"""Replay within one process: messages go to whoever is to receive them, and wait there.

The receiver's buffer of the paper (section 3.3.3): what comes before its turn is kept until it
is asked for.  Nobody else can take it, so there may be several receivers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bohrbug.runtime.channels.events import Outcome, TaskId
from bohrbug.runtime.channels.replaying import ReplayingStream, ReplaySession, waiter, wake
from bohrbug.runtime.channels.streams import Channel

MISSING: Any = object()
"""No message: everything is native from now on."""


def deliver(channel: Channel, message: tuple[TaskId | None, int], item: Any) -> bool:
    """A message was sent.

    Returns:
        False if it has to go the native way.
    """
    session = channel.session
    assert isinstance(session, ReplaySession)
    with channel.lock:
        if session.native:
            return False
        channel.arrived[message] = item
        waiting = channel.awaited.pop(message, None)
    if waiting is not None:
        wake(waiting)
    return True


def receive(stream: ReplayingStream, channel: Channel, outcome: Outcome) -> Any:
    """Wait for the message that the log says is received.

    Returns:
        The item, or :data:`MISSING`.
    """
    assert outcome.message is not None
    message = (outcome.message.sender, outcome.message.number)
    session = stream.replay
    with channel.lock:
        item = channel.arrived.pop(message, MISSING)
        if item is MISSING:
            if session.native:
                return MISSING
            lock = channel.awaited[message] = waiter()
    if item is MISSING:
        session.wait(stream, lock, f"message {outcome.message} in {channel.flavour} {channel.id}")
        with channel.lock:
            item = channel.arrived.pop(message, MISSING)
    if item is not MISSING:
        taken(channel)
    return item


def taken(channel: Channel) -> None:
    """A message was received: there is space for another one."""
    ready = []
    with channel.lock:
        channel.taken += 1
        if channel.space:
            ready = [lock for needed, lock in channel.space if needed <= channel.taken]
            channel.space = [pair for pair in channel.space if pair[0] > channel.taken]
    for lock in ready:
        wake(lock)


def wait_for_space(
    stream: ReplayingStream, channel: Channel, outcome: Outcome, maxsize: int
) -> None:
    """Wait until a bounded channel has had the space that it had when this was recorded.

    The n-th message could be sent once n + 1 - maxsize had been received; that it be so again,
    and no more, keeps programs right that use a channel as a lock, and senders free.
    """
    if outcome.position is None or maxsize <= 0:
        return
    needed = outcome.position + 1 - maxsize
    with channel.lock:
        if channel.taken >= needed or stream.replay.native:
            return
        lock = waiter()
        channel.space.append((needed, lock))
    stream.replay.wait(stream, lock, f"space in {channel.flavour} {channel.id}")


def give_back_with(channel: Channel, put: Callable[[Any], object]) -> Callable[[], None]:
    """What to do when all goes native: the program's own channel gets what arrived early.

    Parameters:
        channel: whose messages.
        put: puts an item into the program's own channel, without waiting.
    """

    def give_back() -> None:
        while channel.arrived:
            put(channel.arrived.pop(next(iter(channel.arrived))))

    return give_back
