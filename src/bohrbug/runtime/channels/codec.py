"""Events as bytes: the form of message logs, described in ``docs/reference/messages.md``.

A file is a header and then blocks, each appended by one ``write``: processes share a file
without a lock, and what was written stays readable whenever the writer dies.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Kind,
    Log,
    MessageId,
    Outcome,
    Status,
    TaskId,
)

MAGIC = b"BOHRBUG MESSAGES\n"
VERSION = 1

ABOUT, EVENTS, ENDED, PROCESS, OUTCOME = b"A", b"E", b"T", b"P", b"O"
_BLOCKS = ABOUT + EVENTS + ENDED + PROCESS + OUTCOME
_DIGESTS = 1
_WIDTHS: Mapping[int, str] = {1: "B", 2: "H", 4: "I"}

Definition: TypeAlias = tuple[int, int, int, int, tuple[int, ...]]
"""Kind, status, index of the channel, index of the sender plus 1, further numbers."""


class LogError(ValueError):
    """A file is no message log; the message says why."""


class _CutOff(Exception):
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
            raise _CutOff
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


def block(kind: bytes, payload: bytes) -> bytes:
    """A block: kind, length, checksum, payload."""
    out = bytearray(kind)
    put_number(out, len(payload))
    out += zlib.crc32(payload).to_bytes(4, "little")
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
    out.append(width | (_DIGESTS << 4 if digests is not None else 0))
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
    packed = array(_WIDTHS[width], numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpacked(data: bytes, width: int) -> Iterable[int]:
    if width == 1:
        return data
    numbers = array(_WIDTHS[width], data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


class Encoder:
    """Codes whole events of one task; recording itself goes a shorter way.

    Parameters:
        task: whose events.
    """

    def __init__(self, task: TaskId) -> None:
        self._task = task
        self._vocabulary = Vocabulary()
        self._received: dict[tuple[Any, ...], int] = {}
        self._positions: dict[tuple[Any, ...], int] = {}

    def code(self, event: Event) -> int:
        """The code of the next event."""
        outcome = event.outcome
        key = (event.channel, event.flavour)
        sender, numbers = None, outcome.values
        if outcome.message is not None:
            sender, number = outcome.message
            last = self._received.get((*key, sender), -1)
            self._received[*key, sender] = number
            numbers = (number - last, *outcome.values)
        elif outcome.position is not None:
            last = self._positions.get(key, -1)
            self._positions[key] = outcome.position
            numbers = (outcome.position - last,)
        return self._vocabulary.code(
            event.kind, outcome.status, event.channel, event.flavour, sender, numbers
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


# -- reading -------------------------------------------------------------------------


class CodedTask:
    """The events of one task as they are in a file; made whole one at a time.

    Parameters:
        task: whose.
    """

    def __init__(self, task: TaskId) -> None:
        self.task = task
        self.codes: list[int] = []
        self.digests: dict[int, int] = {}
        self.channels: list[tuple[ChannelId | None, str]] = []
        self.senders: list[TaskId] = []
        self.definitions: list[Definition] = []

    def events(self) -> Iterator[Event]:
        """The events, in program order."""
        cursor = Cursor(self)
        while (event := cursor.peek()) is not None:
            yield event
            cursor.advance()

    def receipts(self) -> Iterator[tuple[ChannelId, tuple[TaskId | None, int]]]:
        """Which messages of which channels the task receives; quicker than :meth:`events`."""
        last: dict[tuple[int, int], int] = {}
        for code in self.codes:
            _, status, place, who, numbers = self.definitions[code]
            if status != Status.RECEIVED:
                continue
            number = last[place, who] = last.get((place, who), -1) + numbers[0]
            channel = self.channels[place][0]
            if channel is not None:
                yield channel, (self.senders[who - 1] if who else None, number)

    def received_from(self) -> set[ChannelId]:
        """The channels that the task receives messages of."""
        places = {d[2] for d in self.definitions if d[1] == Status.RECEIVED}
        return {channel for place in places if (channel := self.channels[place][0]) is not None}

    def selects(self, flavour: str) -> dict[int, Status]:
        """How the selects of a flavour end, by the first of their values."""
        ends: dict[int, Status] = {}
        for code in self.codes:
            kind, status, place, _, numbers = self.definitions[code]
            if kind == Kind.SELECT and numbers and self.channels[place] == (None, flavour):
                ends[numbers[0]] = Status(status)
        return ends

    def read(self, reader: Reader) -> None:
        """Take over what a block holds; as much as there is, if it is cut off."""
        first = reader.number()
        if first != len(self.codes):
            raise LogError(
                f"task {self.task}: event {len(self.codes)} should follow, not event {first}"
            )
        for _ in range(reader.number()):
            number, creator, flavour = reader.number(), reader.text(), reader.text()
            channel = ChannelId(creator, number - 1) if number else None
            self.channels.append((channel, flavour))
        for _ in range(reader.number()):
            self.senders.append(reader.text())
        for _ in range(reader.number()):
            self.definitions.append(self._definition(reader))
        count = reader.number()
        flags = reader.take(1)[0]
        width = flags & 0x0F
        if width not in _WIDTHS:
            raise LogError(f"task {self.task}: codes can't be {width} bytes wide")
        there = min(count, (len(reader.data) - reader.at) // width)
        for code in _unpacked(reader.take(there * width), width):
            if code >= len(self.definitions):
                raise LogError(f"task {self.task}: nothing defines the event {code}")
            self.codes.append(code)
        if there < count:
            raise _CutOff
        if flags >> 4 & _DIGESTS:
            digests = _unpacked(reader.take(4 * count), 4)
            self.digests.update((first + i, d) for i, d in enumerate(digests) if d)

    def _definition(self, reader: Reader) -> Definition:
        both = reader.take(1)[0]
        place, who = reader.number(), reader.number()
        numbers = tuple(reader.signed() for _ in range(reader.number()))
        kind, status = both >> 4, both & 0x0F
        if (
            kind not in Kind.__members__.values()
            or status not in Status.__members__.values()
            or place >= len(self.channels)
            or who > len(self.senders)
            or (status == Status.RECEIVED and not numbers)
        ):
            raise LogError(f"task {self.task}: a definition makes no sense")
        return kind, status, place, who, numbers


class Last:
    """The last message that a task has received from one sender in one channel.

    Parameters:
        sender: whose messages.
    """

    __slots__ = ("number", "sender")

    def __init__(self, sender: TaskId | None) -> None:
        self.sender = sender
        self.number = -1


class Cursor:
    """A place in the events of a task; those after it are made whole when they are asked for.

    Parameters:
        coded: the events.
    """

    __slots__ = (
        "_event",
        "_last",
        "_positions",
        "_whole",
        "coded",
        "codes",
        "number",
    )

    def __init__(self, coded: CodedTask) -> None:
        self.coded = coded
        self.codes = coded.codes
        self.number = 0
        """How many events come before."""
        self._event: Event | None = None
        self._whole: dict[int, Event] = {}
        self._last: dict[tuple[int, int], Last] = {}
        self._positions: dict[int, int] = {}

    @property
    def code(self) -> int:
        """The code of the next event; -1 at the end."""
        return self.codes[self.number] if self.number < len(self.codes) else -1

    def peek(self) -> Event | None:
        """The next event, if there is one."""
        if self._event is None and self.number < len(self.codes):
            event = self._decode(self.codes[self.number])
            digest = self.coded.digests.get(self.number, 0)
            self._event = event._replace(digest=digest) if digest else event
        return self._event

    def advance(self) -> None:
        """Go to the event after the next one."""
        code = self.codes[self.number]
        _, status, place, who, numbers = self.coded.definitions[code]
        if status == Status.RECEIVED:
            self._last_of(place, who).number += numbers[0]
        elif status == Status.SENT and numbers:
            self._positions[place] = self._positions.get(place, -1) + numbers[0]
        self.number += 1
        self._event = None

    def skip(self) -> None:
        """As :meth:`advance`, for an event that does not change what later codes mean."""
        self.number += 1
        self._event = None

    def received(self, code: int) -> tuple[Last, int] | None:
        """What an event received, if it did: the last message before, and how many further on."""
        _, status, place, who, numbers = self.coded.definitions[code]
        return (self._last_of(place, who), numbers[0]) if status == Status.RECEIVED else None

    def _last_of(self, place: int, who: int) -> Last:
        last = self._last.get((place, who))
        if last is None:
            sender = self.coded.senders[who - 1] if who else None
            last = self._last[place, who] = Last(sender)
        return last

    def _decode(self, code: int) -> Event:
        event = self._whole.get(code)
        if event is not None:
            return event
        kind, status, place, who, numbers = self.coded.definitions[code]
        channel, flavour = self.coded.channels[place]
        if status == Status.RECEIVED:
            last = self._last_of(place, who)
            message = MessageId(last.sender, last.number + numbers[0])
            outcome = Outcome(Status.RECEIVED, message, None, numbers[1:])
            return Event(Kind(kind), channel, flavour, outcome)
        if status == Status.SENT and numbers:
            position = self._positions.get(place, -1) + numbers[0]
            return Event(Kind(kind), channel, flavour, Outcome(Status.SENT, None, position))
        outcome = Outcome(Status(status), None, None, numbers)
        event = self._whole[code] = Event(Kind(kind), channel, flavour, outcome)
        return event


class CodedLog:
    """A file, read but not yet made whole.

    Parameters:
        data: its bytes.

    Raises:
        LogError: it is no message log, or one of a later version.
    """

    def __init__(self, data: bytes) -> None:
        if not data.startswith(MAGIC):
            raise LogError("it is no message log of Bohrbug")
        if len(data) == len(MAGIC):
            raise LogError("it ends before it says which version it is of")
        version = data[len(MAGIC)]
        if version != VERSION:
            raise LogError(f"it is of version {version}; this Bohrbug reads version {VERSION}")
        self.tasks: dict[TaskId, CodedTask] = {}
        self.about: dict[str, Any] = {}
        self.outcome: dict[str, Any] = {}
        self.processes: dict[TaskId, str] = {}
        self.ended: set[TaskId] = set()
        self.damage: str | None = None
        reader = Reader(data, len(MAGIC) + 1)
        while reader.at < len(data):
            at = reader.at
            try:
                self._block(reader)
            except _CutOff:
                self.damage = f"the file is cut off in the block at byte {at}"
                break
            except LogError as error:
                self.damage = f"the block at byte {at} is damaged: {error}"
                break

    def _block(self, reader: Reader) -> None:
        kind = reader.take(1)
        if kind not in _BLOCKS:
            raise LogError(f"there is no block of the kind {kind!r}")
        length = reader.number()
        checksum = int.from_bytes(reader.take(4), "little")
        payload = reader.data[reader.at : reader.at + length]
        reader.at += length
        whole = len(payload) == length
        if whole and zlib.crc32(payload) != checksum:
            raise LogError("its checksum is wrong")
        if kind == EVENTS:
            inner = Reader(payload)
            task = inner.text()
            if task not in self.tasks:
                self.tasks[task] = CodedTask(task)
            self.tasks[task].read(inner)
        if not whole:
            raise _CutOff
        if kind == ENDED:
            self.ended.add(payload.decode())
        elif kind != EVENTS:
            content = json.loads(payload)
            if not isinstance(content, dict):
                raise LogError("it should hold a JSON object")
            if kind == PROCESS:
                self.processes[str(content.get("task"))] = str(content.get("command"))
            else:
                (self.about if kind == ABOUT else self.outcome).update(content)

    @property
    def events(self) -> int:
        """How many there are, of all tasks."""
        return sum(len(task.codes) for task in self.tasks.values())

    def log(self) -> Log:
        """The log as plain data."""
        tasks = {name: list(task.events()) for name, task in self.tasks.items()}
        return Log(tasks, self.about, self.outcome, self.processes, self.ended, self.damage)


def decode(data: bytes) -> Log:
    """The log that the bytes of a file hold, or its readable beginning.

    Raises:
        LogError: they are no message log.
    """
    return CodedLog(data).log()


def read_coded(path: Path) -> CodedLog:
    """A message log from a file, not made whole.

    Raises:
        LogError: there is no such file, or it is no message log.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LogError(f"{path}: {error.strerror or error}") from error
    try:
        return CodedLog(data)
    except LogError as error:
        raise LogError(f"{path}: {error}") from error


def read_log(path: Path) -> Log:
    """A message log from a file.

    Raises:
        LogError: there is no such file, or it is no message log.
    """
    return read_coded(path).log()
