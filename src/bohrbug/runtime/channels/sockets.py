"""Sockets within this machine: who is accepted next, and how many bytes come at once.

Only TCP over the loopback interface.  What is done with a socket while an asyncio event loop runs
in the thread is left to :mod:`aio_sockets`.  All that is about event loops is imported where there
is one: for a program without asyncio loading it would take longer than all the rest.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from typing import Any

from bohrbug.runtime.channels.delivery import MISSING
from bohrbug.runtime.channels.descriptors import (
    CONNECTION,
    LISTEN,
    beside,
    exactly,
    known,
    wait_ready,
    would_block,
)
from bohrbug.runtime.channels.ends import Ends, incoming, outgoing
from bohrbug.runtime.channels.events import ChannelId, Kind, MessageId, Outcome, Status
from bohrbug.runtime.channels.native_parts import noting
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.session import active, append, current, main_stream
from bohrbug.runtime.channels.streams import Channel, Stream, channel_of
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_Socket: Any = socket.socket
_listen, _accept, _connect, _connect_ex = (
    _Socket.listen,
    _Socket.accept,
    _Socket.connect,
    _Socket.connect_ex,
)
_recv, _recv_into, _send = _Socket.recv, _Socket.recv_into, _Socket.send
_EMPTY = (BlockingIOError, Status.EMPTY)
_TIMED_OUT = (TimeoutError, Status.TIMED_OUT)
_CLOSED = (OSError, Status.CLOSED)
_REGISTRATION = 0.1
_REGISTRATION_IN_REPLAY = 2.0
"""Seconds that a connecting task may need to say that it is it that connects."""


def _stream() -> Stream | None:
    return None if _in_event_loop() else current()


def _in_event_loop() -> bool:
    events = sys.modules.get("asyncio.events")
    return events is not None and events._get_running_loop() is not None


def _loop() -> Any:
    """The event loop that runs in this thread, if it takes part."""
    if active.session is None or not _in_event_loop():
        return None
    from bohrbug.runtime.channels.aio_turns import running_loop

    return running_loop()


def _kind(self: Any) -> Kind:
    timeout = self.gettimeout()
    if timeout is None:
        return Kind.RECV
    return Kind.TIMED_RECV if timeout else Kind.TRY_RECV


def _fail_as(outcome: Outcome) -> None:
    """Raise what a receive raised when it was recorded."""
    if outcome.status is Status.EMPTY:
        raise would_block()
    if outcome.status is Status.TIMED_OUT:
        raise TimeoutError("timed out")


def _is_loopback(self: Any, address: Any) -> bool:
    if self.type != socket.SOCK_STREAM or self.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    host = str(address[0]) if isinstance(address, tuple) else ""
    return host.startswith("127.") or host in ("localhost", "::1", "::ffff:127.0.0.1")


def _stream_in_loop() -> Stream | None:
    from bohrbug.runtime.channels.aio import aio_stream

    return aio_stream()


def _seen_in_loop(self: Any, flags: object, *, sends: bool) -> tuple[Any, ChannelId] | None:
    """The event loop that runs here and the channel that it uses; ``None`` if it sees nothing."""
    loop = None if flags else _loop()
    if loop is None:
        return None
    ends = beside(self)._bohrbug_ends
    name = ends.outgoing if ends is not None and sends else loop.channel_of(self)
    return None if name is None else (loop, name)


# -- connecting ----------------------------------------------------------------------------


def _path(stream: Stream, address: Any) -> Any:
    return stream.session.folder / f"address-{address[1]}"


def _name(stream: Stream, self: Any) -> None:
    """Say to whoever accepts who it is that connects from this address."""
    there, back = stream.next_channel(), stream.next_channel()
    beside(self)._bohrbug_ends = Ends(back, there, CONNECTION)
    known[self.fileno()] = self
    try:
        path = _path(stream, self.getsockname())
        path.unlink(missing_ok=True)
        append(path, json.dumps([*there, *back]).encode())
    except OSError:
        return


def _peer(stream: Stream, address: Any) -> tuple[ChannelId, ChannelId] | None:
    path = _path(stream, address)
    patience = _REGISTRATION_IN_REPLAY if stream.replaying else _REGISTRATION
    end = time.monotonic() + patience
    while True:
        try:
            creator, number, back_creator, back_number = json.loads(path.read_text())
        except (OSError, ValueError):
            if time.monotonic() > end:
                return None
            time.sleep(_REGISTRATION / 100)
        else:
            # The next connection from this address is another one.
            path.unlink(missing_ok=True)
            return ChannelId(creator, number), ChannelId(back_creator, back_number)


def _connecting(self: Any, address: Any, real: Any) -> Any:
    stream = _stream() if _loop() is None else _stream_in_loop()
    if stream is None or not _is_loopback(self, address):
        return real(self, address)
    stream.expect(Kind.SEND, None, "socket.connect")
    try:
        return real(self, address)
    finally:
        stream.note(Kind.SEND, None, Status.SENT, (), "socket.connect")
        _name(stream, self)


@patches.method(_Socket, "connect")
def _connect_to(self: Any, address: Any) -> Any:
    return _connecting(self, address, _connect)


@patches.method(_Socket, "connect_ex")
def _connect_ex_to(self: Any, address: Any) -> Any:
    return _connecting(self, address, _connect_ex)


# -- accepting -----------------------------------------------------------------------------


@patches.method(_Socket, "listen")
def _start_to_listen(self: Any, *args: Any) -> None:
    _listen(self, *args)
    stream = main_stream()
    if stream is not None and _is_loopback(self, self.getsockname()):
        channel_of(stream, beside(self), LISTEN)
        known[self.fileno()] = self


@patches.method(_Socket, "accept")
def _accept_next(self: Any) -> Any:
    loop = _loop()
    # While an event loop runs, it is the loop that accepts.
    stream = _stream() if loop is None else loop.stream
    if stream is None or beside(self)._bohrbug_channel is None:
        return _accept(self)
    channel = channel_of(stream, beside(self), LISTEN)
    if loop is None:
        kind = _kind(self)
        outcome = stream.expect(kind, channel)
    else:
        from bohrbug.runtime.channels import aio_sockets

        kind = Kind.TRY_RECV
        outcome = aio_sockets.expected(loop, channel.id, kind)
    if outcome is not None and isinstance(stream, ReplayingStream):
        _fail_as(outcome)
        if outcome.message is not None:
            pair = _accept_this(stream, channel, self, outcome.message)
            if pair is not MISSING:
                return pair
    if channel.arrived:
        return channel.arrived.pop(next(iter(channel.arrived)))
    with noting(stream, kind, channel, _EMPTY, _TIMED_OUT):
        message, pair = _take(stream, channel, self)
    stream.received(kind, channel, message)
    return pair


def _accept_this(stream: ReplayingStream, channel: Channel, self: Any, message: MessageId) -> Any:
    """The connection that the log says is accepted; others that come are kept."""
    while tuple(message) not in channel.arrived:
        if not wait_ready(stream, self.fileno(), select.POLLIN, str(message)):
            break
        came, pair = _take(stream, channel, self)
        channel.arrived[came] = pair
    return channel.arrived.pop((message.sender, message.number), MISSING)


def _take(stream: Stream, channel: Channel, self: Any) -> tuple[tuple[str | None, int], Any]:
    pair = _accept(self)
    accepted, address = pair
    peer = _peer(stream, address)
    if peer is None:
        return channel.unseen_message(), pair
    there, back = peer
    beside(accepted)._bohrbug_ends = Ends(there, back, CONNECTION)
    known[accepted.fileno()] = accepted
    return (there.creator, there.number), pair


# -- bytes ---------------------------------------------------------------------------------


def _receive(self: Any, size: int, flags: int, real: Any) -> bytes | None:
    """The bytes, or ``None`` if they are to be received natively and without a note."""
    seen = _seen_in_loop(self, flags or size <= 0, sends=False)
    if seen is not None:
        from bohrbug.runtime.channels import aio_sockets

        return aio_sockets.receive(*seen, self.fileno(), lambda most: _recv(self, most), size)
    stream = None if flags or size <= 0 else _stream()
    channel = None if stream is None else incoming(stream, beside(self))
    if stream is None or channel is None:
        return None
    kind = _kind(self)
    outcome = stream.expect(kind, channel)
    if outcome is not None and isinstance(stream, ReplayingStream):
        _fail_as(outcome)
        if outcome.status is Status.VALUE:
            count = outcome.values[0]
            return exactly(stream, self.fileno(), lambda most: _recv(self, most), count, size)
    with noting(stream, kind, channel, _EMPTY, _TIMED_OUT, _CLOSED):
        data: bytes = real()
    stream.note(kind, channel, Status.VALUE, (len(data),))
    return data


@patches.method(_Socket, "recv")
def _receive_bytes(self: Any, bufsize: int, flags: int = 0) -> bytes:
    data = _receive(self, bufsize, flags, lambda: _recv(self, bufsize))
    return _recv(self, bufsize, flags) if data is None else data


@patches.method(_Socket, "recv_into")
def _receive_into(self: Any, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
    view = memoryview(buffer).cast("B")
    size = nbytes or len(view)
    data = _receive(self, size, flags, lambda: _recv(self, size))
    if data is None:
        return _recv_into(self, buffer, nbytes, flags)  # type: ignore[no-any-return]
    view[: len(data)] = data
    return len(data)


@patches.method(_Socket, "send")
def _send_bytes(self: Any, data: Any, flags: int = 0) -> int:
    seen = _seen_in_loop(self, flags, sends=True)
    if seen is not None:
        from bohrbug.runtime.channels import aio_sockets

        return aio_sockets.send(*seen, self.fileno(), lambda part: _send(self, part), data)
    stream = None if flags else _stream()
    channel = None if stream is None else outgoing(stream, beside(self))
    if stream is None or channel is None:
        return _send(self, data, flags)  # type: ignore[no-any-return]
    outcome = stream.expect(Kind.SEND, channel)
    if outcome is not None and isinstance(stream, ReplayingStream):
        if outcome.status is Status.FULL:
            raise would_block()
        if outcome.status is Status.VALUE:
            return _send_exactly(stream, self, data, outcome.values[0])
    with noting(stream, Kind.SEND, channel, (BlockingIOError, Status.FULL), _CLOSED):
        count: int = _send(self, data)
    stream.note(Kind.SEND, channel, Status.VALUE, (count,))
    return count


if hasattr(_Socket, "sendmsg"):
    _sendmsg = _Socket.sendmsg

    @patches.method(_Socket, "sendmsg")
    def _send_buffers(self: Any, buffers: Any, *args: Any) -> int:
        seen = _seen_in_loop(self, args, sends=True)
        if seen is None:
            return _sendmsg(self, buffers, *args)  # type: ignore[no-any-return]
        from bohrbug.runtime.channels import aio_sockets

        data = b"".join(buffers)
        return aio_sockets.send(*seen, self.fileno(), lambda part: _send(self, part), data)


def _send_exactly(stream: ReplayingStream, self: Any, data: Any, count: int) -> int:
    view = memoryview(data).cast("B")[:count]
    sent = 0
    while sent < len(view):
        wait_ready(stream, self.fileno(), select.POLLOUT, f"space for {count} bytes")
        sent += _send(self, view[sent:])
    return sent
