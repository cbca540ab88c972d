"""What is left of a log once a program does something else, and who is to get which message.

A task that does something else than its log says is *loose* from there: what the log still has of
it is taken by channel and sort, so that an operation more or less on one channel leaves the others
as they are.  An operation that the log has nothing of goes as it goes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from bohrbug.runtime.channels.events import ChannelId, Event, Kind, Outcome, Status, TaskId
from bohrbug.runtime.channels.reading import CodedLog

Message = tuple[TaskId | None, int]

_IN_VAIN = frozenset((Status.EMPTY, Status.FULL, Status.TIMED_OUT, Status.CANCELLED))


class Sort(Enum):
    """What an operation does, however long it is ready to wait for that."""

    SEND = auto()
    RECEIVE = auto()
    SELECT = auto()
    LOOK = auto()

    @classmethod
    def of(cls, kind: Kind) -> Sort:
        """The sort of a kind of event."""
        if kind.sends:
            return cls.SEND
        return {Kind.SELECT: cls.SELECT, Kind.LOOK: cls.LOOK}.get(kind, cls.RECEIVE)


class LeftEvents:
    """The events that the log still has of a task, by channel and sort.

    Parameters:
        events: in program order.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._left: dict[tuple[ChannelId | None, str, Sort], deque[Event]] = {}
        for event in events:
            key = (event.channel, event.flavour, Sort.of(event.kind))
            self._left.setdefault(key, deque()).append(event)

    def take(
        self, kind: Kind, channel: ChannelId | None, flavour: str, *, may_fail: bool
    ) -> tuple[Outcome | None, list[Event]]:
        """How an operation ends, and the events that are passed over because it can't end so.

        Parameters:
            kind: of the operation.
            channel: of it.
            flavour: of the channel, or of what has none.
            may_fail: whether it can end in vain: empty, full, timed out.

        Returns:
            ``None`` instead of an outcome if there is no such event left.
        """
        left = self._left.get((channel, flavour, Sort.of(kind)))
        passed: list[Event] = []
        while left:
            event = left.popleft()
            if may_fail or event.outcome.status not in _IN_VAIN or event.outcome.values:
                return event.outcome, passed
            passed.append(event)
        return None, passed

    def take_all(self) -> Iterator[Event]:
        """All events that are left; none are after that."""
        while self._left:
            yield from self._left.popitem()[1]


def messages_of(events: Iterable[Event]) -> Iterator[tuple[ChannelId, Message]]:
    """The messages that some events receive."""
    for event in events:
        message = event.outcome.message
        if message is not None and event.channel is not None:
            yield event.channel, (message.sender, message.number)


class Claims:
    """Which messages the log gives to somebody; all others go as they go.

    Parameters:
        coded: the log.
    """

    def __init__(self, coded: CodedLog) -> None:
        self._claimed: dict[ChannelId, set[Message]] = {}
        for task in coded.tasks.values():
            for channel, message in task.receipts():
                self._claimed.setdefault(channel, set()).add(message)

    def hold(self, channel: ChannelId, message: Message) -> bool:
        """Whether somebody is to get a message."""
        return message in self._claimed.get(channel, ())

    def hold_any(self, channel: ChannelId) -> bool:
        """Whether somebody is to get a certain message of a channel."""
        return bool(self._claimed.get(channel))

    def release(self, channel: ChannelId, message: Message) -> None:
        """Nobody is to get a message any more."""
        self._claimed.get(channel, set()).discard(message)

    def release_all(self, channel: ChannelId) -> None:
        """Nobody is to get a certain message of a channel any more."""
        self._claimed.pop(channel, None)
