"""``socket`` under control."""

from __future__ import annotations

import errno
import os
import socket
from sys import _getframe
from typing import Any

from bohrbug.model.operation import ACCEPT, CLOSE, CONNECT, OPEN, RECEIVE, SEND, Kind
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.channels import (
    RawSocket,
    channel_of,
    channels_of,
    name_of_listener,
    names_of,
    note_pair,
    reach_of,
    receiver_of,
)
from bohrbug.runtime.threads.io.handed_buffers import filled_by, read_by
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.io.waiting import (
    READABLE,
    WRITABLE,
    await_descriptor,
    is_ready,
    place_outside,
    point,
    wait_until,
)
from bohrbug.runtime.threads.recording import effect, touch

_real_strerror = os.strerror


Socket = socket.socket

_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_WAIT_ALL = getattr(socket, "MSG_WAITALL", 0)
_IN_PROGRESS = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN, errno.EALREADY)


def _prepare(self: Any, frame: Any, kind: Kind, flags: int = 0) -> bool:
    """Before a call on a socket: wait until it would not block. False: nobody is in control.

    Raises:
        TimeoutError: the socket's timeout has passed in virtual time.
    """
    execution = controlled()
    if execution is None:
        return False
    timeout = self.gettimeout()
    descriptor = self.fileno()
    if descriptor < 0:
        return False
    place = place_outside(frame)
    mask = WRITABLE if kind is SEND else READABLE
    if timeout == 0 or flags & _DONT_WAIT:
        state = point(execution, descriptor, place, kind)
        if not is_ready(descriptor, mask):
            execution.observe(state, place)
        return False
    if not await_descriptor(execution, self.fileno, mask, timeout, place, kind):
        raise TimeoutError("timed out")
    execution.current.looks.clear()
    return True


def _note_datagram(self: Any, address: Any, frame: Any) -> None:
    """A datagram is about to be sent: it is added to the queue of who receives there.

    Parameters:
        self: the socket that sends it.
        address: that it is sent to, ``None`` for that to which the socket is connected.
        frame: of the caller.
    """
    execution = controlled()
    if execution is None or self.type != socket.SOCK_DGRAM or self.fileno() < 0:
        return
    if address is None:
        _, _, address = names_of(self.fileno())
    if address:
        touch(execution, receiver_of(execution, address, place_outside(frame)))


def _wrap_reading(name: str) -> None:
    # Before the flags comes the number of bytes, and if need be a buffer or one for messages.
    flags_at = 1 if name in ("recv", "recvfrom") else 2
    fills = name.endswith("_into")
    original = getattr(Socket, name)

    @patches.method(Socket, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        flags = kwargs.get("flags", args[flags_at] if len(args) > flags_at else 0)
        blocking = _prepare(self, _getframe(1), RECEIVE, flags)
        if blocking and flags & _WAIT_ALL and name == "recv":
            return _receive_all(self, args[0], flags, _getframe(1))
        if fills and args and filled_by(f"socket.{name}", args[0]):
            # Another task may have taken what there was.
            while blocking and not is_ready(self.fileno(), READABLE):
                blocking = _prepare(self, _getframe(1), RECEIVE, flags)
        received = original(self, *args, **kwargs)
        execution = controlled()
        if execution is not None and received:
            execution.clock.transfers += 1
        return received


def _receive_all(self: Any, size: int, flags: int, frame: Any) -> bytes:
    """``recv`` with ``MSG_WAITALL``: as many bytes as asked for, unless the stream ends."""
    data = bytearray()
    while len(data) < size:
        _prepare(self, frame, RECEIVE)
        piece = RawSocket.recv(self, size - len(data), flags & ~_WAIT_ALL)
        if not piece:
            break
        data += piece
    return bytes(data)


def _send_pieces(
    execution: Execution, self: Any, data: Any, flags: int, frame: Any, timeout: float | None
) -> int:
    """Send all of ``data`` with as many waits as that needs; the number of bytes.

    Raises:
        TimeoutError: ``timeout`` virtual seconds passed before all was sent.
    """
    end = None if timeout is None else execution.clock.now + timeout
    place = place_outside(frame)
    with memoryview(data) as view, view.cast("B") as content:
        sent = 0
        while True:
            left = None if end is None else max(end - execution.clock.now, 0.0)
            if not await_descriptor(execution, self.fileno, WRITABLE, left, place, SEND):
                raise TimeoutError("timed out")
            _note_datagram(self, None, frame)
            try:
                sent += RawSocket.send(self, content[sent:], flags | _DONT_WAIT)
            except BlockingIOError:
                continue
            if sent >= len(content):
                execution.current.looks.clear()
                return sent


_send = Socket.send
_sendall = Socket.sendall


@patches.method(Socket, "send")
def send(self: Any, data: Any, flags: int = 0, /) -> int:
    """As ``socket.send``."""
    execution = controlled()
    if type(data) is not bytes:
        read_by("socket.send", data)
    timeout = self.gettimeout()
    if execution is not None and timeout is None and not flags & _DONT_WAIT and self.fileno() >= 0:
        # A blocking send returns when all is on its way.
        return _send_pieces(execution, self, data, flags, _getframe(1), None)
    _prepare(self, _getframe(1), SEND, flags)
    _note_datagram(self, None, _getframe(1))
    return _send(self, data, flags)


@patches.method(Socket, "sendall")
def sendall(self: Any, data: Any, flags: int = 0, /) -> None:
    """As ``socket.sendall``."""
    execution = controlled()
    if type(data) is not bytes:
        read_by("socket.sendall", data)
    timeout = self.gettimeout()
    if execution is None or timeout == 0 or flags & _DONT_WAIT or self.fileno() < 0:
        _prepare(self, _getframe(1), SEND, flags)
        _note_datagram(self, None, _getframe(1))
        _sendall(self, data, flags)
        return
    _send_pieces(execution, self, data, flags, _getframe(1), timeout)


def _wrap_writing(name: str) -> None:
    # ``sendto`` has it last, and ``sendmsg`` behind what else it may be given.
    first_that_may_be_address = 1 if name == "sendto" else 3
    original = getattr(Socket, name)

    @patches.method(Socket, name)
    def wrapper(self: Any, *args: Any) -> Any:
        read_by(f"socket.{name}", *args[:1])
        _prepare(self, _getframe(1), SEND)
        address = args[-1] if len(args) > first_that_may_be_address else None
        _note_datagram(self, address, _getframe(1))
        return original(self, *args)


for _name, _how in wrapped_alike("socket:socket", CONTROL):
    (_wrap_reading if _how == "receive" else _wrap_writing)(_name)

_accept = Socket.accept
_connect = Socket.connect
_connect_ex = Socket.connect_ex
_listen = Socket.listen
_bind = Socket.bind
_shutdown = Socket.shutdown
_close = Socket.close


@patches.method(Socket, "accept")
def accept(self: Any) -> Any:
    """As ``socket.accept``."""
    _prepare(self, _getframe(1), ACCEPT)
    execution = controlled()
    if execution is None:
        return _accept(self)
    execution.current.inside += 1
    try:
        return _accept(self)
    finally:
        execution.current.inside -= 1


def _try_to_connect(self: Any, address: Any) -> int:
    """``connect`` without waiting; an error number."""
    timeout = self.gettimeout()
    RawSocket.settimeout(self, 0)
    try:
        return _connect_ex(self, address)
    finally:
        RawSocket.settimeout(self, timeout)


def _connect_under_control(execution: Execution, self: Any, address: Any, frame: Any) -> int:
    """Connect as a task; an error number.

    Raises:
        TimeoutError: the socket's timeout has passed in virtual time.
    """
    timeout = self.gettimeout()
    place = place_outside(frame)
    point(execution, self.fileno(), place, CONNECT)
    if self.type != socket.SOCK_STREAM:
        return _connect_ex(self, address)
    _note_reached(execution, address, place)
    error = _try_to_connect(self, address)
    _adopt_connection(execution, self, place)
    if error not in _IN_PROGRESS:
        return error
    result = [error]

    def ready() -> bool:
        if result[0] not in _IN_PROGRESS:
            return True
        if result[0] == errno.EAGAIN:
            # A local socket whose listener has a full queue: it can only be tried again.
            result[0] = _try_to_connect(self, address)
            return result[0] != errno.EAGAIN
        if not is_ready(self.fileno(), WRITABLE):
            return False
        result[0] = self.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return True

    state = channel_of(execution, self.fileno(), place)
    if not wait_until(
        execution,
        state,
        place,
        ready,
        timeout,
        lambda: reach_of(execution, self.fileno()),
        kind=CONNECT,
    ):
        raise TimeoutError("timed out")
    _adopt_connection(execution, self, place)
    return result[0]


def _note_reached(execution: Execution, address: Any, place: Any) -> None:
    """A task connects to an address: a server there has its clients among the tasks.

    Whether there is a server depends on who has called ``listen``, or closed a socket, by then.
    """
    touch(execution, name_of_listener(execution, address, place))
    channels = channels_of(execution)
    if isinstance(address, tuple) and address[1] in channels.ports:
        channels.reached.add(address[1])


def _adopt_connection(execution: Execution, self: Any, place: Any) -> None:
    """Name a connection when it is made; its beginning also touches what listens."""
    descriptor = self.fileno()
    if descriptor < 0:
        return
    channel_of(execution, descriptor, place)
    _, _, peer = names_of(descriptor)
    if peer and isinstance(peer, tuple):
        listening = channels_of(execution).states.get(("port", peer[1]))
        if listening is not None:
            effect(execution, listening, True)


@patches.method(Socket, "connect")
def connect(self: Any, address: Any, /) -> None:
    """As ``socket.connect``."""
    execution = controlled()
    if execution is None or self.gettimeout() == 0 or self.fileno() < 0:
        if execution is not None and self.fileno() >= 0:
            place = place_outside(_getframe(1))
            point(execution, self.fileno(), place, CONNECT)
            if self.type == socket.SOCK_STREAM:
                _note_reached(execution, address, place)
        _connect(self, address)
        return
    error = _connect_under_control(execution, self, address, _getframe(1))
    if error:
        raise OSError(error, _real_strerror(error))


@patches.method(Socket, "connect_ex")
def connect_ex(self: Any, address: Any, /) -> int:
    """As ``socket.connect_ex``."""
    execution = controlled()
    if execution is None or self.gettimeout() == 0 or self.fileno() < 0:
        return int(_connect_ex(self, address))
    try:
        return _connect_under_control(execution, self, address, _getframe(1))
    except TimeoutError:
        return errno.EAGAIN


@patches.method(Socket, "listen")
def listen(self: Any, *args: Any) -> None:
    """As ``socket.listen``: from then on others can connect."""
    execution = controlled()
    if execution is None or self.fileno() < 0:
        _listen(self, *args)
        return
    place = place_outside(_getframe(1))
    point(execution, self.fileno(), place, OPEN)
    _listen(self, *args)
    channels = channels_of(execution)
    name = self.getsockname()
    channels.ports.add(name[1] if isinstance(name, tuple) else name)
    channel_of(execution, self.fileno(), place)


def _is_a_choice(address: Any) -> bool:
    """Whether an address to bind to is one that others may know; else the kernel chooses one."""
    if isinstance(address, tuple):
        return len(address) > 1 and address[1] != 0
    return bool(address) and isinstance(address, str | bytes)


@patches.method(Socket, "bind")
def bind(self: Any, address: Any, /) -> None:
    """As ``socket.bind``: a name has one socket, and datagrams to it are for that."""
    execution = controlled()
    if execution is None or self.fileno() < 0:
        _bind(self, address)
        return
    if _is_a_choice(address):
        place = place_outside(_getframe(1))
        point(execution, self.fileno(), place, OPEN)
        is_datagram = self.type == socket.SOCK_DGRAM
        named = receiver_of if is_datagram else name_of_listener
        touch(execution, named(execution, address, place))
    _bind(self, address)
    name = self.getsockname()
    if self.type == socket.SOCK_DGRAM:
        channels_of(execution).ports.add(name[1] if isinstance(name, tuple) else name)
    elif isinstance(name, tuple) and address[1] == 0:
        channels_of(execution).chosen_by_kernel.add(name[1])


@patches.method(Socket, "shutdown")
def shutdown(self: Any, how: int, /) -> None:
    """As ``socket.shutdown``."""
    execution = controlled()
    if execution is not None and self.fileno() >= 0:
        point(execution, self.fileno(), place_outside(_getframe(1)), CLOSE)
    _shutdown(self, how)


@patches.method(Socket, "close")
def close(self: Any) -> None:
    """As ``socket.close``."""
    execution = controlled()
    if execution is None or self.fileno() < 0 or self._closed:
        _close(self)
        return
    steps = len(execution.rows)
    state = point(execution, self.fileno(), place_outside(_getframe(1)), CLOSE)
    _close(self)
    if len(execution.rows) > steps + 1:
        # That a socket is closed is stored first, which may have been a step of its own.
        effect(execution, state, True)


if hasattr(socket, "socketpair"):
    _socketpair = socket.socketpair

    def socketpair(*args: Any, **kwargs: Any) -> Any:
        """As ``socket.socketpair``; both ends are one resource."""
        first, second = _socketpair(*args, **kwargs)
        execution = controlled()
        if execution is not None:
            note_pair(execution, first.fileno(), second.fileno())
            channel_of(execution, first.fileno(), place_outside(_getframe(1)))
        return first, second

    socketpair.__module__ = "socket"
    patches.add(socket, "socketpair", socketpair)
