"""Attaching to a service in another process, as the one who does so sees it."""

from __future__ import annotations

import os
import pwd
import select
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from bohrbug.exploration.reproduction import failure_from_json
from bohrbug.exploration.result import Failure
from bohrbug.live.addresses import AttachError, find_address, peer_of
from bohrbug.live.result import LiveResult
from bohrbug.live.wire import AttachRequest, MessageKind, decoded, encoded, result_from_json

ANSWER_SECONDS = 10.0
"""Within so many seconds a service answers that comes to a scheduling point now and then."""


@dataclass(frozen=True, slots=True)
class Attached:
    """Rounds are made from now on.

    Parameters:
        command: the command line of the service.
        python: its version of Python.
    """

    command: tuple[str, ...]
    python: str


@dataclass(frozen=True, slots=True)
class Silent:
    """The service has not answered for :data:`ANSWER_SECONDS`."""


Event = Attached | Silent | Failure | LiveResult


class Attaching:
    """A connection to a service; a context manager that leaves it.

    Parameters:
        process: the number of the process.
        wanted: what is wanted of it.

    Raises:
        AttachError: it can't be attached to.
    """

    def __init__(self, process: int, wanted: AttachRequest) -> None:
        self._process = process
        self._connection = _connect(process)
        # A service may refuse whoever connects before it is asked: then it has said so already.
        with suppress(BrokenPipeError):
            self._connection.sendall(encoded(MessageKind.ATTACH, wanted.to_json()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._connection.close()

    def detach(self) -> None:
        """Ask for the end; the result is the last of the events."""
        try:
            self._connection.sendall(encoded(MessageKind.DETACH))
        except OSError:
            # It is gone, which the events tell.
            return

    def events(self) -> Iterator[Event]:
        """What the service tells, up to its result.

        Raises:
            AttachError: it refuses, or is gone.
        """
        heard = bytearray()
        waits_for_answer = True
        while True:
            if waits_for_answer and not _can_read(self._connection, ANSWER_SECONDS):
                yield Silent()
            try:
                data = self._connection.recv(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                raise AttachError(f"process {self._process} has ended, or listens no more")
            heard += data
            while b"\n" in heard:
                message, _, rest = bytes(heard).partition(b"\n")
                heard[:] = rest
                waits_for_answer = False
                event = self._event(*decoded(message))
                yield event
                if isinstance(event, LiveResult):
                    return

    def _event(self, kind: MessageKind, data: Any) -> Event:
        if kind is MessageKind.ATTACHED:
            return Attached(tuple(data["command"]), data["python"])
        if kind is MessageKind.FAILED:
            return failure_from_json(data)
        if kind is MessageKind.OVER:
            return result_from_json(data)
        raise AttachError(f"process {self._process} refuses: {data}")


def _can_read(connection: socket.socket, seconds: float) -> bool:
    return bool(select.select([connection], [], [], seconds)[0])


def _connect(process: int) -> socket.socket:
    """A connection to the service in a process.

    Raises:
        AttachError: there is none, and why.
    """
    user = _user_of(process)
    if os.geteuid() not in (user, 0):
        raise AttachError(f"process {process} belongs to {_name_of(user)}: attach as that user")
    path = find_address(process, user)
    if path is None:
        raise AttachError(f"process {process} has not called bohrbug.live.start()")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(os.fspath(path))
    except OSError as error:
        connection.close()
        raise AttachError(f"process {process} does not listen at {path}: {error}") from None
    other, owner = peer_of(connection)
    if other not in (process, 0) or owner != user:
        connection.close()
        raise AttachError(f"process {other} of user {owner} listens at {path}, not {process}")
    return connection


def _user_of(process: int) -> int:
    """Whose process it is.

    Raises:
        AttachError: there is no such process.
    """
    try:
        return os.stat(f"/proc/{process}").st_uid
    except OSError:
        raise AttachError(f"there is no process {process}") from None


def _name_of(user: int) -> str:
    try:
        return f"user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"
