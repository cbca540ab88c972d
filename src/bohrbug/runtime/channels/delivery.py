"""Replay within one process: messages go to whoever is to receive them, and wait there.

The receiver's buffer of the paper (section 3.3.3): what comes before its turn is kept until it
is asked for.  Nobody else can take it, so there may be several receivers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bohrbug.runtime.channels.events import Outcome, TaskId
from bohrbug.runtime.channels.replaying import ReplayingStream, ReplaySession, waiter, wake
from bohrbug.runtime.channels.streams import Channel, message_id

MISSING: Any = object()
"""No message: everything is native from now on."""


def deliver(channel: Channel, message: tuple[TaskId | None, int], item: Any) -> bool:
    """A message was sent.

    Returns:
        False if it has to go the native way.
    """
    session: ReplaySession = channel.session  # type: ignore[assignment]
    # Without a lock: first it is there, then somebody may be told; who waits looks once more.
    channel.arrived[message] = item
    if session.native:
        return channel.arrived.pop(message, MISSING) is MISSING
    waiting = channel.awaited.pop(message, None)
    if waiting is not None:
        wake(waiting)
    return True


def receive(stream: ReplayingStream, channel: Channel, outcome: Outcome) -> Any:
    """Wait for the message that the log says is received, and make space for another one.

    Returns:
        The item, or :data:`MISSING`.
    """
    assert outcome.message is not None
    item = take(stream, channel, (outcome.message.sender, outcome.message.number))
    if item is not MISSING:
        taken(channel)
    return item


def take(stream: ReplayingStream, channel: Channel, message: tuple[TaskId | None, int]) -> Any:
    """Wait for a message of an unbounded channel.

    Returns:
        The item, or :data:`MISSING`.
    """
    arrived = channel.arrived
    item = arrived.pop(message, MISSING)
    if item is not MISSING:
        return item
    lock = channel.awaited[message] = waiter()
    item = arrived.pop(message, MISSING)
    if item is not MISSING or stream.replay.native:
        channel.awaited.pop(message, None)
        return item

    def words() -> str:
        return f"message {message_id(message)} in {channel.flavour} {channel.id}"

    stream.replay.wait(stream, lock, words)
    return arrived.pop(message, MISSING)


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
    stream.replay.wait(stream, lock, lambda: f"space in {channel.flavour} {channel.id}")


def give_back_with(channel: Channel, put: Callable[[Any], object]) -> Callable[[], None]:
    """What to do when all goes native: the program's own channel gets what arrived early.

    Parameters:
        channel: whose messages.
        put: puts an item into the program's own channel, without waiting.
    """

    def give_back() -> None:
        for message in list(channel.arrived):
            item = channel.arrived.pop(message, MISSING)
            if item is not MISSING:
                put(item)

    return give_back
