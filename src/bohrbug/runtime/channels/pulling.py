"""Replay of a receive from a pipe: pull messages until the right one has come."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any
from weakref import WeakKeyDictionary

from bohrbug.runtime.channels.delivery import MISSING
from bohrbug.runtime.channels.envelopes import is_envelope
from bohrbug.runtime.channels.events import ChannelId, Outcome, TaskId, process_of
from bohrbug.runtime.channels.exchange import Bell, any_left, find, is_readable, leave
from bohrbug.runtime.channels.replaying import ReplayingStream, ReplaySession, waiter, wake
from bohrbug.runtime.channels.streams import Channel, Stream, real_lock

_SLICE = 0.05

Message = tuple[TaskId | None, int]


class Source:
    """The reading end of a pipe, as a channel uses it.

    Parameters:
        reader: a connection.
        lock: that readers share among processes; ``None`` if there is none.
        after: called after each message was taken.
    """

    __slots__ = ("after", "lock", "reader")

    def __init__(
        self, reader: Any, lock: Any = None, after: Callable[[], object] | None = None
    ) -> None:
        self.reader = reader
        self.lock = lock
        self.after = after

    def take(self) -> bytes | None:
        """The next message, if there is one now.

        Raises:
            EOFError: nobody can write any more.
        """
        if self.lock is not None and not self.lock.acquire(True, _SLICE):
            return None
        try:
            if not is_readable(self.reader.fileno()):
                return None
            data: bytes = self.reader.recv_bytes()
        finally:
            if self.lock is not None:
                self.lock.release()
        if self.after is not None:
            self.after()
        return data


class Routes:
    """Which messages other processes receive, by the log.

    Parameters:
        session: whose log.
    """

    def __init__(self, session: ReplaySession) -> None:
        self._routes: dict[tuple[ChannelId, Message], TaskId] = {}
        processes = session.coded.processes
        for task, coded in session.coded.tasks.items():
            process = process_of(task, processes)
            if process is not None and process != session.root:
                self._routes.update(dict.fromkeys(coded.receipts(), process))

    def process(self, channel: Channel, message: Message) -> TaskId | None:
        """The first task of the other process that receives a message, if one does."""
        return self._routes.get((channel.id, message))


class _Place:
    """What a process needs to pull messages in one session."""

    def __init__(self, session: ReplaySession) -> None:
        self.routes: Routes
        self.rings = 0
        """How often the bell has rung."""
        self.pid = -1
        self.bell: Bell
        self.locks: WeakKeyDictionary[Channel, Any] = WeakKeyDictionary()

    def prepare(self, session: ReplaySession) -> None:
        """After a fork the child has its own bell, and others are the other processes."""
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.routes = Routes(session)
            self.bell = Bell(_bell(session, session.root))
            self.locks = WeakKeyDictionary()


_places: WeakKeyDictionary[ReplaySession, _Place] = WeakKeyDictionary()
_lock = real_lock()


def _place(session: ReplaySession) -> _Place:
    with _lock:
        place = _places.get(session)
        if place is None:
            place = _places[session] = _Place(session)
        place.prepare(session)
        return place


def _bell(session: ReplaySession, process: TaskId | None) -> str:
    return f"{session.options.folder}/bell-{process}"


def pull(stream: ReplayingStream, channel: Channel, outcome: Outcome, source: Source) -> Any:
    """Receive the message that the log says is received.

    One task of a process at a time takes messages from the pipe; those of others of this process
    are kept for them, those of other processes are left where they find them.

    Returns:
        The item, or :data:`MISSING` if all is native now.

    Raises:
        EOFError: nobody can write to the pipe any more, and the message never came.
    """
    assert outcome.message is not None
    message = (outcome.message.sender, outcome.message.number)
    session = stream.replay
    place = _place(session)
    with channel.lock:
        pulling = place.locks.setdefault(channel, real_lock())
    waited = 0.0
    rings = -1
    while True:
        with channel.lock:
            item = channel.arrived.pop(message, MISSING)
            if item is MISSING:
                lock = channel.awaited[message] = waiter()
        if item is not MISSING:
            return item
        data = None
        if rings != place.rings or session.native:
            rings = place.rings
            data = find(channel, message)
        if data is not None:
            channel.awaited.pop(message, None)
            return _open(channel, data)[1]
        if session.native:
            return MISSING
        if not pulling.acquire(blocking=False):
            lock.acquire(timeout=_SLICE)
            waited += _SLICE
            session.check(stream, waited, f"message {outcome.message} in {channel.id}")
            continue
        try:
            readable, rung = place.bell.wait_beside(source.reader.fileno(), _SLICE)
            place.rings += rung
            if readable:
                data = source.take()
            elif not rung:
                waited += _SLICE
                session.check(stream, waited, f"message {outcome.message} in {channel.id}")
        finally:
            pulling.release()
            _wake_one(channel, message)
        if data is not None:
            waited = 0.0
            arrived, item = _open(channel, data)
            if arrived == message:
                channel.awaited.pop(message, None)
                return item
            _pass_on(session, place, channel, arrived, item, data)


def _open(channel: Channel, data: bytes) -> tuple[Message, Any]:
    thing = ForkingPickler.loads(data)
    if is_envelope(thing):
        return (thing[1], thing[2]), thing[3]
    number = channel.unseen
    channel.unseen = number + 1
    return (None, number), thing


def _wake_one(channel: Channel, besides: Message) -> None:
    """Somebody else may pull now."""
    with channel.lock:
        message = next((one for one in channel.awaited if one != besides), None)
        lock = None if message is None else channel.awaited.pop(message)
    if lock is not None:
        wake(lock)


def _pass_on(
    session: ReplaySession,
    place: _Place,
    channel: Channel,
    message: Message,
    item: Any,
    data: bytes,
) -> None:
    process = place.routes.process(channel, message)
    if process is not None and message[0] is not None:
        leave(channel, message, data)
        Bell.ring(_bell(session, process))
        return
    with channel.lock:
        channel.arrived[message] = item
        lock = channel.awaited.pop(message, None)
    if lock is not None:
        wake(lock)


def early(channel: Channel) -> Any:
    """When all is native: something that arrived before, or :data:`MISSING`."""
    session = channel.session
    if not isinstance(session, ReplaySession):
        return MISSING
    with channel.lock:
        if channel.arrived:
            return channel.arrived.pop(next(iter(channel.arrived)))
    if session.desynchronisation is None:
        # Only the log of this process is over: what was left is others'.
        return MISSING
    data = any_left(channel)
    return MISSING if data is None else _open(channel, data)[1]


def belongs_elsewhere(stream: Stream, channel: Channel, thing: Any) -> bool:
    """Whether another process is to receive what one past the end of its log has taken.

    It is left for that one then: a process whose log ends early, because it was killed, say,
    must not take what the log says that others receive.
    """
    session = stream.session
    if (
        not isinstance(session, ReplaySession)
        or session.desynchronisation is not None
        or not is_envelope(thing)
    ):
        return False
    message = (thing[1], thing[2])
    process = _place(session).routes.process(channel, message)
    if process is None:
        return False
    leave(channel, message, bytes(ForkingPickler.dumps(thing)))
    Bell.ring(_bell(session, process))
    return True
