"""``multiprocessing.Pipe`` and ``multiprocessing.connection.wait``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from bohrbug.runtime.channels.delivery import MISSING
from bohrbug.runtime.channels.ends import Ends, incoming, outgoing, rebuild
from bohrbug.runtime.channels.envelopes import enclosed, is_envelope, item_of
from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.native_parts import natively, noting
from bohrbug.runtime.channels.pulling import Source, early, pull, take_natively, take_new
from bohrbug.runtime.channels.replayed_stream import ReplayingStream, in_vain
from bohrbug.runtime.channels.session import current, main_stream
from bohrbug.runtime.channels.streams import Channel, Stream
from bohrbug.runtime.threads.patches import Patches

PIPE = "multiprocessing.Pipe"
WAIT = "multiprocessing.connection.wait"

_Connection: Any = connection._ConnectionBase
_Pipe, _wait = connection.Pipe, connection.wait
_send, _recv = _Connection.send, _Connection.recv
_send_bytes, real_recv_bytes = _Connection.send_bytes, _Connection.recv_bytes
_recv_bytes_into, _poll = _Connection.recv_bytes_into, _Connection.poll


# -- through pickles -----------------------------------------------------------------------


def _reducing_with_ends(reduce: Any) -> Any:
    def reduce_with_ends(end: Any) -> Any:
        function, args = reduce(end)
        ends = getattr(end, "_bohrbug_ends", None)
        if ends is None:
            return function, args
        return rebuild, (function, args, ends)

    return reduce_with_ends


class _Reducers(Patches):
    """Besides what is replaced: how connections are pickled."""

    def install(self) -> None:
        super().install()
        reducers = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
        self._before: dict[Any, Any] = {
            cls: reducers[cls]
            for cls in (connection.Connection, getattr(connection, "PipeConnection", None))
            if cls in reducers
        }
        for cls, reduce in self._before.items():
            ForkingPickler.register(cls, _reducing_with_ends(reduce))

    def restore(self) -> None:
        super().restore()
        for cls, reduce in self._before.items():
            ForkingPickler.register(cls, reduce)


patches = _Reducers()


# -- making ------------------------------------------------------------------------------


@patches.method(connection, "Pipe")
def _make_pipe(duplex: bool = True) -> Any:
    first, second = _Pipe(duplex)
    stream = main_stream()
    if stream is not None:
        there = stream.next_channel()
        back = stream.next_channel() if duplex else None
        # Not duplex: the first end only receives.
        first._bohrbug_ends = Ends(there, back, PIPE)  # type: ignore[attr-defined]
        second._bohrbug_ends = Ends(back, there, PIPE)  # type: ignore[attr-defined]
    return first, second


# -- sending and receiving -----------------------------------------------------------------


def send_enclosed(
    stream: Stream, channel: Channel, item: Any, send: Callable[[Any], object]
) -> None:
    """Send an item together with who sends it.

    Parameters:
        stream: of the task that sends.
        channel: to send to.
        item: what the program sends.
        send: sends something natively.
    """
    digest = stream.next_digest()
    if stream.expect(Kind.SEND, channel) is not None:
        stream.compare(item, digest)
    # The number is taken before the message can be received.
    number = stream.sent(Kind.SEND, channel, -1, item)
    with natively(stream):
        send(enclosed(stream.task, number, item))


@patches.method(_Connection, "send")
def _send_item(self: Any, obj: Any) -> None:
    stream = current()
    channel = None if stream is None else outgoing(stream, self)
    if stream is None or channel is None:
        _send(self, obj)
        return
    send_enclosed(stream, channel, obj, lambda thing: _send(self, thing))


def receive_from(stream: Stream, kind: Kind, channel: Channel, source: Source, real: Any) -> Any:
    """Receive an item from a pipe, recorded or replayed.

    Parameters:
        stream: of the task that receives.
        kind: of the receive.
        channel: behind the pipe.
        source: its reading end.
        real: receives natively.

    Returns:
        The item.

    Raises:
        EOFError: nobody can write any more.
        LookupError: the log says that there was nothing.
    """
    while True:
        if isinstance(stream, ReplayingStream):
            with natively(stream):
                new = take_new(stream, channel, source)
            if new is not None:
                stream.received(kind, channel, (new[1], new[2]), new[3])
                return new[3]
        digest = stream.next_digest()
        outcome = stream.expect(kind, channel)
        if outcome is None:
            break
        if outcome.status is Status.CLOSED:
            raise EOFError
        if outcome.status is not Status.RECEIVED:
            raise LookupError
        assert isinstance(stream, ReplayingStream)
        assert outcome.message is not None
        message = (outcome.message.sender, outcome.message.number)
        with natively(stream):
            item = pull(stream, channel, message, source)
        if item is not MISSING:
            stream.compare(item, digest)
            return item
        # It does not come: what the log says next, or what comes.
    with natively(stream), noting(stream, kind, channel, (EOFError, Status.CLOSED)):
        found = early(channel)
        thing: Any
        if found is None:
            thing = take_natively(stream, kind, channel, source, real)
        else:
            thing = enclosed(*found[0], found[1])
    if is_envelope(thing):
        message, item = (thing[1], thing[2]), thing[3]
    else:
        message, item = (None, channel.unseen), thing
        channel.unseen += 1
    stream.received(kind, channel, message, item)
    return item


@patches.method(_Connection, "recv")
def _recv_item(self: Any) -> Any:
    stream = current()
    channel = None if stream is None else incoming(stream, self)
    if stream is None or channel is None:
        return item_of(_recv(self))
    self._check_closed()
    self._check_readable()
    return receive_from(stream, Kind.RECV, channel, Source(self), lambda: _recv(self))


@patches.method(_Connection, "send_bytes")
def _send_raw(self: Any, buf: Any, offset: int = 0, size: int | None = None) -> None:
    stream = current()
    channel = None if stream is None else outgoing(stream, self)
    if stream is None or channel is None:
        _send_bytes(self, buf, offset, size)
        return
    stream.expect(Kind.SEND, channel)
    stream.sent(Kind.SEND, channel)
    with natively(stream):
        _send_bytes(self, buf, offset, size)


def _receive_raw(self: Any, real: Any) -> Any:
    """Bytes carry no sender: they are numbered as they come."""
    stream = current()
    channel = None if stream is None else incoming(stream, self)
    if stream is None or channel is None:
        return real()
    outcome = stream.expect(Kind.RECV, channel)
    if outcome is not None and isinstance(stream, ReplayingStream):
        if outcome.status is Status.CLOSED:
            raise EOFError
        waited = 0.0
        with natively(stream):
            while not stream.is_free and not _poll(self, 0.05):
                waited += 0.05
                stream.replay.check(stream, waited, f"bytes in {channel.flavour} {channel.id}")
            return real()
    with natively(stream), noting(stream, Kind.RECV, channel, (EOFError, Status.CLOSED)):
        data = real()
    number = channel.unseen
    channel.unseen = number + 1
    stream.received(Kind.RECV, channel, (None, number), None)
    return data


@patches.method(_Connection, "recv_bytes")
def _recv_raw(self: Any, maxlength: int | None = None) -> bytes:
    data: bytes = _receive_raw(self, lambda: real_recv_bytes(self, maxlength))
    return data


@patches.method(_Connection, "recv_bytes_into")
def _recv_raw_into(self: Any, buf: Any, offset: int = 0) -> int:
    count: int = _receive_raw(self, lambda: _recv_bytes_into(self, buf, offset))
    return count


@patches.method(_Connection, "poll")
def _poll_it(self: Any, timeout: float | None = 0.0) -> bool:
    stream = current()
    channel = None if stream is None else incoming(stream, self)
    if stream is None or channel is None:
        return bool(_poll(self, timeout))
    outcome = stream.expect(Kind.LOOK, channel)
    if outcome is not None:
        # If there was something, the receive that follows waits for it.
        return bool(outcome.values[0])
    with natively(stream):
        ready = bool(channel.arrived) or bool(_poll(self, timeout))
    stream.note(Kind.LOOK, channel, Status.VALUE, (int(ready),))
    return ready


# -- select --------------------------------------------------------------------------------


def _wait_for(object_list: Any, timeout: float | None = None) -> list[Any]:
    stream = current()
    if stream is None:
        return list(_wait(object_list, timeout))
    things = list(object_list)
    known = all(isinstance(thing, _Connection | int) for thing in things)
    if not things or not known or _joins_a_process():
        # Sockets, or the end of one process that is waited for: no select.
        with natively(stream):
            return list(_wait(things, timeout))
    outcome = stream.expect(Kind.SELECT, None, WAIT, fruitless=in_vain(timeout))
    with natively(stream):
        if outcome is not None:
            if outcome.status is Status.TIMED_OUT or max(outcome.values) >= len(things):
                return []
            chosen = [things[index] for index in outcome.values]
            _wait_for_others(stream, chosen)
            return chosen
        ready = _wait(things, timeout)
    places = {id(thing): index for index, thing in enumerate(things)}
    indices = tuple(places[id(thing)] for thing in ready)
    status = Status.READY if indices else Status.TIMED_OUT
    stream.note(Kind.SELECT, None, status, indices, WAIT)
    return list(ready)


def _joins_a_process() -> bool:
    """Whether it is ``multiprocessing`` itself that waits, in ``Process.join``."""
    caller = str(sys._getframe(2).f_globals.get("__name__"))
    return caller.startswith("multiprocessing.popen_")


def _wait_for_others(stream: Stream, chosen: list[Any]) -> None:
    """Wait for what is no connection; a receive from a connection waits by itself."""
    assert isinstance(stream, ReplayingStream)
    waited = 0.0
    for thing in chosen:
        while not isinstance(thing, _Connection) and not stream.is_free:
            if _wait([thing], 0.05):
                break
            waited += 0.05
            stream.replay.check(stream, waited, f"{WAIT}: the end of a process")


patches.add(connection, "wait", _wait_for)
