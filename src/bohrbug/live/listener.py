"""The listener of a service: its own thread, which listens to who wants to attach to it.

It is a real thread that waits in the kernel nearly all the time, so that the service is not
disturbed.  It carries messages, and decides nothing but who may come in; what is wanted is done by
the thread of the service, between two steps.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bohrbug.live.addresses import make_address, peer_of
from bohrbug.live.wire import AttachRequest, MessageKind, decoded, encoded

# As they are, whatever stands for them while the service is under control.
_allocate_lock, _start_new_thread = _thread.allocate_lock, _thread.start_new_thread
_poll, _pipe, _read, _write, _close = select.poll, os.pipe, os.read, os.write, os.close
_sigmask = signal.pthread_sigmask
_monotonic = time.monotonic
_Socket = socket.socket

_LONGEST_REQUEST = 1 << 20
"""Bytes, after which a client is not listened to any further."""

_FLUSH_SECONDS = 5.0
"""For so long a client may take to read what is left to be told."""


class Client:
    """Who has connected, as the thread of the listener and that of the service see it.

    Parameters:
        connection: to the client.
        wake: lets the thread of the listener look.

    Attributes:
        process: its number.
        wanted: what it wants, once it has said so and was let in.
        has_left: it wants no more, or is gone.
        wants_result: it wants to know what came of it.
        told_all: nothing is left to be told, and the connection is closed.
    """

    def __init__(self, connection: socket.socket, wake: Callable[[], object]) -> None:
        self.connection = connection
        self.process, self.user = peer_of(connection)
        self.wanted: AttachRequest | None = None
        self.has_left = False
        self.wants_result = True
        self.is_last = False
        self.told_all: Any = _allocate_lock()
        self.told_all.acquire()
        self.heard = bytearray()
        self.to_tell: deque[bytes] = deque()
        self._wake = wake

    def tell(self, kind: MessageKind, data: object = None, is_last: bool = False) -> None:
        """Say something to it; any thread may.

        Parameters:
            kind, data: see :func:`~bohrbug.live.wire.encoded`.
            is_last: nothing else is to be said, and the connection is closed then.
        """
        self.to_tell.append(encoded(kind, data))
        self.is_last = self.is_last or is_last
        self._wake()

    def wait_until_told(self) -> None:
        """Wait, natively, until it has read what it was told last, but not for long."""
        if self.told_all.acquire(True, _FLUSH_SECONDS):
            self.told_all.release()


class Listener:
    """Listens.

    Parameters:
        on_news: called in the thread of the listener when somebody comes in or wants to leave.

    Attributes:
        client: who is inside; the thread of the service takes it out once nothing is left to do.

    Raises:
        AttachError: there is no place to listen at.
    """

    def __init__(self, on_news: Callable[[], object]) -> None:
        self._on_news = on_news
        self.client: Client | None = None
        self.path: Path = make_address(os.getpid())
        self._listening = _Socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(os.fspath(self.path))
        self._listening.listen(4)
        self._listening.setblocking(False)
        self._reading, self._writing = _pipe()
        os.set_blocking(self._writing, False)
        self._clients: dict[int, Client] = {}
        self._is_open = True
        self._ended: Any = _allocate_lock()
        self._ended.acquire()
        _start_new_thread(self._listen, ())

    def close(self) -> None:
        """Listen no more; called by the thread of the service."""
        self._is_open = False
        self._wake()
        self._ended.acquire()
        _close(self._reading)
        _close(self._writing)
        self.path.unlink(missing_ok=True)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            _write(self._writing, b"x")

    # -- in its thread ---------------------------------------------------------------

    def _listen(self) -> None:
        # Signals to this process are for the thread of the service.
        _sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while self._is_open:
                self._look()
            self._say_goodbye()
        except Exception:  # noqa: BLE001
            # The service goes on, but nobody can attach to it any more.
            traceback.print_exc(file=sys.__stderr__)
        finally:
            self._listening.close()
            self._ended.release()

    def _look(self) -> None:
        """Wait until something happens, and do what is due."""
        poll = _poll()
        listening = self._listening.fileno()
        poll.register(listening, select.POLLIN)
        poll.register(self._reading, select.POLLIN)
        for descriptor, client in self._clients.items():
            poll.register(descriptor, select.POLLIN | (select.POLLOUT if client.to_tell else 0))
        for descriptor, events in poll.poll():
            if descriptor == self._reading:
                _read(self._reading, 1 << 10)
            elif descriptor == listening:
                self._answer()
            else:
                self._attend(self._clients[descriptor], events)
        for client in list(self._clients.values()):
            if client.is_last and not client.to_tell:
                self._drop(client)

    def _answer(self) -> None:
        """Somebody has connected."""
        try:
            connection, _ = self._listening.accept()
        except OSError:
            # It has gone again.
            return
        connection.setblocking(False)
        client = Client(connection, self._wake)
        self._clients[connection.fileno()] = client
        if client.user not in (os.geteuid(), 0):
            client.tell(
                MessageKind.REFUSED, f"the service is not user {client.user}'s", is_last=True
            )

    def _attend(self, client: Client, events: int) -> None:
        """A client has said something, listens or is gone."""
        try:
            if events & select.POLLOUT:
                self._send(client)
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = client.connection.recv(1 << 16)
                if not data:
                    raise ConnectionResetError
                client.heard += data
        except BlockingIOError:
            return
        except OSError:
            client.wants_result = False
            self._leave(client)
            self._drop(client)
            return
        while b"\n" in client.heard and not client.is_last:
            message, _, rest = bytes(client.heard).partition(b"\n")
            client.heard[:] = rest
            self._heed(client, message)
        if len(client.heard) > _LONGEST_REQUEST:
            client.tell(MessageKind.REFUSED, "that is too long", is_last=True)

    def _send(self, client: Client) -> None:
        while client.to_tell:
            message = client.to_tell[0]
            sent = client.connection.send(message)
            if sent < len(message):
                client.to_tell[0] = message[sent:]
                return
            client.to_tell.popleft()

    def _heed(self, client: Client, message: bytes) -> None:
        """Do what a message asks for."""
        try:
            kind, data = decoded(message)
            if kind is MessageKind.ATTACH:
                self._let_in(client, AttachRequest.from_json(data))
            elif kind is MessageKind.DETACH:
                self._leave(client)
        except (ValueError, TypeError, KeyError) as error:
            client.tell(MessageKind.REFUSED, str(error), is_last=True)

    def _let_in(self, client: Client, wanted: AttachRequest) -> None:
        if self.client is not None:
            client.tell(
                MessageKind.REFUSED,
                f"process {self.client.process} is attached to it already",
                is_last=True,
            )
            return
        client.wanted = wanted
        self.client = client
        self._on_news()

    def _leave(self, client: Client) -> None:
        client.has_left = True
        if client is self.client:
            self._on_news()

    def _drop(self, client: Client) -> None:
        """Nothing is left to do for a client."""
        self._clients.pop(client.connection.fileno(), None)
        client.connection.close()
        client.to_tell.clear()
        client.told_all.release()

    def _say_goodbye(self) -> None:
        """Tell what is left to be told, to those who listen."""
        deadline = _monotonic() + _FLUSH_SECONDS
        for client in list(self._clients.values()):
            poll = _poll()
            poll.register(client.connection.fileno(), select.POLLOUT)
            try:
                while client.to_tell and _monotonic() < deadline:
                    if poll.poll(1_000 * max(deadline - _monotonic(), 0)):
                        self._send(client)
            except OSError:
                client.has_left = True
            self._drop(client)
