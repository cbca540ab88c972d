"""``queue``: ``Queue``, ``LifoQueue``, ``PriorityQueue`` and their subclasses.

``put`` and ``get`` are our own, on the queue's own locks and container, so that who sent what is
noted in the same critical section that moves the item.
"""

from __future__ import annotations

import queue
from time import monotonic
from typing import Any

from bohrbug.runtime.channels.delivery import (
    MISSING,
    deliver,
    give_back_with,
    receive,
    receive_freely,
    take,
    taken,
    wait_as_recorded,
    wait_for_space,
)
from bohrbug.runtime.channels.events import Kind, Outcome, Status, TaskId
from bohrbug.runtime.channels.looks import patch_looks
from bohrbug.runtime.channels.queue_waits import (
    HAS_SHUTDOWN,
    Empty,
    Full,
    ShutDown,
    wait,
    wait_for_item,
    wait_for_native_space,
)
from bohrbug.runtime.channels.recording import RecordingStream
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.session import active, seen_stream
from bohrbug.runtime.channels.simple_queue import SimpleQueue
from bohrbug.runtime.channels.streams import (
    Channel,
    SenderOfItems,
    Sending,
    Stream,
    local,
    new_channel,
    receiving,
    sending,
)
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_Queue = queue.Queue
_FifoQueue: Any = queue.Queue
_LifoQueue: Any = queue.LifoQueue
_real_put, _real_get = _Queue.put, _Queue.get
_real_init = _Queue.__init__
_real_qsize = _Queue.qsize

_RECV = int(Kind.RECV)
_SEND = int(Kind.SEND)


# -- which messages a queue holds --------------------------------------------------------


def _flavour(owner: Any) -> str:
    for known in (queue.PriorityQueue, queue.LifoQueue):
        if isinstance(owner, known):
            return f"queue.{known.__name__}"
    return "queue.Queue"


def _channel(stream: Stream, owner: Any) -> Channel:
    """The channel of a queue; made now if the queue is older than the session."""
    with owner.mutex:
        channel: Channel | None = owner._bohrbug_channel
        if channel is not None and channel.session is stream.session:
            return channel
        channel = new_channel(stream, owner, _flavour(owner))
        cls = type(owner)
        known = (cls._put, cls._get)
        if known == (_FifoQueue._put, _FifoQueue._get):
            pass
        elif known == (_LifoQueue._put, _LifoQueue._get):
            channel.messages = []
            channel.take_message = channel.messages.pop
        else:
            channel.messages = SenderOfItems()
            channel.by_item = True
        if not channel.by_item:
            older = Sending(None)
            for number in range(owner._qsize()):
                channel.messages.append((older, number))
            channel.unseen = owner._qsize()

        channel.give_back = give_back_with(
            channel, lambda item, message: _put_back(owner, channel, item, message)
        )
        return channel


def _put_back(owner: Any, channel: Channel, item: Any, message: tuple[TaskId | None, int]) -> None:
    """Put an item into the queue's own container; the program has put it already."""
    sender, number = message
    with owner.mutex:
        owner._put(item)
        if channel.by_item:
            channel.messages.put(item, (Sending(sender), number))
        else:
            channel.messages.append((Sending(sender), number))
        owner.not_empty.notify()


def _unseen(channel: Channel) -> tuple[Sending, int]:
    return Sending(None), channel.unseen_message()[1]


def _message_of(owner: Any, channel: Channel, item: Any, size: int) -> tuple[Sending, int]:
    """Which message an item was, where the short way does not do."""
    messages = channel.messages
    if channel.by_item:
        return messages.take(item) or _unseen(channel)
    # The program has changed ``owner.queue`` itself.
    while len(messages) > size:
        messages.popleft() if hasattr(messages, "popleft") else messages.pop()
    return channel.take_message() if len(messages) == size else _unseen(channel)


# -- put ---------------------------------------------------------------------------------


@patches.method(_Queue, "__init__")
def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    _real_init(self, *args, **kwargs)
    stream = seen_stream()
    if stream is not None:
        _channel(stream, self)


patches.add(_Queue, "_bohrbug_channel", None)


@patches.method(_Queue, "put")
def _put(self: Any, item: Any, block: bool = True, timeout: float | None = None) -> None:
    stream = local.stream
    if stream is None:
        stream = seen_stream()
        if stream is None:
            _put_unseen(self, item, block, timeout)
            return
    channel = self._bohrbug_channel
    if channel is None or channel.session is not stream.session:
        channel = _channel(stream, self)
    if stream.replaying:
        _put_replayed(stream, channel, self, item, block, timeout)  # type: ignore[arg-type]
        return
    recorder: RecordingStream = stream  # type: ignore[assignment]
    bounded = self.maxsize > 0
    if (
        channel.by_item
        or recorder.digests is not None
        or (bounded and not (block and timeout is None))
    ):
        _put_slowly(recorder, channel, self, item, block, timeout)
        return
    target = recorder.sending.get(channel)
    if target is None:
        target = recorder.sending_to(channel)
    key, step = _SEND, None
    with self.mutex:
        if HAS_SHUTDOWN and self.is_shutdown:
            recorder.note(Kind.SEND, channel, Status.CLOSED)
            raise ShutDown
        if bounded:
            while self._qsize() >= self.maxsize > 0:
                wait(self.not_full, self.mutex)
                if HAS_SHUTDOWN and self.is_shutdown:
                    recorder.note(Kind.SEND, channel, Status.CLOSED)
                    raise ShutDown
            position = channel.position
            channel.position = position + 1
            step = position - target.position
            target.position = position
            key = step << 3 | _SEND
        self._put(item)
        number = target.count
        target.count = number + 1
        channel.messages.append((target, number))
        self.unfinished_tasks += 1
        if self.not_empty._waiters:
            self.not_empty.notify()
    code = target.codes.get(key)
    if code is None:
        code = recorder.code_of_send(Kind.SEND, channel, step)
    try:
        recorder.codes[recorder.at] = code + 1
        recorder.at += 1
    except (IndexError, ValueError):
        recorder.keep(code)


def _put_slowly(
    stream: RecordingStream,
    channel: Channel,
    owner: Any,
    item: Any,
    block: bool,
    timeout: float | None,
) -> None:
    """Queues with an order of their own, values that are digested, sends that may be in vain."""
    kind = sending(block, timeout) if owner.maxsize > 0 else Kind.SEND
    with owner.mutex:
        if HAS_SHUTDOWN and owner.is_shutdown:
            stream.note(kind, channel, Status.CLOSED)
            raise ShutDown
        try:
            wait_for_native_space(owner, block, timeout)
        except Full:
            stream.note(kind, channel, Status.TIMED_OUT if timeout else Status.FULL)
            raise
        except ShutDown:
            stream.note(kind, channel, Status.CLOSED)
            raise
        owner._put(item)
        target = stream.sending_to(channel)
        position = -1
        if owner.maxsize > 0:
            position = channel.position
            channel.position += 1
        number = stream.sent(kind, channel, position, item)
        if channel.by_item:
            channel.messages.put(item, (target, number))
        else:
            channel.messages.append((target, number))
        owner.unfinished_tasks += 1
        owner.not_empty.notify()


def _put_unseen(self: Any, item: Any, block: bool, timeout: float | None) -> None:
    """By a thread that has no id; the queue may have a channel all the same."""
    channel = self._bohrbug_channel
    session = active.session
    if channel is None or session is None or channel.session is not session:
        _real_put(self, item, block, timeout)
        return
    if session.replaying:
        with self.mutex:
            self.unfinished_tasks += 1
        message = channel.unseen_message()
        if not deliver(channel, message, item):
            _put_back(self, channel, item, message)
        return
    with self.mutex:
        if HAS_SHUTDOWN and self.is_shutdown:
            raise ShutDown
        wait_for_native_space(self, block, timeout)
        self._put(item)
        unseen = _unseen(channel)
        if channel.by_item:
            channel.messages.put(item, unseen)
        else:
            channel.messages.append(unseen)
        channel.position += 1
        self.unfinished_tasks += 1
        self.not_empty.notify()


def _put_replayed(
    stream: ReplayingStream,
    channel: Channel,
    owner: Any,
    item: Any,
    block: bool,
    timeout: float | None,
) -> None:
    maxsize = owner.maxsize
    if maxsize > 0:
        kind = Kind.SEND if block and timeout is None else sending(block, timeout)
        position = stream.sends_next_to(kind, channel)
        if position >= 0:
            _put_as_before(stream, channel, owner, item, position)
            return
    if maxsize > 0 or not stream.sends_next(channel):
        kind = sending(block, timeout) if maxsize > 0 else Kind.SEND
        digest = stream.next_digest()
        outcome = stream.expect(kind, channel)
        if outcome is None:
            _put_freely(stream, channel, owner, kind, item, block, timeout)
            return
        if outcome.status in (Status.FULL, Status.TIMED_OUT):
            raise Full
        if outcome.status is Status.CLOSED:
            raise ShutDown
        stream.compare(item, digest)
        wait_for_space(stream, channel, outcome, maxsize, owner._qsize)
    with owner.mutex:
        owner.unfinished_tasks += 1
    position = -1 if stream.replay.claims is None else _position(owner, channel)
    message = (stream.task, stream.sent(Kind.SEND, channel, position))
    if not deliver(channel, message, item):
        _put_back(owner, channel, item, message)


def _put_as_before(
    stream: ReplayingStream, channel: Channel, owner: Any, item: Any, position: int
) -> None:
    """Send to a bounded queue what is coded as a message before: the short way."""
    session = stream.replay
    needed = position + 1 - owner.maxsize
    if channel.taken < needed:
        wait_as_recorded(stream, channel, needed)
        if session.claims is not None:
            # There was a difference meanwhile: what fits is enough.
            outcome = Outcome(Status.SENT, None, position)
            wait_for_space(stream, channel, outcome, owner.maxsize, owner._qsize)
    with owner.mutex:
        owner.unfinished_tasks += 1
    sends = stream.sends
    number = sends.get(channel, 0)
    sends[channel] = number + 1
    message = (stream.task, number)
    if not deliver(channel, message, item):
        _put_back(owner, channel, item, message)


def _position(owner: Any, channel: Channel) -> int:
    """What a log is to say of a message that is sent now, in a replay that keeps messages back.

    As many were received before as were received when a bounded queue that is full gets space.
    """
    return channel.taken + owner.maxsize - 1 if owner.maxsize > 0 else -1


def _put_freely(
    stream: ReplayingStream,
    channel: Channel,
    owner: Any,
    kind: Kind,
    item: Any,
    block: bool,
    timeout: float | None,
) -> None:
    """The log says nothing of it; the message may be somebody's all the same."""
    with owner.mutex:
        if HAS_SHUTDOWN and owner.is_shutdown:
            raise ShutDown
        try:
            wait_for_native_space(owner, block, timeout)
        except Full:
            stream.note(kind, channel, Status.TIMED_OUT if timeout else Status.FULL)
            raise
        message = (stream.task, stream.sent(kind, channel, _position(owner, channel)))
        owner.unfinished_tasks += 1
    if not deliver(channel, message, item):
        _put_back(owner, channel, item, message)


# -- get ---------------------------------------------------------------------------------


@patches.method(_Queue, "get")
def _get(self: Any, block: bool = True, timeout: float | None = None) -> Any:
    stream = local.stream
    if stream is None:
        stream = seen_stream()
        if stream is None:
            return _get_unseen(self, block, timeout)
    channel = self._bohrbug_channel
    if channel is None or channel.session is not stream.session:
        channel = _channel(stream, self)
    if stream.replaying:
        return _get_replayed(stream, channel, self, block, timeout)  # type: ignore[arg-type]
    recorder: RecordingStream = stream  # type: ignore[assignment]
    kind = _RECV if block and timeout is None else int(receiving(block, timeout))
    with self.mutex:
        size = self._qsize()
        if not size or (HAS_SHUTDOWN and self.is_shutdown):
            size = wait_for_item(recorder, channel, self, kind, timeout)
        item = self._get()
        if channel.by_item or len(channel.messages) != size:
            message = _message_of(self, channel, item, size)
        else:
            message = channel.take_message()
        if self.not_full._waiters:
            self.not_full.notify()
    target, number = message
    source = recorder.received_from.get(target)
    code = None
    if source is not None and recorder.digests is None:
        code = source.codes.get(number - source.last << 3 | kind)
    if code is None:
        recorder.received(Kind(kind), channel, (target.task, number), item)
        if target.task is not None:
            recorder.received_from[target] = recorder.receiving[channel, target.task]
        return item
    source.last = number  # type: ignore[union-attr]
    try:
        recorder.codes[recorder.at] = code + 1
        recorder.at += 1
    except (IndexError, ValueError):
        recorder.keep(code)
    return item


def _get_unseen(self: Any, block: bool, timeout: float | None) -> Any:
    channel = self._bohrbug_channel
    session = active.session
    if channel is None or session is None or channel.session is not session:
        return _real_get(self, block, timeout)
    if session.replaying and not session.native:  # type: ignore[attr-defined]
        session.warn(
            f"a thread that Bohrbug does not see receives from {channel.flavour} {channel.id}: "
            "it waits until the replay is over"
        )
        return _real_get(self, block, timeout)
    return _take_out(self, channel, block, timeout)[0]


def _get_replayed(
    stream: ReplayingStream,
    channel: Channel,
    owner: Any,
    block: bool,
    timeout: float | None,
) -> Any:
    kind = Kind.RECV if block and timeout is None else receiving(block, timeout)
    message = stream.receives_next(kind, channel)
    item = MISSING if message is None else take(stream, channel, message)
    if item is not MISSING:
        if owner.maxsize > 0:
            taken(channel)
        return item
    while True:
        if stream.takes_new(channel, owner._qsize):
            try:
                return _get_freely(stream, channel, owner, kind, False, None)
            except Empty:
                # Another task was quicker.
                pass
        digest = stream.next_digest()
        outcome = stream.expect(kind, channel)
        if outcome is None:
            return _get_freely(stream, channel, owner, kind, block, timeout)
        if outcome.status in (Status.EMPTY, Status.TIMED_OUT):
            raise Empty
        if outcome.status is Status.CLOSED:
            raise ShutDown
        item = receive(stream, channel, outcome)
        if item is not MISSING:
            stream.compare(item, digest)
            return item
        # It does not come: what the log says next, or what comes.


def _get_freely(
    stream: ReplayingStream,
    channel: Channel,
    owner: Any,
    kind: Kind,
    block: bool,
    timeout: float | None,
) -> Any:
    """The log says nothing of it."""
    try:
        item, message = receive_freely(
            stream,
            channel,
            lambda block, timeout: _take_out(owner, channel, block, timeout),
            block,
            timeout,
        )
    except Empty:
        stream.note(kind, channel, Status.EMPTY if kind is Kind.TRY_RECV else Status.TIMED_OUT)
        raise
    except ShutDown:
        stream.note(kind, channel, Status.CLOSED)
        raise
    stream.received(kind, channel, message)
    taken(channel)
    return item


def _take_out(
    owner: Any, channel: Channel, block: bool, timeout: float | None
) -> tuple[Any, tuple[TaskId | None, int]]:
    """An item of the queue's own container, and which message it is."""
    with owner.not_empty:
        end = monotonic() + timeout if block and timeout is not None else None
        while not owner._qsize():
            if HAS_SHUTDOWN and owner.is_shutdown:
                raise ShutDown
            left = None if end is None else end - monotonic()
            if not block or (left is not None and left <= 0):
                raise Empty
            owner.not_empty.wait(left)
        size = owner._qsize()
        item = owner._get()
        sending, number = _message_of(owner, channel, item, size)
        owner.not_full.notify()
    return item, (sending.task, number)


# -- looks -------------------------------------------------------------------------------


def _seen(owner: Any) -> tuple[Stream, Channel] | None:
    stream = seen_stream()
    return None if stream is None else (stream, _channel(stream, owner))


def _is_full(owner: Any) -> bool:
    size: int = _real_qsize(owner) + len(owner._bohrbug_channel.arrived)
    return bool(0 < owner.maxsize <= size)


patch_looks(patches, "queue:Queue", _seen, full=_is_full)

patches.add(queue, "SimpleQueue", SimpleQueue)
