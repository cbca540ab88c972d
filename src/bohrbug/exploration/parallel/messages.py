"""What the first process and its workers say to each other, and the pipe it goes through."""

from __future__ import annotations

import os
import pickle
import select
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bohrbug.exploration.figures import Figures, Signature
from bohrbug.model.plan import Plan
from bohrbug.search.divisible import State

# Kept from before any execution: the test may replace what modules hold.
_read, _write, _close, _poll = os.read, os.write, os.close, select.poll

_HEADER = struct.Struct("!Q")


@dataclass(slots=True)
class Piece:
    """A part of the work.

    Parameters:
        state: see :class:`~bohrbug.search.divisible.Divisible`.
        most: executions that may be spent on it.
        died: workers that have died over it.
    """

    state: State
    most: int
    died: int = 0


@dataclass(slots=True)
class FoundFailure:
    """From a worker: an execution failed.

    Parameters:
        plan: which one.
        signature: of the failure.
        position: see :meth:`~bohrbug.search.divisible.Divisible.position`.
    """

    plan: Plan
    signature: Signature
    position: int | None


@dataclass(slots=True)
class FoundRace:
    """From a worker: this plan shows a data race that was not known."""

    plan: Plan


@dataclass(slots=True)
class FoundLockOrder:
    """From a worker: this plan passes, and takes locks in an order that may deadlock elsewhere."""

    plan: Plan


@dataclass(slots=True)
class Learned:
    """From a worker: after this plan it sees more of the test than the others do, and ends.

    Parameters:
        plan: which one.
        position: see :class:`FoundFailure`.
    """

    plan: Plan
    position: int | None


@dataclass(slots=True)
class Hung:
    """From a worker: an execution hung, or waited for something outside our control."""

    message: str


@dataclass(slots=True)
class GaveBack:
    """From a worker: its piece is done, or others need some of it, or it was told to stop.

    Parameters:
        state: what is left of the piece.
        figures: of the executions that were made.
    """

    state: State
    figures: Figures


@dataclass(slots=True)
class End:
    """To a worker: end."""


class Channel:
    """Whole messages through a pair of pipes.

    Parameters:
        incoming: descriptor to read from.
        outgoing: descriptor to write to.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming = incoming
        self._outgoing = outgoing
        self._received = bytearray()

    def send(self, message: object) -> None:
        """Send a message; waits until the other side has room for it.

        Raises:
            BrokenPipeError: the other side is gone.
        """
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        view = memoryview(_HEADER.pack(len(data)) + data)
        while view:
            view = view[_write(self._outgoing, view) :]

    def receive(self) -> Any:
        """The next message; waits for it.

        Raises:
            EOFError: the other side is gone.
        """
        while (message := self._complete()) is None:
            self._read_some()
        return message

    def received(self) -> list[Any]:
        """All messages that are there now, after a poll said that there is something to read.

        Raises:
            EOFError: the other side is gone, and there are no more messages.
        """
        try:
            self._read_some()
        except EOFError:
            messages = self._all_complete()
            if not messages:
                raise
            return messages
        return self._all_complete()

    def _all_complete(self) -> list[Any]:
        messages = []
        while (message := self._complete()) is not None:
            messages.append(message)
        return messages

    def _complete(self) -> Any:
        received = self._received
        if len(received) < _HEADER.size:
            return None
        end = _HEADER.size + _HEADER.unpack_from(received)[0]
        if len(received) < end:
            return None
        message = pickle.loads(bytes(received[_HEADER.size : end]))
        del received[:end]
        return message

    def _read_some(self) -> None:
        data = _read(self.incoming, 1 << 20)
        if not data:
            raise EOFError
        self._received += data

    def close(self) -> None:
        """Close both descriptors."""
        _close(self.incoming)
        _close(self._outgoing)


def readable(channels: Iterable[Channel], seconds: float) -> set[int]:
    """The ``incoming`` descriptors that have something, after at most so many seconds."""
    poll = _poll()
    for channel in channels:
        poll.register(channel.incoming, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
