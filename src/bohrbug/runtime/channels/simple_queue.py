"""``queue.SimpleQueue``, which is written in C: ours stands in its place."""

from __future__ import annotations

import _queue
from typing import Any

from bohrbug.runtime.channels.delivery import (
    MISSING,
    deliver,
    give_back_with,
    receive,
    receive_freely,
    take,
)
from bohrbug.runtime.channels.events import Kind, Status, TaskId
from bohrbug.runtime.channels.looks import look
from bohrbug.runtime.channels.recording import STALE, RecordingStream
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.session import active, seen_stream
from bohrbug.runtime.channels.streams import (
    Channel,
    Sending,
    Stream,
    local,
    new_channel,
    receiving,
)

Empty = _queue.Empty
RealSimpleQueue = _queue.SimpleQueue
_simple_put, _simple_get = RealSimpleQueue.put, RealSimpleQueue.get
_simple_empty, _simple_qsize = RealSimpleQueue.empty, RealSimpleQueue.qsize
_SIMPLE = "queue.SimpleQueue"


class SimpleQueue(RealSimpleQueue):  # type: ignore[type-arg]
    """Takes the place of ``queue.SimpleQueue``; its items travel with their sender's id."""

    _bohrbug_channel: Channel | None = None

    def __init__(self) -> None:
        stream = seen_stream()
        if stream is not None:
            self._bohrbug_channel_for(stream)

    def _bohrbug_channel_for(self, stream: Stream) -> Channel:
        channel = self._bohrbug_channel
        if channel is None or channel.session is not stream.session:
            channel = new_channel(stream, self, _SIMPLE)

            def put(item: Any, message: tuple[TaskId | None, int]) -> None:
                _simple_put(self, (item, Sending(message[0]), message[1]))

            channel.give_back = give_back_with(channel, put)
        return channel

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """As of ``queue.SimpleQueue``: never waits."""
        stream = local.stream
        if stream is None:
            stream = seen_stream()
            if stream is None:
                self._put_unseen(item)
                return
        channel = self._bohrbug_channel
        if channel is None or channel.session is not stream.session:
            channel = self._bohrbug_channel_for(stream)
        if stream.replaying:
            assert isinstance(stream, ReplayingStream)
            if not stream.sends_next(channel):
                digest = stream.next_digest()
                if stream.expect(Kind.SEND, channel) is not None:
                    stream.compare(item, digest)
            number = stream.sent(Kind.SEND, channel)
            if not deliver(channel, (stream.task, number), item):
                _simple_put(self, (item, Sending(stream.task), number))
            return
        target = stream.sending_to(channel)  # type: ignore[attr-defined]
        # The number is taken before the item can be received, the event noted after.
        number = target.count
        _simple_put(self, (item, target, number))
        stream.sent(Kind.SEND, channel, -1, item)

    def _put_unseen(self, item: Any) -> None:
        channel, session = self._bohrbug_channel, active.session
        if channel is None or session is None or channel.session is not session:
            _simple_put(self, (item, None, 0))
            return
        message = channel.unseen_message()
        if session.replaying and deliver(channel, message, item):
            return
        _simple_put(self, (item, Sending(None), message[1]))

    def put_nowait(self, item: Any) -> None:
        """As :meth:`put`."""
        self.put(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """As of ``queue.SimpleQueue``."""
        stream = local.stream
        if stream is None:
            stream = seen_stream()
            if stream is None:
                return _simple_get(self, block, timeout)[0]
        channel = self._bohrbug_channel
        if channel is None or channel.session is not stream.session:
            channel = self._bohrbug_channel_for(stream)
        kind = receiving(block, timeout)
        if stream.replaying:
            assert isinstance(stream, ReplayingStream)
            item = self._get_replayed(stream, channel, kind)
            if item is not MISSING:
                return item
        try:
            if isinstance(stream, ReplayingStream):
                item, sender, number = receive_freely(
                    stream, channel, lambda *how: _simple_get(self, *how), block, timeout
                )
            elif kind is Kind.RECV:
                item, sender, number = self._wait(stream)  # type: ignore[arg-type]
            else:
                item, sender, number = _simple_get(self, block, timeout)
        except Empty:
            status = Status.EMPTY if kind is Kind.TRY_RECV else Status.TIMED_OUT
            stream.note(kind, channel, status)
            raise
        message = channel.unseen_message() if sender is None else (sender.task, number)
        stream.received(kind, channel, message, item)
        return item

    def _get_replayed(self, stream: ReplayingStream, channel: Channel, kind: Kind) -> Any:
        """What the log says, or ``MISSING`` if it says nothing."""
        message = stream.receives_next(kind, channel)
        item = MISSING if message is None else take(stream, channel, message)
        while item is MISSING:
            if stream.takes_new(channel, lambda: not _simple_empty(self)):
                break
            digest = stream.next_digest()
            outcome = stream.expect(kind, channel)
            if outcome is None:
                break
            if outcome.status is not Status.RECEIVED:
                raise Empty
            item = receive(stream, channel, outcome)
            if item is not MISSING:
                stream.compare(item, digest)
        return item

    def _wait(self, stream: RecordingStream) -> Any:
        if stream.has_unwritten() and _simple_empty(self):
            try:
                return _simple_get(self, True, STALE)
            except Empty:
                stream.flush()
        return _simple_get(self)

    def get_nowait(self) -> Any:
        """As ``get(False)``."""
        return self.get(False)

    def qsize(self) -> int:
        """As of ``queue.SimpleQueue``."""
        stream = seen_stream()
        if stream is None:
            return _simple_qsize(self)
        channel = self._bohrbug_channel_for(stream)
        return look(stream, channel, "qsize", lambda: _simple_qsize(self))

    def empty(self) -> bool:
        """As of ``queue.SimpleQueue``."""
        stream = seen_stream()
        if stream is None:
            return _simple_empty(self)
        channel = self._bohrbug_channel_for(stream)
        return bool(look(stream, channel, "empty", lambda: _simple_empty(self)))


SimpleQueue.__module__ = RealSimpleQueue.__module__
SimpleQueue.__qualname__ = RealSimpleQueue.__qualname__
