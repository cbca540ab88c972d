"""Message logs as they are read: in the form of the file, made whole one event at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bohrbug.runtime.channels.codec import (
    ABOUT,
    BLOCKS,
    DIGESTS,
    ENDED,
    EVENTS,
    MAGIC,
    PROCESS,
    VERSION,
    WIDTHS,
    CutOffError,
    Definition,
    LogError,
    Reader,
    checksum,
    unpacked,
)
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
        if width not in WIDTHS:
            raise LogError(f"task {self.task}: codes can't be {width} bytes wide")
        there = min(count, (len(reader.data) - reader.at) // width)
        for code in unpacked(reader.take(there * width), width):
            if code >= len(self.definitions):
                raise LogError(f"task {self.task}: nothing defines the event {code}")
            self.codes.append(code)
        if there < count:
            raise CutOffError
        if flags >> 4 & DIGESTS:
            digests = unpacked(reader.take(4 * count), 4)
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


class Position:
    """Where in a bounded channel the last message is that a task has sent to it."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = -1


class Cursor:
    """A place in the events of a task; those after it are made whole when they are asked for.

    Parameters:
        coded: the events.
    """

    __slots__ = (
        "_last",
        "_positions",
        "_whole",
        "coded",
        "codes",
        "end",
        "event",
        "number",
    )

    def __init__(self, coded: CodedTask) -> None:
        self.coded = coded
        self.codes = coded.codes
        self.number = 0
        """How many events come before."""
        self.end = len(self.codes)
        self.event: Event | None = None
        """The next one, made whole; ``None`` if it is not yet."""
        self._whole: dict[int, Event] = {}
        self._last: dict[tuple[int, int], Last] = {}
        self._positions: dict[int, Position] = {}

    @property
    def code(self) -> int:
        """The code of the next event; -1 at the end."""
        return self.codes[self.number] if self.number < len(self.codes) else -1

    def peek(self) -> Event | None:
        """The next event, if there is one."""
        if self.event is None and self.number < len(self.codes):
            event = self._decode(self.codes[self.number])
            digest = self.coded.digests.get(self.number, 0)
            self.event = event._replace(digest=digest) if digest else event
        return self.event

    def advance(self) -> None:
        """Go to the event after the next one."""
        code = self.codes[self.number]
        _, status, place, who, numbers = self.coded.definitions[code]
        if status == Status.RECEIVED:
            self._last_of(place, who).number += numbers[0]
        elif status == Status.SENT and numbers:
            self._position_of(place).number += numbers[0]
        self.number += 1
        self.event = None

    def rest(self) -> Iterator[Event]:
        """All events from the next one on; it is at the end after that."""
        while (event := self.peek()) is not None:
            self.advance()
            yield event

    def skip(self) -> None:
        """As :meth:`advance`, for an event that does not change what later codes mean."""
        self.number += 1
        self.event = None

    def received(self, code: int) -> tuple[Last, int] | None:
        """What an event received, if it did: the last message before, and how many further on."""
        _, status, place, who, numbers = self.coded.definitions[code]
        return (self._last_of(place, who), numbers[0]) if status == Status.RECEIVED else None

    def sent(self, code: int) -> tuple[Position, int] | None:
        """Where an event sent to, if its channel is bounded: as :meth:`received`."""
        _, status, place, _, numbers = self.coded.definitions[code]
        return (self._position_of(place), numbers[0]) if status == Status.SENT and numbers else None

    def _position_of(self, place: int) -> Position:
        position = self._positions.get(place)
        if position is None:
            position = self._positions[place] = Position()
        return position

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
            position = self._position_of(place).number + numbers[0]
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
            except CutOffError:
                self.damage = f"the file is cut off in the block at byte {at}"
                break
            except LogError as error:
                self.damage = f"the block at byte {at} is damaged: {error}"
                break

    def _block(self, reader: Reader) -> None:
        kind = reader.take(1)
        if kind not in BLOCKS:
            raise LogError(f"there is no block of the kind {kind!r}")
        length = reader.number()
        expected = int.from_bytes(reader.take(4), "little")
        payload = reader.data[reader.at : reader.at + length]
        reader.at += length
        whole = len(payload) == length
        if whole and checksum(kind, payload) != expected:
            raise LogError("its checksum is wrong")
        if kind == EVENTS:
            inner = Reader(payload)
            task = inner.text()
            if task not in self.tasks:
                self.tasks[task] = CodedTask(task)
            self.tasks[task].read(inner)
        if not whole:
            raise CutOffError
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
