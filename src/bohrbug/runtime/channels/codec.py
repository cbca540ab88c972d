"""Events as bytes: the form of message logs, described in ``docs/reference/messages.md``.

A file is a header and then blocks, each appended by one ``write``: processes share a file
without a lock, and what was written stays readable whenever the writer dies.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Kind,
    Log,
    Status,
    TaskId,
)

MAGIC = b"BOHRBUG MESSAGES\n"
VERSION = 2

ABOUT, EVENTS, ENDED, PROCESS, OUTCOME = b"A", b"E", b"T", b"P", b"O"
BLOCKS = ABOUT + EVENTS + ENDED + PROCESS + OUTCOME
DIGESTS = 1
WIDTHS: Mapping[int, str] = {1: "B", 2: "H", 4: "I"}

Definition: TypeAlias = tuple[int, int, int, int, tuple[int, ...]]
"""Kind, status, index of the channel, index of the sender plus 1, further numbers."""


class LogError(ValueError):
    """A file is no message log; the message says why."""


class CutOffError(Exception):
    """The bytes end in the middle of something."""


# -- numbers and texts ---------------------------------------------------------------


def put_number(out: bytearray, number: int) -> None:
    """Append a whole number from 0 on, 7 bits a byte, the lowest first."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def put_signed(out: bytearray, number: int) -> None:
    """Append a whole number; small ones, negative or not, take one byte."""
    put_number(out, number << 1 if number >= 0 else (-number << 1) - 1)


def put_text(out: bytearray, text: str) -> None:
    """Append a text with its length."""
    encoded = text.encode("utf-8", "backslashreplace")
    put_number(out, len(encoded))
    out += encoded


class Reader:
    """Takes numbers and texts from bytes.

    Parameters:
        data: the bytes.
        at: where to begin.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def take(self, count: int) -> bytes:
        """The next bytes."""
        piece = self.data[self.at : self.at + count]
        if len(piece) < count:
            raise CutOffError
        self.at += count
        return piece

    def number(self) -> int:
        """See :func:`put_number`."""
        result = shift = 0
        while True:
            byte = self.take(1)[0]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7
            if shift > 70:
                raise LogError(f"byte {self.at} belongs to no number that we write")

    def signed(self) -> int:
        """See :func:`put_signed`."""
        number = self.number()
        return -(number + 1 >> 1) if number & 1 else number >> 1

    def text(self) -> str:
        """See :func:`put_text`."""
        return self.take(self.number()).decode("utf-8", "replace")


# -- writing -------------------------------------------------------------------------


def header() -> bytes:
    """The first bytes of a file."""
    return MAGIC + bytes([VERSION])


def checksum(kind: bytes, payload: bytes) -> int:
    """Of a block."""
    return zlib.crc32(payload, zlib.crc32(kind))


def block(kind: bytes, payload: bytes) -> bytes:
    """A block: kind, length, checksum, payload."""
    out = bytearray(kind)
    put_number(out, len(payload))
    out += checksum(kind, payload).to_bytes(4, "little")
    return bytes(out + payload)


def json_block(kind: bytes, content: Mapping[str, Any]) -> bytes:
    """A block that holds JSON."""
    return block(kind, json.dumps(content, separators=(",", ":")).encode())


def ended_block(task: TaskId) -> bytes:
    """A block that says that a task has ended."""
    return block(ENDED, task.encode())


def process_block(task: TaskId, command: str) -> bytes:
    """A block that says that a process begins, with this task."""
    return json_block(PROCESS, {"task": task, "command": command})


class Vocabulary:
    """The kinds of events that one task has had; each event is then one small number.

    An event is coded as the index of its definition.  What numbers a message is in there
    relative to the last one alike, so that a steady exchange needs a handful of definitions.
    """

    def __init__(self) -> None:
        self._codes: dict[Definition, int] = {}
        self._channels: dict[tuple[ChannelId | None, str], int] = {}
        self._senders: dict[TaskId, int] = {}
        self._new_channels: list[tuple[ChannelId | None, str]] = []
        self._new_senders: list[TaskId] = []
        self._new: list[Definition] = []
        self.newest = -1
        """The code that was given out last for the first time."""

    def code(
        self,
        kind: Kind,
        status: Status,
        channel: ChannelId | None,
        flavour: str,
        sender: TaskId | None = None,
        numbers: tuple[int, ...] = (),
    ) -> int:
        """The number of a definition; a new one if need be."""
        key = (channel, flavour)
        place = self._channels.get(key)
        if place is None:
            place = self._channels[key] = len(self._channels)
            self._new_channels.append(key)
        who = 0
        if sender is not None:
            who = self._senders.get(sender, 0)
            if not who:
                who = self._senders[sender] = len(self._senders) + 1
                self._new_senders.append(sender)
        definition = (int(kind), int(status), place, who, numbers)
        code = self._codes.get(definition)
        if code is None:
            code = self.newest = self._codes[definition] = len(self._codes)
            self._new.append(definition)
        return code

    @property
    def new(self) -> bool:
        """Whether there are definitions that no block had before."""
        return bool(self._new)

    def preamble(self, task: TaskId, first: int) -> bytes:
        """The beginning of a block of events, with the definitions that no block had before.

        Parameters:
            task: whose events.
            first: how many the task had in earlier blocks.
        """
        out = bytearray()
        put_text(out, task)
        put_number(out, first)
        put_number(out, len(self._new_channels))
        for channel, flavour in self._new_channels:
            put_number(out, 0 if channel is None else channel.number + 1)
            put_text(out, "" if channel is None else channel.creator)
            put_text(out, flavour)
        put_number(out, len(self._new_senders))
        for sender in self._new_senders:
            put_text(out, sender)
        put_number(out, len(self._new))
        for kind, status, place, who, numbers in self._new:
            out.append(kind << 4 | status)
            put_number(out, place)
            put_number(out, who)
            put_number(out, len(numbers))
            for number in numbers:
                put_signed(out, number)
        return bytes(out)

    def events_block(
        self, task: TaskId, first: int, codes: list[int], digests: list[int] | None = None
    ) -> bytes:
        """A block of events; what defines them is in no later one.

        Parameters:
            task: whose events.
            first: how many the task had in earlier blocks.
            codes: of the events.
            digests: of their values, one for each, or ``None``.
        """
        preamble = self.preamble(task, first)
        self._new_channels, self._new_senders, self._new = [], [], []
        return block_of(preamble, codes, digests)


def block_of(preamble: bytes, codes: list[int], digests: list[int] | None = None) -> bytes:
    """A block of events that begins with a preamble; see :meth:`Vocabulary.preamble`."""
    out = bytearray(preamble)
    put_number(out, len(codes))
    largest = max(codes, default=0)
    width = 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4
    out.append(width | (DIGESTS << 4 if digests is not None else 0))
    out += _packed(codes, width)
    if digests is not None:
        out += _packed(digests, 4)
    return block(EVENTS, bytes(out))


def task_and_first(preamble: bytes) -> tuple[TaskId, int]:
    """Whose events a block holds, and how many the task had in earlier ones."""
    reader = Reader(preamble)
    return reader.text(), reader.number()


def _packed(numbers: list[int], width: int) -> bytes:
    if width == 1:
        return bytes(numbers)
    packed = array(WIDTHS[width], numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpacked(data: bytes, width: int) -> Iterable[int]:
    """The numbers of so many bytes each that are in a block."""
    if width == 1:
        return data
    numbers = array(WIDTHS[width], data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


class Relative:
    """The numbers of a task's events, relative to earlier ones of it."""

    def __init__(self) -> None:
        self._received: dict[tuple[Any, ...], int] = {}
        self._positions: dict[tuple[Any, ...], int] = {}

    def numbers(self, event: Event) -> tuple[int, ...]:
        """The numbers of the next event."""
        outcome = event.outcome
        key = (event.channel, event.flavour)
        if outcome.message is not None:
            sender, number = outcome.message
            last = self._received.get((*key, sender), -1)
            self._received[*key, sender] = number
            return number - last, *outcome.values
        if outcome.position is not None:
            last = self._positions.get(key, -1)
            self._positions[key] = outcome.position
            return (outcome.position - last,)
        return outcome.values


def sender_of(event: Event) -> TaskId | None:
    """Who has sent what an event receives; ``None`` if that is not seen, or it receives nothing."""
    return None if event.outcome.message is None else event.outcome.message.sender


class Encoder:
    """Codes whole events of one task; recording itself goes a shorter way.

    Parameters:
        task: whose events.
    """

    def __init__(self, task: TaskId) -> None:
        self._task = task
        self._vocabulary = Vocabulary()
        self._relative = Relative()

    def code(self, event: Event) -> int:
        """The code of the next event."""
        return self._vocabulary.code(
            event.kind,
            event.outcome.status,
            event.channel,
            event.flavour,
            sender_of(event),
            self._relative.numbers(event),
        )

    def block(self, events: Iterable[Event], first: int = 0) -> bytes:
        """A block of events, which follow on those of earlier blocks."""
        listed = list(events)
        codes = [self.code(event) for event in listed]
        digests = [event.digest for event in listed]
        return self._vocabulary.events_block(
            self._task, first, codes, digests if any(digests) else None
        )


def encode(log: Log) -> bytes:
    """A log as the bytes of a file."""
    parts = [header(), json_block(ABOUT, log.about)]
    parts.extend(process_block(task, words) for task, words in log.processes.items())
    for task, events in log.tasks.items():
        parts.append(Encoder(task).block(events))
        if task in log.ended:
            parts.append(ended_block(task))
    if log.outcome:
        parts.append(json_block(OUTCOME, log.outcome))
    return b"".join(parts)
