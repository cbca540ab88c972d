"""What is recorded of message passing, as plain data.

The events, ids and outcomes are those of Navarro Leija and Jeffrey, "Lightweight RR for
Intermittent Tests Failures" (2019), section 3.3; `look` is ours: Python programs also ask
channels how full they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

TaskId = str
"""Path in the spawn tree: ``0``, ``0.2``, ...; threads, asyncio tasks and processes alike."""


class Kind(IntEnum):
    """What a task asked of a channel; the numbers are those in files."""

    SEND = 0
    TRY_SEND = 1
    TIMED_SEND = 2
    RECV = 3
    TRY_RECV = 4
    TIMED_RECV = 5
    SELECT = 6
    LOOK = 7

    @property
    def words(self) -> str:
        """For people: ``try_recv``, ``timed recv``."""
        return _WORDS.get(self, self.name.lower())

    @property
    def sends(self) -> bool:
        """Whether it puts a message into a channel."""
        return self <= Kind.TIMED_SEND


_READY = ((1, "read"), (2, "write"))
"""As in ``selectors``: ``EVENT_READ`` and ``EVENT_WRITE``."""

_WORDS = {Kind.TIMED_SEND: "timed send", Kind.TIMED_RECV: "timed recv"}

LOOP = ".0."
"""In the ids of event loops: ``0.2.0.1`` is the first loop that the task 0.2 makes."""

READINESS, TIMER = "asyncio.readiness", "asyncio.timer"
CALL, WRAPPED = "asyncio.call_soon_threadsafe", "asyncio.wrap_future"
ARRIVALS = frozenset((READINESS, TIMER, CALL, WRAPPED))
"""Flavours of what comes to an event loop from outside; the order of those is an event loop's own.

The first value of such an event says after how many turns of the loop since the one before.
"""


class Status(IntEnum):
    """How an event ended; the numbers are those in files."""

    SENT = 0
    RECEIVED = 1
    EMPTY = 2
    FULL = 3
    TIMED_OUT = 4
    CLOSED = 5
    READY = 6
    VALUE = 7
    CANCELLED = 8
    """The asyncio task that waited was cancelled."""


class ChannelId(NamedTuple):
    """Which channel: the task that made it, and how many that had made before."""

    creator: TaskId
    number: int

    def __str__(self) -> str:
        return f"{self.creator}/{self.number}"


class MessageId(NamedTuple):
    """Which message of a channel: who sent it, and how many the sender had sent there before.

    The sender is ``None`` if it is a thread that was started by something we don't see.
    """

    sender: TaskId | None
    number: int

    def __str__(self) -> str:
        return f"#{self.number + 1} of {self.sender or 'an unseen thread'}"


class Outcome(NamedTuple):
    """How an event ended.

    Parameters:
        status: the ending.
        message: which one was received.
        position: of a message sent to a bounded channel: how many all tasks had sent before.
        values: indices of what was ready, or what a look showed.
    """

    status: Status
    message: MessageId | None = None
    position: int | None = None
    values: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.message is not None:
            return f"received {self.message}"
        if self.status is Status.READY:
            return f"ready: {', '.join(map(str, self.values))}"
        if self.status is Status.VALUE:
            return f"saw {', '.join(map(str, self.values))}"
        return self.status.name.lower().replace("_", " ")


class Event(NamedTuple):
    """One event of one task.

    Parameters:
        kind: what was asked.
        channel: of what; ``None`` for a select over things that have no common channel.
        flavour: the type of channel, such as ``queue.Queue``.
        outcome: how it ended.
        digest: of the value that was sent or received, if values were digested.
    """

    kind: Kind
    channel: ChannelId | None
    flavour: str
    outcome: Outcome
    digest: int = 0

    @property
    def words(self) -> str:
        """For people: ``recv on queue.Queue 0/1: received #1 of 0.2``."""
        where = self.flavour if self.channel is None else f"{self.flavour} {self.channel}"
        if self.flavour == READINESS:
            ready = [word for bit, word in _READY if self.outcome.values[1] & bit]
            return f"{where}: ready to {' and '.join(ready)}"
        return f"{self.kind.words} on {where}: {self.outcome}"

    def is_like(self, other: Event) -> bool:
        """Whether it is the same event, but for its digest and an event loop's count of turns."""
        if self.flavour in ARRIVALS and self[:3] == other[:3]:
            mine, its = self.outcome, other.outcome
            return (mine[:2], mine.values[1:]) == (its[:2], its.values[1:])
        return self[:4] == other[:4]


@dataclass(frozen=True, slots=True)
class Step:
    """An event with its place: the number of events that its task had before."""

    task: TaskId
    number: int
    event: Event


@dataclass(slots=True)
class Log:
    """A recorded execution.

    Parameters:
        tasks: the events of each task in its program order.
        about: what the file's header says: command, version of Python, ...
        outcome: how the command ended; empty if the recorder was stopped before.
        processes: the first task of each process, and its command.
        ended: the tasks that came to their end before the recording did.
        damage: why reading stopped early, if it did.
    """

    tasks: dict[TaskId, list[Event]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    outcome: Mapping[str, Any] = field(default_factory=dict)
    processes: dict[TaskId, str] = field(default_factory=dict)
    ended: set[TaskId] = field(default_factory=set)
    damage: str | None = None

    @property
    def events(self) -> int:
        """How many there are, of all tasks."""
        return sum(len(events) for events in self.tasks.values())

    def steps(self) -> Iterator[Step]:
        """All events, task after task in the order of the spawn tree."""
        for task in in_tree_order(self.tasks):
            for number, event in enumerate(self.tasks[task]):
                yield Step(task, number, event)


def process_of(task: TaskId, processes: Iterable[TaskId]) -> TaskId | None:
    """The first task of the process that a task belongs to."""
    above = [first for first in processes if task == first or task.startswith(f"{first}.")]
    return max(above, key=len, default=None)


def tree_key(task: TaskId | None) -> tuple[int, ...]:
    """Sorts tasks as in the spawn tree: ``0.2`` before ``0.10``."""
    return () if task is None else tuple(int(part) for part in task.split("."))


def in_tree_order(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Tasks in the order of the spawn tree."""
    return sorted(tasks, key=tree_key)
