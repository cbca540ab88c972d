"""The door of a service: its own thread, which listens to who wants to attach to it.

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
from bohrbug.live.wire import Wanted, Word, line, word_of

# As they are, whatever stands for them while the service is under control.
_allocate_lock, _start_new_thread = _thread.allocate_lock, _thread.start_new_thread
_poll, _pipe, _read, _write, _close = select.poll, os.pipe, os.read, os.write, os.close
_sigmask = signal.pthread_sigmask
_monotonic = time.monotonic
_Socket = socket.socket

_LONGEST_REQUEST = 1 << 20
"""Bytes, after which whoever calls is not listened to any further."""

_FLUSH_SECONDS = 5.0
"""For so long who is called may take to read what is left to be told."""


class Caller:
    """Who has called, as the thread of the door and that of the service see it.

    Parameters:
        connection: to the caller.
        wake: lets the thread of the door look.

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
        self.wanted: Wanted | None = None
        self.has_left = False
        self.wants_result = True
        self.is_last = False
        self.told_all: Any = _allocate_lock()
        self.told_all.acquire()
        self.heard = bytearray()
        self.to_tell: deque[bytes] = deque()
        self._wake = wake

    def tell(self, word: Word, data: object = None, is_last: bool = False) -> None:
        """Say something to it; any thread may.

        Parameters:
            word, data: see :func:`~bohrbug.live.wire.line`.
            is_last: nothing else is to be said, and the connection is closed then.
        """
        self.to_tell.append(line(word, data))
        self.is_last = self.is_last or is_last
        self._wake()

    def wait_until_told(self) -> None:
        """Wait, natively, until it has read what it was told last, but not for long."""
        if self.told_all.acquire(True, _FLUSH_SECONDS):
            self.told_all.release()


class Door:
    """Listens.

    Parameters:
        on_news: called in the thread of the door when somebody comes in or wants to leave.

    Attributes:
        caller: who is inside; the thread of the service takes it out once nothing is left to do.

    Raises:
        AttachError: there is no place to listen at.
    """

    def __init__(self, on_news: Callable[[], object]) -> None:
        self._on_news = on_news
        self.caller: Caller | None = None
        self.path: Path = make_address(os.getpid())
        self._listening = _Socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(os.fspath(self.path))
        self._listening.listen(4)
        self._listening.setblocking(False)
        self._reading, self._writing = _pipe()
        os.set_blocking(self._writing, False)
        self._callers: dict[int, Caller] = {}
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
        for descriptor, caller in self._callers.items():
            poll.register(descriptor, select.POLLIN | (select.POLLOUT if caller.to_tell else 0))
        for descriptor, events in poll.poll():
            if descriptor == self._reading:
                _read(self._reading, 1 << 10)
            elif descriptor == listening:
                self._answer()
            else:
                self._attend(self._callers[descriptor], events)
        for caller in list(self._callers.values()):
            if caller.is_last and not caller.to_tell:
                self._drop(caller)

    def _answer(self) -> None:
        """Somebody has called."""
        try:
            connection, _ = self._listening.accept()
        except OSError:
            # It has gone again.
            return
        connection.setblocking(False)
        caller = Caller(connection, self._wake)
        self._callers[connection.fileno()] = caller
        if caller.user not in (os.geteuid(), 0):
            caller.tell(Word.REFUSED, f"the service is not user {caller.user}'s", is_last=True)

    def _attend(self, caller: Caller, events: int) -> None:
        """A caller has said something, listens or is gone."""
        try:
            if events & select.POLLOUT:
                self._send(caller)
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = caller.connection.recv(1 << 16)
                if not data:
                    raise ConnectionResetError
                caller.heard += data
        except BlockingIOError:
            return
        except OSError:
            caller.wants_result = False
            self._leave(caller)
            self._drop(caller)
            return
        while b"\n" in caller.heard and not caller.is_last:
            message, _, rest = bytes(caller.heard).partition(b"\n")
            caller.heard[:] = rest
            self._heed(caller, message)
        if len(caller.heard) > _LONGEST_REQUEST:
            caller.tell(Word.REFUSED, "that is too long", is_last=True)

    def _send(self, caller: Caller) -> None:
        while caller.to_tell:
            message = caller.to_tell[0]
            sent = caller.connection.send(message)
            if sent < len(message):
                caller.to_tell[0] = message[sent:]
                return
            caller.to_tell.popleft()

    def _heed(self, caller: Caller, message: bytes) -> None:
        """Do what a message asks for."""
        try:
            word, data = word_of(message)
            if word is Word.ATTACH:
                self._let_in(caller, Wanted.from_json(data))
            elif word is Word.DETACH:
                self._leave(caller)
        except (ValueError, TypeError, KeyError) as error:
            caller.tell(Word.REFUSED, str(error), is_last=True)

    def _let_in(self, caller: Caller, wanted: Wanted) -> None:
        if self.caller is not None:
            caller.tell(
                Word.REFUSED,
                f"process {self.caller.process} is attached to it already",
                is_last=True,
            )
            return
        caller.wanted = wanted
        self.caller = caller
        self._on_news()

    def _leave(self, caller: Caller) -> None:
        caller.has_left = True
        if caller is self.caller:
            self._on_news()

    def _drop(self, caller: Caller) -> None:
        """Nothing is left to do for a caller."""
        self._callers.pop(caller.connection.fileno(), None)
        caller.connection.close()
        caller.to_tell.clear()
        caller.told_all.release()

    def _say_goodbye(self) -> None:
        """Tell what is left to be told, to those who listen."""
        deadline = _monotonic() + _FLUSH_SECONDS
        for caller in list(self._callers.values()):
            poll = _poll()
            poll.register(caller.connection.fileno(), select.POLLOUT)
            try:
                while caller.to_tell and _monotonic() < deadline:
                    if poll.poll(1_000 * max(deadline - _monotonic(), 0)):
                        self._send(caller)
            except OSError:
                caller.has_left = True
            self._drop(caller)
