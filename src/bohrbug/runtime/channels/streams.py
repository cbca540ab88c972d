"""Which task does something: each thread and asyncio task has a stream of events."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.runtime.channels.events import ChannelId, Kind, MessageId, Outcome, Status, TaskId

if TYPE_CHECKING:
    from bohrbug.runtime.channels.session import Session

real_lock = threading.Lock

UNSEEN = None
"""Stands for the sender of messages of threads that have no stream."""


class Stream:
    """One task and its events; recording and replaying each have their own kind.

    Parameters:
        session: that it belongs to.
        task: its id.
    """

    __slots__ = (
        "__weakref__",
        "children",
        "ended",
        "inside",
        "made",
        "numbers",
        "session",
        "task",
    )

    replaying = False

    def __init__(self, session: Session, task: TaskId) -> None:
        self.session = session
        self.task = task
        self.children = 0
        self.made = 0
        self.numbers: dict[str, int] = {}
        self.inside = 0
        """Above 0 within the native part of an operation: what happens there is no event."""
        self.ended = False

    def next_child(self) -> TaskId:
        """The id of the next task that this one starts."""
        self.children += 1
        return f"{self.task}.{self.children}"

    def next_channel(self) -> ChannelId:
        """The id of the next channel that this task makes."""
        self.made += 1
        return ChannelId(self.task, self.made - 1)

    def next_number(self, of: str) -> int:
        """The number of the next thing of a sort that this task makes: a timeout, a timer."""
        number = self.numbers.get(of, 0)
        self.numbers[of] = number + 1
        return number

    def note(
        self,
        kind: Kind,
        channel: Channel | None,
        status: Status,
        values: tuple[int, ...] = (),
        flavour: str = "",
    ) -> None:
        """An event without a message has ended."""
        raise NotImplementedError

    def sent(self, kind: Kind, channel: Channel, position: int = -1, value: object = None) -> int:
        """A message is sent; returns how many this task had sent there before."""
        raise NotImplementedError

    def received(
        self,
        kind: Kind,
        channel: Channel,
        message: tuple[TaskId | None, int],
        value: object = None,
    ) -> None:
        """A message was received."""
        raise NotImplementedError

    def expect(
        self,
        kind: Kind,
        channel: Channel | None,
        flavour: str = "",
        *,
        fruitless: Outcome | None = None,
    ) -> Outcome | None:
        """How the next event is to end; ``None`` where it is to go as it goes.

        Parameters:
            kind: of the event.
            channel: of it; ``None`` for a select over things that have no common channel.
            flavour: type of channel, where there is none.
            fruitless: for selects with a timeout: how they end if nothing is ready.
        """
        return None

    def comes_to_be(self, there: Callable[[], bool], *, waits: bool = True) -> bool:
        """Replay: whether there is, or may be, something to receive that the log says is there.

        Parameters:
            there: whether there is something now.
            waits: whether the task may wait for it.
        """
        return True

    def next_digest(self) -> int:
        """Replay: the digest of the value of the next event; 0 if there is none."""
        return 0

    def compare(self, value: object, recorded: int) -> None:
        """Replay: compare the digest of a value with the recorded one."""

    def flush(self, patience: float = -1) -> None:
        """Write what was recorded up to now.

        Parameters:
            patience: seconds to wait at most for another thread that writes; -1 for no limit.
        """

    def end(self) -> None:
        """The task has come to its end."""
        self.ended = True


class _Local(threading.local):
    stream: Stream | None = None
    unseen = 0
    """Above 0: threads started now are a library's own and get no id."""
    fork_as: TaskId | None = None
    """The id of the process that is being started."""


local = _Local()
"""``local.stream``: that of the thread that asks; ``None`` if it is not seen."""


GiveBack = Callable[[Callable[[tuple[TaskId | None, int]], bool]], None]
"""Is told which messages to give back."""


class Channel:
    """What we know of a channel, beside the object that the program uses.

    Parameters:
        session: that it belongs to.
        id: its name.
        flavour: type of channel.
    """

    __slots__ = (
        "__weakref__",
        "arrived",
        "awaited",
        "by_item",
        "flavour",
        "give_back",
        "id",
        "lock",
        "messages",
        "position",
        "session",
        "space",
        "take_message",
        "taken",
        "unseen",
        "unseen_writer",
    )

    def __init__(self, session: Session, id: ChannelId, flavour: str) -> None:
        self.session = session
        self.id = id
        self.flavour = flavour
        self.lock = real_lock()
        self.messages: Any = deque()
        """Recording: who sent what the channel holds, in the order of its own container."""
        self.take_message: Callable[[], Any] = self.messages.popleft
        self.by_item = False
        """Whether ``messages`` is a :class:`SenderOfItems`."""
        self.position = 0
        self.taken = 0
        """Replay: how many messages were received here."""
        self.arrived: dict[tuple[TaskId | None, int], Any] = {}
        """Replay: messages that came before anybody asked for them."""
        self.awaited: dict[tuple[TaskId | None, int], Any] = {}
        """Replay: locks (or asyncio futures) of those who wait for a message."""
        self.space: list[tuple[int, Any]] = []
        """Replay: senders that wait until so many messages were received."""
        self.give_back: GiveBack | None = None
        """Replay: puts some of what arrived early back into the program's own channel."""
        self.unseen = 0
        self.unseen_writer: int | None = None

    def unseen_message(self) -> tuple[TaskId | None, int]:
        """The id of a message that a thread without a stream sends here."""
        ident = threading.get_ident()
        if self.unseen_writer is None:
            self.unseen_writer = ident
        elif self.unseen_writer != ident:
            self.session.warn_of_unseen(self)
        number = self.unseen
        self.unseen = number + 1
        return UNSEEN, number


class Sending:
    """What one task has sent to one channel.

    Parameters:
        task: the sender; ``None`` if it has no stream.
    """

    __slots__ = ("codes", "count", "position", "task")

    def __init__(self, task: TaskId | None) -> None:
        self.task = task
        self.count = 0
        self.position = -1
        self.codes: dict[int, int] = {}


class SenderOfItems:
    """Who sent an item, for containers that give items back in an order of their own."""

    def __init__(self) -> None:
        self._senders: dict[int, deque[tuple[Sending, int]]] = {}

    def put(self, item: object, message: tuple[Sending, int]) -> None:
        """An item was put into the container."""
        self._senders.setdefault(id(item), deque()).append(message)

    def take(self, item: object) -> tuple[Sending, int] | None:
        """The container gave an item back; ``None`` if nobody put it there."""
        waiting = self._senders.get(id(item))
        if not waiting:
            return None
        message = waiting.popleft()
        if not waiting:
            del self._senders[id(item)]
        return message


def channel_of(stream: Stream, owner: Any, flavour: str) -> Channel:
    """The channel behind an object of the program, made at its first use if need be."""
    channel: Channel | None = getattr(owner, "_bohrbug_channel", None)
    if channel is None or channel.session is not stream.session:
        channel = new_channel(stream, owner, flavour)
    return channel


def new_channel(stream: Stream, owner: Any, flavour: str) -> Channel:
    """Make the channel of an object that a task has just made."""
    channel = Channel(stream.session, stream.next_channel(), flavour)
    owner._bohrbug_channel = channel
    stream.session.channels.add(channel)
    return channel


def receiving(block: object, timeout: object) -> Kind:
    """The kind of a receive with the arguments that queues take."""
    if not block:
        return Kind.TRY_RECV
    return Kind.RECV if timeout is None else Kind.TIMED_RECV


def sending(block: object, timeout: object) -> Kind:
    """The kind of a send with the arguments that queues take."""
    if not block:
        return Kind.TRY_SEND
    return Kind.SEND if timeout is None else Kind.TIMED_SEND


def message_id(message: tuple[TaskId | None, int]) -> MessageId:
    """A message's id in its full form."""
    return MessageId(*message)
