"""Replay within one process: messages go to whoever is to receive them, and wait there.

The receiver's buffer of the paper (section 3.3.3): what comes before its turn is kept until it
is asked for.  Nobody else can take it, so there may be several receivers.
"""

from __future__ import annotations

from _queue import Empty
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.channels.events import Outcome, TaskId
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.replaying import ReplaySession, waiter, wake
from bohrbug.runtime.channels.resynchronising import Message
from bohrbug.runtime.channels.streams import Channel, GiveBack, message_id

_SLICE = 0.05

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
    if (session.claims is not None or session.native) and not session.intercepts(channel, message):
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
    session = stream.replay
    lock = channel.awaited[message] = waiter()
    item = arrived.pop(message, MISSING)
    if item is not MISSING or session.native:
        channel.awaited.pop(message, None)
        return item

    def words() -> str:
        return f"message {message_id(message)} in {channel.flavour} {channel.id}"

    session.wait(stream, lock, words, lambda: session.cannot_come(channel, message))
    item = arrived.pop(message, MISSING)
    if item is MISSING:
        channel.awaited.pop(message, None)
        session.release([(channel.id, message)])
    else:
        stream.came_after_all()
    return item


def receive_freely(
    stream: ReplayingStream,
    channel: Channel,
    get: Callable[[bool, float | None], Any],
    block: bool,
    timeout: float | None,
) -> Any:
    """Receive what the log says nothing of: what comes, and is nobody's by the log.

    Parameters:
        stream: of the task that receives.
        channel: to receive from.
        get: takes an item out of the program's own channel; whether to wait, and how long.
        block: whether the program waits.
        timeout: how long it does at most; ``None`` for no limit.

    Raises:
        queue.Empty: nothing came.
    """
    session = stream.replay
    waited = 0.0
    while block and timeout is None and not session.native:
        try:
            return get(True, _SLICE)
        except Empty:
            waited += _SLICE
            if channel.arrived and session.is_quiet(waited):
                # Whoever is to get it by the log does not come.
                session.release_all(channel)
            session.look_around()
    return get(block, timeout)


def taken(channel: Channel) -> None:
    """A message was received: there is space for another one."""
    with channel.lock:
        now = channel.taken = channel.taken + 1
        if not channel.space:
            return
        ready = [lock for needed, lock in channel.space if needed <= now]
        if ready:
            channel.space = [pair for pair in channel.space if pair[0] > now]
    for lock in ready:
        wake(lock)


def wait_for_space(
    stream: ReplayingStream,
    channel: Channel,
    outcome: Outcome,
    maxsize: int,
    size: Callable[[], int],
) -> None:
    """Wait until a bounded channel has had the space that it had when this was recorded.

    The n-th message could be sent once n + 1 - maxsize had been received; that it be so again,
    and no more, keeps programs right that use a channel as a lock, and senders free.  After a
    difference other messages are sent and received; then it is enough that there is space now.

    Parameters:
        stream: of the task that sends.
        channel: to send to.
        outcome: that is expected.
        maxsize: how many the channel holds.
        size: how many the program's own channel holds now.
    """
    if maxsize <= 0:
        return
    position = outcome.position
    if position is not None and stream.replay.claims is None:
        wait_as_recorded(stream, channel, position + 1 - maxsize)
    waited = 0.0
    while stream.replay.claims is not None and not stream.is_free:
        if position is not None and channel.taken >= position + 1 - maxsize:
            return
        if size() + len(channel.arrived) < maxsize:
            return
        lock = waiter()
        with channel.lock:
            channel.space.append((0, lock))
        if not lock.acquire(timeout=_SLICE):
            waited += _SLICE
            stream.replay.check(stream, waited, f"space in {channel.flavour} {channel.id}")


def wait_as_recorded(stream: ReplayingStream, channel: Channel, needed: int) -> None:
    """Wait until so many messages were received; see :func:`wait_for_space`."""
    if channel.taken >= needed:
        return
    with channel.lock:
        if channel.taken >= needed or stream.is_free:
            return
        lock = waiter()
        channel.space.append((needed, lock))
    stream.replay.wait(stream, lock, lambda: f"space in {channel.flavour} {channel.id}")


def give_back_with(channel: Channel, put: Callable[[Any, Message], object]) -> GiveBack:
    """How the program's own channel gets what arrived early and nobody is to get by the log.

    Parameters:
        channel: whose messages.
        put: puts an item into the program's own channel, without waiting; told which one it is.
    """

    def give_back(chosen: Callable[[Message], bool]) -> None:
        for message in list(channel.arrived):
            item = channel.arrived.pop(message, MISSING) if chosen(message) else MISSING
            if item is not MISSING:
                put(item, message)

    return give_back
