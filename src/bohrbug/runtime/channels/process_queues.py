"""``multiprocessing.Queue``, ``JoinableQueue`` and ``SimpleQueue``."""

from __future__ import annotations

import os
import queue
from functools import partial
from multiprocessing import connection, queues, synchronize
from multiprocessing.reduction import ForkingPickler
from typing import Any

from bohrbug.runtime.channels.delivery import MISSING
from bohrbug.runtime.channels.ends import Ends, incoming
from bohrbug.runtime.channels.envelopes import MARK, Envelope, enclosed, is_envelope, item_of
from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.looks import patch_looks
from bohrbug.runtime.channels.native_parts import natively
from bohrbug.runtime.channels.pipes import real_recv_bytes, receive_from, send_enclosed
from bohrbug.runtime.channels.pulling import Source, post, pull
from bohrbug.runtime.channels.recording import RecordingStream
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.session import current
from bohrbug.runtime.channels.shared_counts import SharedCounts, counts_of
from bohrbug.runtime.channels.streams import Channel, Stream, local, receiving, sending
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

QUEUE, SIMPLE = "multiprocessing.Queue", "multiprocessing.SimpleQueue"

_synchronize: Any = synchronize
_UNBOUNDED: int = _synchronize.SEM_VALUE_MAX
"""The size of a queue that has none."""

Connection: Any = connection.Connection if os.name == "posix" else None
_LENGTH, _LONG_LENGTH = 4, 8
"""Bytes that say how long a message is, and those that do if the first say -1."""

_SLICE = 0.1
_RECV, _SEND = int(Kind.RECV), int(Kind.SEND)
loads = ForkingPickler.loads
_NOWHERE: tuple[Any, Any, Any] = (None, None, None)


def _channel(stream: Stream, owner: Any) -> Channel | None:
    """The channel of a queue; found once in each process."""
    named = stream.session.named
    found: tuple[Any, Channel | None, SharedCounts | None] | None
    found = owner.__dict__.get("_bohrbug_found")
    if found is None or found[0] is not named:
        channel = incoming(stream, owner._reader)
        counts = None if channel is None else _counts(channel, owner)
        found = owner._bohrbug_found = (named, channel, counts)
    return found[1]


def _name_channel(self: Any, flavour: str) -> None:
    """The pipe inside is the queue's channel, under the queue's name."""
    for end in (self._reader, self._writer):
        ends = getattr(end, "_bohrbug_ends", None)
        if ends is not None:
            end._bohrbug_ends = Ends(ends.incoming, ends.outgoing, flavour)


def _patch_init(cls: Any, flavour: str) -> None:
    real = cls.__init__

    @patches.method(cls, "__init__")
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        _name_channel(self, flavour)


_patch_init(queues.Queue, QUEUE)
_patch_init(queues.SimpleQueue, SIMPLE)

_start_thread = queues.Queue._start_thread  # type: ignore[attr-defined]


@patches.method(queues.Queue, "_start_thread")
def _start_feeder(self: Any) -> None:
    # The thread that writes to the pipe is the queue's own; it sees items in envelopes.
    on_error = self._on_queue_feeder_error

    def on_feeder_error(error: Any, thing: Any) -> None:
        # What can't be pickled was put, and nobody takes it: the queue gives its space back.
        counts = self.__dict__.get("_bohrbug_found", _NOWHERE)[2]
        if counts is not None:
            counts.count_taken()
        on_error(error, item_of(thing))

    self._on_queue_feeder_error = on_feeder_error
    local.unseen += 1
    try:
        _start_thread(self)
    finally:
        local.unseen -= 1
        del self._on_queue_feeder_error


def _patch_put(cls: Any) -> None:
    real = cls.put

    @patches.method(cls, "put")
    def put(self: Any, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        stream = local.stream
        if block and timeout is None and type(stream) is RecordingStream and not stream.inside:
            # The short way, for the second and later messages of a task.
            found = self.__dict__.get("_bohrbug_found", _NOWHERE)
            target = stream.sending.get(found[1]) if found[0] is stream.session.named else None
            if target is not None and stream.digests is None and not stream.session.closed:
                # Who sends is known before the message can be received; it is noted after.
                envelope = (MARK, target.task, target.count, obj)
                step = None
                if found[2] is None:
                    real(self, envelope)
                    code = target.codes.get(_SEND)
                else:
                    position = _put_counted(self, envelope, True, None, found[2])
                    step = position - target.position
                    target.position = position
                    code = target.codes.get(step << 3 | _SEND)
                target.count += 1
                if code is None:
                    code = stream.code_of_send(Kind.SEND, found[1], step)
                try:
                    stream.codes[stream.at] = code + 1
                    stream.at += 1
                except (IndexError, ValueError):
                    stream.keep(code)
                return
        stream = current()
        channel = None if stream is None else _channel(stream, self)
        if stream is None or channel is None:
            real(self, obj, block, timeout)
            return
        kind = sending(block, timeout)
        counts = self._bohrbug_found[2]
        if isinstance(stream, RecordingStream):
            _put_recorded(stream, channel, kind, self, obj, block, timeout, real, counts)
            return
        assert isinstance(stream, ReplayingStream)
        position = -1
        if counts is None:
            follows = stream.sends_next(channel)
        else:
            known = stream.sends_next_to(kind, channel)
            follows = known >= 0
            if follows:
                _wait_for_space(stream, channel, counts, known + 1 - self._maxsize)
        as_before = follows
        if not follows:
            digest = stream.next_digest()
            outcome = stream.expect(kind, channel)
            if outcome is not None and outcome.status is not Status.SENT:
                raise queue.Full
            stream.compare(obj, digest)
            follows = outcome is not None
            if counts is not None:
                if outcome is not None and outcome.position is not None:
                    _wait_for_space(stream, channel, counts, outcome.position + 1 - self._maxsize)
                # As many were taken before as were taken when a full queue gets space.
                position = counts.taken + self._maxsize - 1
        number = stream.sends.get(channel, 0)
        before = partial(_count_task, self) if "_unfinished_tasks" in self.__dict__ else None
        if post(stream, channel, (stream.task, number), obj, before):
            if as_before:
                # Nothing is recorded of it.
                stream.sends[channel] = number + 1
            else:
                stream.sent(kind, channel, position)
            return
        envelope = enclosed(stream.task, number, obj)
        with natively(stream):
            if follows:
                _put_patiently(stream, self, envelope, real)
            else:
                real(self, envelope, block, timeout)
        stream.sent(kind, channel, position, obj)


def _counts(channel: Channel, owner: Any) -> SharedCounts | None:
    """How many messages were put into a bounded queue, and taken; ``None`` of others."""
    return counts_of(channel) if owner._maxsize < _UNBOUNDED else None


def _wait_for_space(
    stream: ReplayingStream, channel: Channel, counts: SharedCounts, needed: int
) -> None:
    """Wait until as many messages were taken as when this was recorded; see ``delivery``."""
    if counts.wait_until_taken(needed, _SLICE):
        return
    waited = _SLICE
    while stream.replay.claims is None and not stream.is_free:
        stream.replay.check(stream, waited, f"space in {channel.flavour} {channel.id}")
        if counts.wait_until_taken(needed, _SLICE):
            return
        waited += _SLICE


def _count_task(owner: Any) -> None:
    """There is another item that ``task_done`` is to be called for."""
    with owner._cond:
        owner._unfinished_tasks.release()


def _put_recorded(
    stream: RecordingStream,
    channel: Channel,
    kind: Kind,
    owner: Any,
    item: Any,
    block: bool,
    timeout: float | None,
    real: Any,
    counts: SharedCounts | None,
) -> None:
    # Who sends is known before the message can be received; the event is noted after.
    target = stream.sending.get(channel) or stream.sending_to(channel)
    envelope = enclosed(stream.task, target.count, item)
    position = -1
    try:
        if counts is None:
            real(owner, envelope, block, timeout)
        else:
            position = _put_counted(owner, envelope, block, timeout, counts)
    except queue.Full:
        stream.note(kind, channel, Status.TIMED_OUT if timeout else Status.FULL)
        raise
    stream.sent(kind, channel, position, item)


def _put_counted(
    owner: Any, envelope: Envelope, block: bool, timeout: float | None, counts: SharedCounts
) -> int:
    """What ``put`` does, and how many messages were put before.

    They are counted once there is space, and before this one can be received: then whoever waits in
    a replay until as many were taken as there must have been does not wait for one that follows.

    Raises:
        queue.Full: there was no space in time.
        ValueError: the queue is closed.
    """
    if owner._closed:
        raise ValueError(f"Queue {owner!r} is closed")
    if not owner._sem.acquire(block, timeout):
        raise queue.Full
    position = counts.count_put()
    tasks = getattr(owner, "_unfinished_tasks", None)
    with owner._notempty:
        if owner._thread is None:
            owner._start_thread()
        if tasks is None:
            owner._buffer.append(envelope)
        else:
            # Who gets it may say at once that it is done: not before it is counted.
            with owner._cond:
                owner._buffer.append(envelope)
                tasks.release()
        if owner._notempty._waiters:
            owner._notempty.notify()
    return position


def _put_patiently(stream: ReplayingStream, owner: Any, envelope: Envelope, real: Any) -> None:
    """The log says that there is space: wait until there is."""
    waited = 0.0
    while True:
        try:
            real(owner, envelope, True, None if stream.is_free else _SLICE)
        except queue.Full:
            waited += _SLICE
            stream.replay.check(stream, waited, "space in a multiprocessing queue")
        else:
            return


_patch_put(queues.Queue)
_patch_put(queues.JoinableQueue)

_get = queues.Queue.get


def _read(reader: Any) -> bytes:
    """``reader.recv_bytes()`` in fewer calls.

    Raises:
        EOFError: nobody can write any more.
    """
    descriptor = reader._handle
    if type(reader) is not Connection or descriptor is None:
        data: bytes = real_recv_bytes(reader)
        return data
    head = os.read(descriptor, _LENGTH)
    if not head:
        raise EOFError
    while len(head) < _LENGTH:
        head += _more(descriptor, _LENGTH - len(head))
    left = int.from_bytes(head, "big", signed=True)
    if left == -1:
        head = b""
        while len(head) < _LONG_LENGTH:
            head += _more(descriptor, _LONG_LENGTH - len(head))
        left = int.from_bytes(head, "big")
    data = os.read(descriptor, left)
    if len(data) == left:
        return data
    parts = [data]
    left -= len(data)
    while left:
        data = _more(descriptor, left)
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def _more(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size)
    if not data:
        raise OSError("got end of file during message")
    return data


def _get_recorded(stream: RecordingStream, channel: Channel, owner: Any) -> Any:
    """What ``get`` does without a timeout, and which message it was; in few calls."""
    try:
        with owner._rlock:
            data = _read(owner._reader)
        owner._sem.release()
    except EOFError:
        stream.note(Kind.RECV, channel, Status.CLOSED)
        raise
    thing = loads(data)
    if type(thing) is not tuple or not is_envelope(thing):
        stream.received(Kind.RECV, channel, channel.unseen_message(), thing)
        return thing
    _, sender, number, item = thing
    source = stream.receiving.get((channel, sender))
    code = None
    if source is not None and stream.digests is None:
        code = source.codes.get(number - source.last << 3 | _RECV)
    if code is None or source is None:
        stream.received(Kind.RECV, channel, (sender, number), item)
        return item
    source.last = number
    try:
        stream.codes[stream.at] = code + 1
        stream.at += 1
    except (IndexError, ValueError):
        stream.keep(code)
    return item


@patches.method(queues.Queue, "get")
def _get_item(self: Any, block: bool = True, timeout: float | None = None) -> Any:
    stream = local.stream
    if block and timeout is None and type(stream) is RecordingStream and not stream.inside:
        # The short way, for the second and later messages of a process.
        named, channel, _ = self.__dict__.get("_bohrbug_found", _NOWHERE)
        session = stream.session
        if named is session.named and channel and not (session.closed or self._closed):
            return _get_recorded(stream, channel, self)
    stream = current()
    channel = None if stream is None else _channel(stream, self)
    if stream is None or channel is None:
        return item_of(_get(self, block, timeout))
    if self._closed:
        return _get(self, block, timeout)
    if block and timeout is None and isinstance(stream, RecordingStream):
        return _get_recorded(stream, channel, self)
    kind = receiving(block, timeout)
    counts = self.__dict__["_bohrbug_found"][2] if stream.replaying else None
    if isinstance(stream, ReplayingStream) and not stream.replay.options.keep_going:
        # The short way; who is to go on after a difference looks whether there was one first.
        message = stream.receives_next(kind, channel)
        if message is not None:
            item = channel.arrived.pop(message, MISSING)
            if item is MISSING:
                with natively(stream):
                    source = Source(self._reader, self._rlock, self._sem.release)
                    item = pull(stream, channel, message, source)
            if item is not MISSING:
                if counts is not None:
                    counts.count_taken()
                return item
            # It does not come: what the log says next, or what comes.
    try:
        source = Source(self._reader, self._rlock, self._sem.release)
        item = receive_from(stream, kind, channel, source, lambda: _get(self, block, timeout))
    except queue.Empty:
        stream.note(kind, channel, Status.EMPTY if kind is Kind.TRY_RECV else Status.TIMED_OUT)
        raise
    except LookupError:
        raise queue.Empty from None
    if counts is not None:
        counts.count_taken()
    return item


_simple_get, _simple_put = queues.SimpleQueue.get, queues.SimpleQueue.put


@patches.method(queues.SimpleQueue, "get")
def _get_simple(self: Any) -> Any:
    stream = current()
    channel = None if stream is None else incoming(stream, self._reader)
    if stream is None or channel is None:
        thing = _simple_get(self)
        return item_of(thing)

    source = Source(self._reader, self._rlock)
    return receive_from(stream, Kind.RECV, channel, source, lambda: _simple_get(self))


@patches.method(queues.SimpleQueue, "put")
def _put_simple(self: Any, obj: Any) -> None:
    stream = current()
    channel = None if stream is None else incoming(stream, self._reader)
    if stream is None or channel is None:
        _simple_put(self, obj)
        return

    def send(thing: Any) -> None:
        message = (thing[1], thing[2])
        if not (isinstance(stream, ReplayingStream) and post(stream, channel, message, obj)):
            _simple_put(self, thing)

    send_enclosed(stream, channel, obj, send)


def _seen(owner: Any) -> tuple[Stream, Channel] | None:
    stream = current()
    channel = None if stream is None else incoming(stream, owner._reader)
    return None if stream is None or channel is None else (stream, channel)


patch_looks(patches, "multiprocessing.queues:Queue", _seen)
patch_looks(patches, "multiprocessing.queues:SimpleQueue", _seen)
