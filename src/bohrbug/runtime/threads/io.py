"""Sockets, pipes and ``select`` under control: a call that would block waits as a task.

A task that would block in the kernel is enabled when a poll of the file
descriptor without waiting says so.  Timeouts are virtual.  How long it is worth
waiting when nobody else can run depends on where the other end is:

* *local*: a pipe or socket pair with both ends in this process; only a task can
  make it ready, at once, so that waiting for it in vain is a deadlock;
* *near*: a connection within this process through the network; the kernel may
  need a moment;
* *far*: anything else; it needs real time.

Not covered: C libraries that poll by themselves (uvloop, database drivers),
``signal.pause`` and ``sigwait``, ``os.sendfile`` on blocking sockets, terminals.
"""

from __future__ import annotations

import _socket
import errno
import fcntl
import functools
import io
import os
import select
import selectors
import socket
import stat
import sys
from collections.abc import Callable, Iterable
from enum import Enum
from sys import _getframe
from typing import Any, Self

from bohrbug.model.operation import EXTERNAL
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import Firing

_real_select = select.select
_real_poll = select.poll
_real_epoll = getattr(select, "epoll", None)
_real_pipe = os.pipe
_real_read = os.read
_real_write = os.write
_real_close = os.close
_Socket = socket.socket
_RawSocket = _socket.socket

READABLE = select.POLLIN | select.POLLPRI
WRITABLE = select.POLLOUT
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_WAIT_ALL = getattr(socket, "MSG_WAITALL", 0)
_IN_PROGRESS = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN, errno.EALREADY)
_DESCRIPTORS = next((d for d in ("/proc/self/fd", "/dev/fd") if os.path.isdir(d)), None)


class Function:
    """A replacement of a C function: like one, and unlike a Python one, it does not bind.

    Classes keep C functions as attributes and call them through ``self``
    (``selectors.SelectSelector._select``).
    """

    def __init__(self, function: Callable[..., Any], original: Any) -> None:
        functools.update_wrapper(self, original)
        self._function = function
        # What the function keeps of the originals is its own, see ``Installation``.
        self.__closure__ = getattr(function, "__closure__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the replacement."""
        return self._function(*args, **kwargs)


class IOPatches(Patches):
    """Patches, some of them of modules that may not be imported at all."""

    def __init__(self) -> None:
        super().__init__()
        self._later: list[tuple[str, Callable[[Any], None]]] = []

    def when_imported(
        self, module: str
    ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        """Decorator: the function adds patches of a module, once that is imported."""

        def decorate(function: Callable[[Any], None]) -> Callable[[Any], None]:
            self._later.append((module, function))
            return function

        return decorate

    def install(self) -> None:
        """Put the replacements in place."""
        for entry in list(self._later):
            module = sys.modules.get(entry[0])
            if module is not None:
                self._later.remove(entry)
                entry[1](module)
        super().install()

    def function(self, owner: Any, name: str) -> Callable[[Callable[..., Any]], Function]:
        """Decorator: the function replaces the C function ``owner.name``."""

        def decorate(function: Callable[..., Any]) -> Function:
            replacement = Function(function, getattr(owner, name))
            self.add(owner, name, replacement)
            return replacement

        return decorate


patches = IOPatches()


# -- what is at the other end -------------------------------------------------------------


class Reach(Enum):
    """Where the other end of a file descriptor is, see the module's text."""

    LOCAL = "local"
    NEAR = "near"
    FAR = "far"


class Channels:
    """The channels of one execution: a channel is what both ends of a connection share."""

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.states: dict[Any, ResourceState] = {}
        # Inode of each socket of a pair -> what names the pair.
        self.pairs: dict[int, tuple[int, int]] = {}
        # Port numbers on which this process listens.
        self.ports: set[Any] = set()


_channels = Channels(-1)


def channels_of(execution: Execution) -> Channels:
    """The channels of an execution; fresh for each one."""
    global _channels
    serial = execution.resources.serial
    if _channels.serial != serial:
        _channels = Channels(serial)
    return _channels


def _names_of(descriptor: int) -> tuple[int, Any, Any]:
    """Family, own address and peer's address of a socket; ``None`` where there is none."""
    try:
        probe = _RawSocket(fileno=descriptor)
    except OSError:
        return 0, None, None
    try:
        own = peer = None
        try:
            own = probe.getsockname()
            peer = probe.getpeername()
        except OSError:
            # Not bound, or not connected.
            pass
        return probe.family, own, peer
    finally:
        probe.detach()


def _key_of(channels: Channels, descriptor: int) -> tuple[Any, str]:
    """What both ends of a connection agree on, and its type."""
    status = os.fstat(descriptor)
    if stat.S_ISFIFO(status.st_mode):
        return ("pipe", status.st_ino), "pipe"
    if stat.S_ISSOCK(status.st_mode):
        pair = channels.pairs.get(status.st_ino)
        if pair is not None:
            return pair, "socket pair"
        family, own, peer = _names_of(descriptor)
        if family == getattr(socket, "AF_UNIX", -1):
            return ("unix", own or peer or status.st_ino), "socket"
        if peer:
            return frozenset((own[:2], peer[:2])), "connection"
        if own and own[1]:
            return ("port", own[1]), "socket"
        return ("socket", status.st_ino), "socket"
    return ("file", descriptor, status.st_ino), "file descriptor"


def channel_of(execution: Execution, descriptor: int, place: Any) -> ResourceState:
    """The resource that operations on a file descriptor act on."""
    channels = channels_of(execution)
    try:
        key, kind = _key_of(channels, descriptor)
    except OSError:
        key, kind = ("closed",), "closed file descriptor"
    state = channels.states.get(key)
    if state is None:
        state = channels.states[key] = execution.resources.new(execution.current, kind, place)
    return state


def _own_descriptors() -> Iterable[int]:
    if _DESCRIPTORS is None:
        return ()
    return [int(name) for name in os.listdir(_DESCRIPTORS)]


def _has_other_pipe_end(descriptor: int, inode: int) -> bool:
    """Whether this process has open the end of a pipe opposite to ``descriptor``."""
    own_mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    if own_mode == os.O_RDWR:
        return True
    for other in _own_descriptors():
        try:
            if os.fstat(other).st_ino != inode:
                continue
            if fcntl.fcntl(other, fcntl.F_GETFL) & os.O_ACCMODE != own_mode:
                return True
        except OSError:
            # Gone since it was listed.
            continue
    return False


def reach_of(execution: Execution, descriptor: int) -> Reach:
    """Where the other end of a file descriptor is."""
    outside = execution.outside
    channels = channels_of(execution)
    try:
        status = os.fstat(descriptor)
    except OSError:
        return Reach.NEAR
    if stat.S_ISFIFO(status.st_mode):
        inside = not outside.forked and _has_other_pipe_end(descriptor, status.st_ino)
        return Reach.LOCAL if inside else Reach.FAR
    if not stat.S_ISSOCK(status.st_mode):
        return Reach.FAR
    pair = channels.pairs.get(status.st_ino)
    if pair is not None:
        if outside.forked:
            return Reach.FAR
        other = pair[0] if pair[1] == status.st_ino else pair[1]
        for own in _own_descriptors():
            try:
                if os.fstat(own).st_ino == other:
                    return Reach.LOCAL
            except OSError:
                # Gone since it was listed.
                continue
        return Reach.FAR
    if outside.has_children:
        return Reach.FAR
    family, own_name, peer = _names_of(descriptor)
    if not peer:
        # It listens, or receives datagrams from anywhere: most likely from a task.
        return Reach.NEAR
    if family == getattr(socket, "AF_UNIX", -1):
        return Reach.NEAR if {own_name, peer} & channels.ports else Reach.FAR
    return Reach.NEAR if {own_name[1], peer[1]} & channels.ports else Reach.FAR


def _furthest(execution: Execution, descriptors: Iterable[int]) -> Reach:
    """Where the other ends of several file descriptors are.

    Local only if all are: near or far ones can become ready without a task.  Far
    only if all that are not local are: what one process offers to itself and to
    others is used by itself as a rule.
    """
    found = {reach_of(execution, descriptor) for descriptor in descriptors}
    if Reach.NEAR in found:
        return Reach.NEAR
    return Reach.FAR if Reach.FAR in found else Reach.LOCAL


# -- waiting ----------------------------------------------------------------------------


def is_ready(descriptor: int, mask: int) -> bool:
    """Whether an operation on a file descriptor would not block now."""
    if descriptor < 0:
        return True
    poll = _real_poll()
    poll.register(descriptor, mask)
    return bool(poll.poll(0))


def _wait(
    execution: Execution,
    state: ResourceState,
    place: Any,
    ready: Callable[[], bool],
    timeout: float | None,
    reach: Callable[[], Reach],
    is_safety_net: bool = True,
) -> bool:
    """Wait until ``ready`` holds; false if the virtual timeout fired.

    Parameters:
        is_safety_net: the timeout is there for a peer that has died, so that it
            fires only when no task can run.
    """
    now = ready()
    if now and execution.current.inside:
        return True
    where = Reach.NEAR if now else reach()
    firing = Firing.LATE if is_safety_net else Firing.EARLY
    if where is Reach.FAR:
        firing = Firing.IN_REAL_TIME
    return execution.perform(
        EXTERNAL,
        state,
        place,
        ready,
        timeout,
        external=where is not Reach.LOCAL,
        firing=firing,
    )


def _point(execution: Execution, descriptor: int, place: Any) -> ResourceState:
    """A scheduling point before an operation that never blocks."""
    state = channel_of(execution, descriptor, place)
    if not execution.current.inside:
        execution.perform(EXTERNAL, state, place)
    return state


def _await_descriptor(
    execution: Execution,
    descriptor: Callable[[], int],
    mask: int,
    timeout: float | None,
    place: Any,
) -> bool:
    """Wait until a file descriptor is ready."""
    first = descriptor()
    return _wait(
        execution,
        channel_of(execution, first, place),
        place,
        lambda: is_ready(descriptor(), mask),
        timeout,
        lambda: reach_of(execution, first),
    )


# -- sockets ---------------------------------------------------------------------------


def _prepare(self: Any, frame: Any, mask: int, flags: int = 0) -> bool:
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
    place = place_of(frame)
    if timeout == 0 or flags & _DONT_WAIT:
        state = _point(execution, descriptor, place)
        if not is_ready(descriptor, mask):
            execution.observe(state, place)
        return False
    if not _await_descriptor(execution, self.fileno, mask, timeout, place):
        raise TimeoutError("timed out")
    execution.current.looks.clear()
    return True


def _wrap_reading(name: str, flags_at: int) -> None:
    original = getattr(_Socket, name)

    @patches.method(_Socket, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        flags = kwargs.get("flags", args[flags_at] if len(args) > flags_at else 0)
        blocking = _prepare(self, _getframe(1), READABLE, flags)
        if blocking and flags & _WAIT_ALL and name == "recv":
            return _receive_all(self, args[0], flags, _getframe(1))
        return original(self, *args, **kwargs)


def _receive_all(self: Any, size: int, flags: int, frame: Any) -> bytes:
    """``recv`` with ``MSG_WAITALL``: as many bytes as asked for, unless the stream ends."""
    data = bytearray()
    while len(data) < size:
        _prepare(self, frame, READABLE)
        piece = _RawSocket.recv(self, size - len(data), flags & ~_WAIT_ALL)
        if not piece:
            break
        data += piece
    return bytes(data)


for _name, _flags_at in (
    ("recv", 1),
    ("recv_into", 2),
    ("recvfrom", 1),
    ("recvfrom_into", 2),
    ("recvmsg", 2),
    ("recvmsg_into", 2),
):
    if hasattr(_Socket, _name):
        _wrap_reading(_name, _flags_at)


def _send_pieces(
    execution: Execution, self: Any, data: Any, flags: int, frame: Any, timeout: float | None
) -> int:
    """Send all of ``data`` with as many waits as that needs; the number of bytes.

    Raises:
        TimeoutError: ``timeout`` virtual seconds passed before all was sent.
    """
    end = None if timeout is None else execution.clock.now + timeout
    place = place_of(frame)
    with memoryview(data) as view, view.cast("B") as content:
        sent = 0
        while True:
            left = None if end is None else max(end - execution.clock.now, 0.0)
            if not _await_descriptor(execution, self.fileno, WRITABLE, left, place):
                raise TimeoutError("timed out")
            try:
                sent += _RawSocket.send(self, content[sent:], flags | _DONT_WAIT)
            except BlockingIOError:
                continue
            if sent >= len(content):
                execution.current.looks.clear()
                return sent


_send = _Socket.send
_sendall = _Socket.sendall


@patches.method(_Socket, "send")
def send(self: Any, data: Any, flags: int = 0, /) -> int:
    """As ``socket.send``."""
    execution = controlled()
    timeout = self.gettimeout()
    if execution is not None and timeout is None and not flags & _DONT_WAIT and self.fileno() >= 0:
        # A blocking send returns when all is on its way.
        return _send_pieces(execution, self, data, flags, _getframe(1), None)
    _prepare(self, _getframe(1), WRITABLE, flags)
    return _send(self, data, flags)


@patches.method(_Socket, "sendall")
def sendall(self: Any, data: Any, flags: int = 0, /) -> None:
    """As ``socket.sendall``."""
    execution = controlled()
    timeout = self.gettimeout()
    if execution is None or timeout == 0 or flags & _DONT_WAIT or self.fileno() < 0:
        _prepare(self, _getframe(1), WRITABLE, flags)
        _sendall(self, data, flags)
        return
    _send_pieces(execution, self, data, flags, _getframe(1), timeout)


def _wrap_writing(name: str) -> None:
    original = getattr(_Socket, name)

    @patches.method(_Socket, name)
    def wrapper(self: Any, *args: Any) -> Any:
        _prepare(self, _getframe(1), WRITABLE)
        return original(self, *args)


for _name in ("sendto", "sendmsg"):
    if hasattr(_Socket, _name):
        _wrap_writing(_name)

_accept = _Socket.accept
_connect = _Socket.connect
_connect_ex = _Socket.connect_ex
_listen = _Socket.listen
_bind = _Socket.bind
_shutdown = _Socket.shutdown
_close = _Socket.close


@patches.method(_Socket, "accept")
def accept(self: Any) -> Any:
    """As ``socket.accept``."""
    _prepare(self, _getframe(1), READABLE)
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
    _RawSocket.settimeout(self, 0)
    try:
        return _connect_ex(self, address)
    finally:
        _RawSocket.settimeout(self, timeout)


def _connect_under_control(execution: Execution, self: Any, address: Any, frame: Any) -> int:
    """Connect as a task; an error number.

    Raises:
        TimeoutError: the socket's timeout has passed in virtual time.
    """
    timeout = self.gettimeout()
    place = place_of(frame)
    _point(execution, self.fileno(), place)
    if self.type != socket.SOCK_STREAM:
        return _connect_ex(self, address)
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
    if not _wait(
        execution, state, place, ready, timeout, lambda: reach_of(execution, self.fileno())
    ):
        raise TimeoutError("timed out")
    _adopt_connection(execution, self, place)
    return result[0]


def _adopt_connection(execution: Execution, self: Any, place: Any) -> None:
    """Name a connection when it is made; its beginning also touches what listens."""
    descriptor = self.fileno()
    if descriptor < 0:
        return
    channel_of(execution, descriptor, place)
    _, _, peer = _names_of(descriptor)
    if peer and isinstance(peer, tuple):
        listening = channels_of(execution).states.get(("port", peer[1]))
        if listening is not None:
            execution.effect(listening, True)


@patches.method(_Socket, "connect")
def connect(self: Any, address: Any, /) -> None:
    """As ``socket.connect``."""
    execution = controlled()
    if execution is None or self.gettimeout() == 0 or self.fileno() < 0:
        if execution is not None and self.fileno() >= 0:
            _point(execution, self.fileno(), place_of(_getframe(1)))
        _connect(self, address)
        return
    error = _connect_under_control(execution, self, address, _getframe(1))
    if error:
        raise OSError(error, os.strerror(error))


@patches.method(_Socket, "connect_ex")
def connect_ex(self: Any, address: Any, /) -> int:
    """As ``socket.connect_ex``."""
    execution = controlled()
    if execution is None or self.gettimeout() == 0 or self.fileno() < 0:
        return int(_connect_ex(self, address))
    try:
        return _connect_under_control(execution, self, address, _getframe(1))
    except TimeoutError:
        return errno.EAGAIN


@patches.method(_Socket, "listen")
def listen(self: Any, *args: Any) -> None:
    """As ``socket.listen``."""
    _listen(self, *args)
    execution = controlled()
    if execution is not None:
        channels = channels_of(execution)
        name = self.getsockname()
        channels.ports.add(name[1] if isinstance(name, tuple) else name)
        channel_of(execution, self.fileno(), place_of(_getframe(1)))


@patches.method(_Socket, "bind")
def bind(self: Any, address: Any, /) -> None:
    """As ``socket.bind``."""
    _bind(self, address)
    execution = controlled()
    if execution is not None and self.type == socket.SOCK_DGRAM:
        name = self.getsockname()
        channels_of(execution).ports.add(name[1] if isinstance(name, tuple) else name)


@patches.method(_Socket, "shutdown")
def shutdown(self: Any, how: int, /) -> None:
    """As ``socket.shutdown``."""
    execution = controlled()
    if execution is not None and self.fileno() >= 0:
        _point(execution, self.fileno(), place_of(_getframe(1)))
    _shutdown(self, how)


@patches.method(_Socket, "close")
def close(self: Any) -> None:
    """As ``socket.close``."""
    execution = controlled()
    if execution is not None and self.fileno() >= 0 and not self._closed:
        _point(execution, self.fileno(), place_of(_getframe(1)))
    _close(self)


if hasattr(socket, "socketpair"):
    _socketpair = socket.socketpair

    def socketpair(*args: Any, **kwargs: Any) -> Any:
        """As ``socket.socketpair``; both ends are one resource."""
        first, second = _socketpair(*args, **kwargs)
        execution = controlled()
        if execution is not None:
            channels = channels_of(execution)
            inodes = (os.fstat(first.fileno()).st_ino, os.fstat(second.fileno()).st_ino)
            channels.pairs[inodes[0]] = channels.pairs[inodes[1]] = inodes
            channels.states.pop(inodes, None)
            channel_of(execution, first.fileno(), place_of(_getframe(1)))
        return first, second

    socketpair.__module__ = "socket"
    patches.add(socket, "socketpair", socketpair)


# -- pipes -----------------------------------------------------------------------------


def _may_block(descriptor: Any) -> bool:
    """Whether reading or writing a file descriptor may have to wait for somebody."""
    try:
        mode = os.fstat(descriptor).st_mode
        return (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and os.get_blocking(descriptor)
    except (OSError, TypeError, ValueError):
        # The call itself will say what is wrong with it.
        return False


@patches.function(os, "pipe")
def pipe() -> tuple[int, int]:
    """Stands for ``os.pipe``."""
    ends = _real_pipe()
    execution = controlled()
    if execution is not None:
        channel_of(execution, ends[0], place_of(_getframe(2)))
    return ends


def _read_under_control(execution: Execution, descriptor: int, place: Any) -> None:
    _await_descriptor(execution, lambda: descriptor, READABLE, None, place)
    execution.current.looks.clear()


def _write_under_control(execution: Execution, descriptor: int, data: Any, place: Any) -> int:
    """A blocking write returns when all is written: wait as often as that needs."""
    with memoryview(data) as view, view.cast("B") as content:
        written = 0
        while True:
            _await_descriptor(execution, lambda: descriptor, WRITABLE, None, place)
            os.set_blocking(descriptor, False)
            try:
                written += _real_write(descriptor, content[written:])
            except BlockingIOError:
                continue
            finally:
                os.set_blocking(descriptor, True)
            if written >= len(content):
                execution.current.looks.clear()
                return written


@patches.function(os, "read")
def read(descriptor: Any, length: Any, /) -> bytes:
    """Stands for ``os.read``."""
    execution = controlled()
    if execution is not None and _may_block(descriptor):
        _read_under_control(execution, descriptor, place_of(_getframe(2)))
    return _real_read(descriptor, length)


@patches.function(os, "write")
def write(descriptor: Any, data: Any, /) -> int:
    """Stands for ``os.write``."""
    execution = controlled()
    if execution is not None and _may_block(descriptor):
        return _write_under_control(execution, descriptor, data, place_of(_getframe(2)))
    return _real_write(descriptor, data)


@patches.function(os, "close")
def close_descriptor(descriptor: Any, /) -> None:
    """Stands for ``os.close``."""
    execution = controlled()
    if execution is not None and _may_block(descriptor):
        _point(execution, descriptor, place_of(_getframe(2)))
    _real_close(descriptor)


class PipeFile(io.FileIO):
    """A raw file on a pipe or socket that waits as a task; files in C can't be patched."""

    def readinto(self, buffer: Any, /) -> int | None:
        """As ``FileIO.readinto``."""
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            _read_under_control(execution, self.fileno(), place_of(_caller(_getframe(1))))
        return super().readinto(buffer)

    def read(self, size: int | None = -1, /) -> bytes | None:  # type: ignore[override]
        """As ``FileIO.read``."""
        if size is None or size < 0:
            return self.readall()
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            _read_under_control(execution, self.fileno(), place_of(_caller(_getframe(1))))
        return super().read(size)

    def readall(self) -> bytes:
        """As ``FileIO.readall``."""
        pieces: list[bytes] = []
        while True:
            piece = self.read(65_536)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)

    def write(self, data: Any, /) -> int | None:  # type: ignore[override]
        """As ``FileIO.write``."""
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            place = place_of(_caller(_getframe(1)))
            return _write_under_control(execution, self.fileno(), data, place)
        return super().write(data)

    def close(self) -> None:
        """As ``FileIO.close``."""
        execution = controlled()
        if execution is not None and not self.closed and _may_block(self.fileno()):
            _point(execution, self.fileno(), place_of(_caller(_getframe(1))))
        super().close()


def _caller(frame: Any) -> Any:
    """The frame outside this module that a call comes from."""
    while frame.f_globals.get("__name__") == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def with_pipe_file(stream: Any) -> Any:
    """The same stream on a :class:`PipeFile`, if it is on a pipe or socket.

    Parameters:
        stream: as ``open`` gives it for a file descriptor; text streams must
            have been opened with universal newlines.
    """
    if not _may_block(stream.fileno()):
        return stream
    text = None
    if isinstance(stream, io.TextIOWrapper):
        text = (stream.encoding, stream.errors, stream.line_buffering, stream.write_through)
        stream = stream.detach()
    raw = stream.detach() if isinstance(stream, io.BufferedReader | io.BufferedWriter) else stream
    reading = raw.readable()
    ours = PipeFile(os.dup(raw.fileno()), "r" if reading else "w")
    raw.close()
    if stream is raw:
        return ours
    buffered: Any = io.BufferedReader(ours) if reading else io.BufferedWriter(ours)
    if text is None:
        return buffered
    encoding, errors, line_buffering, write_through = text
    return io.TextIOWrapper(
        buffered,
        encoding=encoding,
        errors=errors,
        line_buffering=line_buffering,
        write_through=write_through,
    )


_fdopen = os.fdopen


def fdopen(
    fd: int,
    mode: str = "r",
    buffering: int = -1,
    encoding: Any = None,
    errors: Any = None,
    newline: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Stands for ``os.fdopen``."""
    stream = _fdopen(fd, mode, buffering, encoding, errors, newline, *args, **kwargs)
    execution = controlled()
    if execution is None or newline is not None or args or kwargs or "+" in mode:
        return stream
    return with_pipe_file(stream)


fdopen.__module__ = "os"
patches.add(os, "fdopen", fdopen)


# -- select ----------------------------------------------------------------------------


def _await_several(
    frame: Any,
    look: Callable[[], Any],
    descriptors: Callable[[], list[int]],
    touched: Callable[[Any], Iterable[int]],
    timeout: float | None,
) -> Any:
    """Wait until one of several file descriptors is ready.

    Parameters:
        frame: of the caller.
        look: polls them without waiting; true when one is ready.
        descriptors: all of them.
        touched: from what ``look`` gives, the ones that are ready.
        timeout: virtual seconds, or ``None``.

    Returns:
        What ``look`` gives at the end.
    """
    execution = controlled()
    assert execution is not None
    place = place_of(frame)
    wanted = descriptors()
    if len(wanted) == 1:
        state = channel_of(execution, wanted[0], place)
    else:
        state = execution.resources.state_named(
            f"{execution.current.id}:select", "several files", "select"
        )
    if timeout is not None and timeout <= 0:
        if not execution.current.inside:
            execution.perform(EXTERNAL, state, place)
        found = look()
        if not found:
            execution.observe(state, place)
    else:
        _wait(
            execution,
            state,
            place,
            lambda: bool(look()),
            timeout,
            lambda: _furthest(execution, wanted) if wanted else Reach.LOCAL,
            is_safety_net=False,
        )
        found = look()
    if found:
        execution.current.looks.clear()
        for descriptor in touched(found):
            # What the other side did before it made this ready, it did before us.
            execution.effect(channel_of(execution, descriptor, place), False)
    return found


def _number(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())


@patches.function(select, "select")
def _select(rlist: Any, wlist: Any, xlist: Any, timeout: Any = None, /) -> Any:
    """Stands for ``select.select``."""
    execution = controlled()
    if execution is None or execution.current.inside:
        return _real_select(rlist, wlist, xlist, timeout)
    if timeout is not None and timeout < 0:
        return _real_select(rlist, wlist, xlist, timeout)
    lists = (list(rlist), list(wlist), list(xlist))

    def look() -> Any:
        found = _real_select(*lists, 0)
        return found if any(found) else ()

    found = _await_several(
        _getframe(2),
        look,
        lambda: [_number(file) for files in lists for file in files],
        lambda found: [_number(file) for files in found for file in files],
        timeout,
    )
    return found or ([], [], [])


class poll:
    """Stands for the object that ``select.poll`` makes."""

    def __init__(self) -> None:
        self._real = _real_poll()
        self._numbers: set[int] = set()

    def register(self, fd: Any, *eventmask: Any) -> None:
        """As ``poll.register``."""
        self._real.register(fd, *eventmask)
        self._numbers.add(_number(fd))

    def modify(self, fd: Any, eventmask: Any, /) -> None:
        """As ``poll.modify``."""
        self._real.modify(fd, eventmask)

    def unregister(self, fd: Any, /) -> None:
        """As ``poll.unregister``."""
        self._real.unregister(fd)
        self._numbers.discard(_number(fd))

    def poll(self, timeout: Any = None, /) -> Any:
        """As ``poll.poll``; ``timeout`` in milliseconds."""
        execution = controlled()
        if execution is None or execution.current.inside:
            return self._real.poll(timeout)
        return _await_several(
            _getframe(1),
            lambda: self._real.poll(0),
            lambda: sorted(self._numbers),
            lambda found: [number for number, _ in found],
            None if timeout is None or timeout < 0 else timeout / 1_000,
        )


patches.add(select, "poll", poll)


class epoll:
    """Stands for ``select.epoll``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        assert _real_epoll is not None
        self._real = _real_epoll(*args, **kwargs)
        self._numbers: set[int] = set()

    @classmethod
    def fromfd(cls, fd: int, /) -> epoll:
        """As ``epoll.fromfd``; what is registered already is not known to us."""
        assert _real_epoll is not None
        self = cls.__new__(cls)
        self._real = _real_epoll.fromfd(fd)
        self._numbers = set()
        return self

    def __enter__(self) -> Self:
        self._real.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._real.__exit__(*exc_info)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def register(self, fd: Any, *args: Any, **kwargs: Any) -> None:
        """As ``epoll.register``."""
        self._real.register(fd, *args, **kwargs)
        self._numbers.add(_number(fd))

    def unregister(self, fd: Any) -> None:
        """As ``epoll.unregister``."""
        self._numbers.discard(_number(fd))
        self._real.unregister(fd)

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> Any:
        """As ``epoll.poll``; ``timeout`` in seconds."""
        execution = controlled()
        if execution is None or execution.current.inside:
            return self._real.poll(timeout, maxevents)
        # Edge-triggered events are told only once, and a look must not use them up.
        watched = self._real.fileno()

        def look() -> Any:
            return is_ready(watched, READABLE)

        _await_several(
            _getframe(1),
            look,
            lambda: sorted(self._numbers),
            lambda _: (),
            None if timeout is None or timeout < 0 else timeout,
        )
        found = self._real.poll(0, maxevents)
        place = place_of(_getframe(1))
        for number, _ in found:
            execution.effect(channel_of(execution, number, place), False)
        return found


if _real_epoll is not None:
    for _constructor in ("__module__", "__doc__"):
        setattr(epoll, _constructor, getattr(_real_epoll, _constructor))
    patches.add(select, "epoll", epoll)


EVENT_LOOP = "asyncio ran callbacks and tasks in the order of its event loop, which was not varied"


def _wrap_selector(cls: Any) -> None:
    original = cls.__dict__["select"]

    @patches.method(cls, "select")
    def wrapper(self: Any, timeout: float | None = None) -> Any:
        execution = controlled()
        if execution is None or execution.current.inside:
            return original(self, timeout)
        task = execution.current
        if _getframe(1).f_globals.get("__name__") == "asyncio.base_events":
            execution.trace.uncontrolled.counts[EVENT_LOOP] = 1

        def look() -> Any:
            # The scheduler calls this on behalf of whoever waits.
            inside, task.inside = task.inside, 1
            try:
                return original(self, 0)
            finally:
                task.inside = inside

        return _await_several(
            _getframe(1),
            look,
            lambda: sorted(self._fd_to_key),
            lambda found: [key.fd for key, _ in found],
            timeout,
        )


for _class in (
    "SelectSelector",
    "_PollLikeSelector",
    "EpollSelector",
    "KqueueSelector",
):
    _found: Any = getattr(selectors, _class, None)
    if _found is not None and "select" in vars(_found):
        _wrap_selector(_found)


# -- modules that need not be there -------------------------------------------------------


@patches.when_imported("multiprocessing.connection")
def _wrap_multiprocessing(module: Any) -> None:
    """Its connections keep the real ``os.read`` and ``os.write`` as defaults."""
    cls = module.Connection
    if not hasattr(cls, "_recv") or os.name == "nt":
        return
    original_receive, original_send = cls._recv, cls._send

    @patches.method(cls, "_recv")
    def receive(self: Any, size: int, read: Any = read) -> Any:
        return original_receive(self, size, read)

    @patches.method(cls, "_send")
    def send_(self: Any, buffer: Any, write: Any = write) -> Any:
        return original_send(self, buffer, write)


@patches.when_imported("ssl")
def _wrap_ssl(module: Any) -> None:
    """Encrypted sockets: try without waiting, and wait for what OpenSSL asks for."""
    cls = module.SSLSocket
    for name in ("do_handshake", "read", "write", "unwrap"):
        _wrap_ssl_method(cls, name, module.SSLWantReadError, module.SSLWantWriteError)


def _wrap_ssl_method(cls: Any, name: str, wants_read: Any, wants_write: Any) -> None:
    original = getattr(cls, name)

    @patches.method(cls, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        timeout = self.gettimeout()
        if execution is None or timeout == 0 or self.fileno() < 0:
            return original(self, *args, **kwargs)
        end = None if timeout is None else execution.clock.now + timeout
        place = place_of(_getframe(1))
        _point(execution, self.fileno(), place)
        while True:
            _RawSocket.settimeout(self, 0)
            try:
                return original(self, *args, **kwargs)
            except wants_read:
                mask = READABLE
            except wants_write:
                mask = WRITABLE
            finally:
                if self.fileno() >= 0:
                    _RawSocket.settimeout(self, timeout)
            left = None if end is None else max(end - execution.clock.now, 0.0)
            if not _await_descriptor(execution, self.fileno, mask, left, place):
                raise TimeoutError(f"The {name} operation timed out")
