"""``asyncio.Queue``, ``LifoQueue`` and ``PriorityQueue``."""

from __future__ import annotations

import asyncio
from asyncio import queues
from typing import Any

from bohrbug.runtime.channels.aio import aio_stream, expect, expiring, wait, waker
from bohrbug.runtime.channels.delivery import MISSING, deliver, give_back_with, taken
from bohrbug.runtime.channels.events import Kind, Outcome, Status, TaskId
from bohrbug.runtime.channels.looks import patch_looks
from bohrbug.runtime.channels.native_parts import natively, noting
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.streams import (
    Channel,
    SenderOfItems,
    Sending,
    Stream,
    new_channel,
)
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

FLAVOUR = "asyncio.Queue"
_SLICE = 0.02

_Queue: Any = queues.Queue
_init, _put, _get = _Queue.__init__, _Queue.put, _Queue.get
_qsize = _Queue.qsize
_put_nowait, _get_nowait = _Queue.put_nowait, _Queue.get_nowait
_Closed: type[Exception] = getattr(queues, "QueueShutDown", queues.QueueEmpty)
_FULL, _EMPTY = (asyncio.QueueFull, Status.FULL), (asyncio.QueueEmpty, Status.EMPTY)
_CLOSED = (_Closed, Status.CLOSED)
_CANCELLED = (asyncio.CancelledError, Status.CANCELLED)


def _channel(stream: Stream, owner: Any) -> Channel:
    channel: Channel | None = getattr(owner, "_bohrbug_channel", None)
    if channel is None or channel.session is not stream.session:
        channel = new_channel(stream, owner, FLAVOUR)
        channel.messages = SenderOfItems()

        def put(item: Any, message: tuple[TaskId | None, int]) -> None:
            _put_back(owner, channel, item, message)

        channel.give_back = give_back_with(channel, put)
    return channel


def _put_back(owner: Any, channel: Channel, item: Any, message: tuple[TaskId | None, int]) -> None:
    owner._put(item)
    channel.messages.put(item, (Sending(message[0]), message[1]))
    owner._wakeup_next(owner._getters)


@patches.method(_Queue, "__init__")
def _make(self: Any, *args: Any, **kwargs: Any) -> None:
    _init(self, *args, **kwargs)
    stream = aio_stream()
    if stream is not None:
        _channel(stream, self)


# -- replay, where the log says nothing of the event loop's order --------------------------------


def _expect_at_once(
    stream: ReplayingStream, kind: Kind, channel: Channel
) -> tuple[Outcome | None, int]:
    """How an operation that does not wait ends, and the digest of its value.

    Returns:
        ``None`` instead of an outcome if it goes natively.

    Raises:
        asyncio.QueueFull: the log says so.
        asyncio.QueueEmpty: likewise; or the queue was shut down.
    """
    digest = stream.next_digest()
    # At the end of the log nothing here may wait: the event loop would stand still.
    if stream.replay.native or stream.inside or stream.at_end:
        return None, digest
    outcome = stream.expect(kind, channel)
    if outcome is not None and outcome.status is Status.FULL:
        raise asyncio.QueueFull
    if outcome is not None and outcome.status is Status.EMPTY:
        raise asyncio.QueueEmpty
    return _unless_closed(outcome), digest


async def _expect(
    stream: ReplayingStream, kind: Kind, channel: Channel
) -> tuple[Outcome | None, int]:
    """As :func:`_expect_at_once`, of one that may wait."""
    digest = stream.next_digest()
    outcome = _unless_closed(await expect(stream, kind, channel))
    if outcome is not None and outcome.status is Status.CANCELLED:
        await _until_cancelled(stream, channel)
        return None, digest
    return outcome, digest


def _unless_closed(outcome: Outcome | None) -> Outcome | None:
    if outcome is not None and outcome.status is Status.CLOSED:
        raise _Closed
    return outcome


# -- put -----------------------------------------------------------------------------------


@patches.method(_Queue, "put_nowait")
def _put_at_once(self: Any, item: Any) -> None:
    stream = aio_stream()
    if stream is None:
        _put_nowait(self, item)
        return
    channel = _channel(stream, self)
    bounded = self._maxsize > 0
    # Within put() it is that which is the event.
    kind = Kind.SEND if stream.inside or not bounded else Kind.TRY_SEND
    if isinstance(stream, ReplayingStream):
        outcome, digest = _expect_at_once(stream, kind, channel)
        if outcome is not None:
            stream.compare(item, digest)
            _deliver(stream, channel, self, item)
            return
    with natively(stream), noting(stream, kind, channel, _FULL, _CLOSED):
        _put_nowait(self, item)
    position = -1
    if bounded:
        position = channel.position
        channel.position += 1
    number = stream.sent(kind, channel, position, item)
    channel.messages.put(item, (Sending(stream.task), number))


def _deliver(stream: Stream, channel: Channel, owner: Any, item: Any) -> None:
    owner._unfinished_tasks += 1
    owner._finished.clear()
    message = (stream.task, stream.sent(Kind.SEND, channel))
    if not deliver(channel, message, item):
        _put_back(owner, channel, item, message)


@patches.method(_Queue, "put")
async def _put_when_possible(self: Any, item: Any) -> None:
    stream = aio_stream()
    if stream is None:
        await _put(self, item)
        return
    channel = _channel(stream, self)
    if isinstance(stream, ReplayingStream):
        outcome, digest = await _expect(stream, Kind.SEND, channel)
        if outcome is not None:
            stream.compare(item, digest)
            await _wait_for_space(stream, channel, outcome, self)
            _deliver(stream, channel, self, item)
            return
    with natively(stream), noting(stream, Kind.SEND, channel, _CANCELLED):
        await _put(self, item)


async def _wait_for_space(
    stream: ReplayingStream, channel: Channel, outcome: Outcome, owner: Any
) -> None:
    maxsize = owner._maxsize
    if maxsize <= 0:
        return
    words = f"space in {channel.flavour} {channel.id}"
    if outcome.position is not None and stream.replay.claims is None:
        needed = outcome.position + 1 - maxsize
        if channel.taken < needed and not stream.is_free:
            future = asyncio.get_running_loop().create_future()
            channel.space.append((needed, waker(future)))
            await wait(stream, future, words)
    waited = 0.0
    while stream.replay.claims is not None and not stream.is_free:
        if outcome.position is not None and channel.taken >= outcome.position + 1 - maxsize:
            return
        if _qsize(owner) + len(channel.arrived) < maxsize:
            return
        await asyncio.sleep(_SLICE)
        waited += _SLICE
        stream.replay.check(stream, waited, words)


async def _until_cancelled(stream: ReplayingStream, channel: Channel) -> None:
    """The task was cancelled here: wait for that, or do what the log says that did it."""
    following = stream.expected
    if following is not None and following.outcome.status is Status.TIMED_OUT:
        timeout = expiring.get((stream, next(iter(following.outcome.values), -1)))
        if timeout is not None:
            timeout.reschedule(asyncio.get_running_loop().time())
    future = asyncio.get_running_loop().create_future()
    await wait(stream, future, f"that the task is cancelled at {channel.flavour} {channel.id}")


# -- get -----------------------------------------------------------------------------------


@patches.method(_Queue, "get_nowait")
def _get_at_once(self: Any) -> Any:
    stream = aio_stream()
    if stream is None:
        return _get_nowait(self)
    channel = _channel(stream, self)
    kind = Kind.RECV if stream.inside else Kind.TRY_RECV
    if isinstance(stream, ReplayingStream):
        outcome, digest = _expect_at_once(stream, kind, channel)
        if outcome is not None:
            assert outcome.message is not None
            item = channel.arrived.pop((outcome.message.sender, outcome.message.number), MISSING)
            if item is not MISSING:
                taken(channel)
                stream.compare(item, digest)
                return item
            # It can't come while the event loop stands still.
            stream.differ(f"looked for message {outcome.message} before it was sent")
    with natively(stream), noting(stream, kind, channel, _EMPTY, _CLOSED):
        item = _get_nowait(self)
    found = channel.messages.take(item)
    message = channel.unseen_message() if found is None else (found[0].task, found[1])
    stream.received(kind, channel, message, item)
    return item


@patches.method(_Queue, "get")
async def _get_when_possible(self: Any) -> Any:
    stream = aio_stream()
    if stream is None:
        return await _get(self)
    channel = _channel(stream, self)
    if isinstance(stream, ReplayingStream):
        while not stream.takes_new(channel, lambda: _qsize(self) > 0):
            outcome, digest = await _expect(stream, Kind.RECV, channel)
            if outcome is None:
                break
            item = await _receive(stream, channel, outcome)
            if item is not MISSING:
                stream.compare(item, digest)
                return item
    with natively(stream), noting(stream, Kind.RECV, channel, _CANCELLED):
        return await _get(self)


async def _receive(stream: ReplayingStream, channel: Channel, outcome: Outcome) -> Any:
    assert outcome.message is not None
    message = (outcome.message.sender, outcome.message.number)
    item = channel.arrived.pop(message, MISSING)
    if item is MISSING:
        if stream.is_free:
            return MISSING
        future = asyncio.get_running_loop().create_future()
        channel.awaited[message] = waker(future)
        try:
            words = f"message {outcome.message} in {channel.flavour} {channel.id}"
            await wait(stream, future, words)
        finally:
            channel.awaited.pop(message, None)
        item = channel.arrived.pop(message, MISSING)
    if item is not MISSING:
        taken(channel)
    else:
        stream.replay.release([(channel.id, message)])
    return item


# -- looks ---------------------------------------------------------------------------------


def _seen(owner: Any) -> tuple[Stream, Channel] | None:
    stream = aio_stream()
    return None if stream is None or stream.inside else (stream, _channel(stream, owner))


patch_looks(patches, "asyncio.queues:Queue", _seen, waits=False)
