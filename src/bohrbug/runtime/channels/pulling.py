"""Replay of a receive from a pipe: pull messages until the right one has come."""

from __future__ import annotations

import contextlib
import marshal
import os
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any
from weakref import WeakKeyDictionary

from bohrbug.runtime.channels.delivery import MISSING
from bohrbug.runtime.channels.desynchronisation import read_report
from bohrbug.runtime.channels.ends import channel_named
from bohrbug.runtime.channels.envelopes import Envelope, enclosed, is_envelope
from bohrbug.runtime.channels.events import ChannelId, Kind, TaskId, process_of
from bohrbug.runtime.channels.exchange import (
    Mailbox,
    Postman,
    any_left,
    find,
    is_readable,
    leave,
)
from bohrbug.runtime.channels.pickling import pickled
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.replaying import ReplaySession, waiter, wake
from bohrbug.runtime.channels.session import Session, active
from bohrbug.runtime.channels.streams import Channel, Stream, message_id, real_lock

_SLICE = 0.05
_UNUSUAL = 0.5
"""Seconds of waiting after which one may ask whether there is anybody to wait for."""

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
    """Which process receives a message, by the log.

    Parameters:
        session: whose log.
    """

    def __init__(self, session: ReplaySession) -> None:
        self._messages: dict[ChannelId, dict[Message, TaskId]] = {}
        self._receivers: dict[ChannelId, set[TaskId]] = {}
        for task, coded in session.coded.tasks.items():
            process = process_of(task, session.coded.processes)
            if process is None:
                continue
            for channel, message in coded.receipts():
                messages = self._messages.get(channel)
                if messages is None:
                    messages = self._messages[channel] = {}
                messages[message] = process
            for channel in coded.received_from():
                self._receivers.setdefault(channel, set()).add(process)

    def shares(self, channel: Channel) -> bool:
        """Whether several processes receive from a channel."""
        return len(self._receivers.get(channel.id, ())) > 1

    def receivers(self, channel: Channel) -> dict[Message, TaskId]:
        """The first tasks of the processes that receive the messages of a channel."""
        return self._messages.get(channel.id, {})

    def process(self, channel: Channel, message: Message) -> TaskId | None:
        """The first task of the process that receives a message, if one does."""
        return self.receivers(channel).get(message)


class _Posting:
    """How this process brings the messages of one channel to those that receive them.

    Parameters:
        place: of this process.
        session: whose log says who receives what.
        channel: whose messages.
    """

    __slots__ = ("_boxes", "_channel", "_postman", "_session", "receivers")

    def __init__(self, place: _Place, session: ReplaySession, channel: Channel) -> None:
        self.receivers: dict[Message, TaskId] = place.routes.receivers(channel)
        self._boxes: dict[TaskId, str] = {}
        self._channel = channel
        self._postman = place.postman
        self._session = session

    def post(self, process: TaskId, message: Message, data: bytes) -> None:
        """Bring a message, pickled, to a process."""
        box = self._boxes.get(process)
        if box is None:
            box = self._boxes[process] = _mailbox(self._session, process)
        self._postman.post(box, self._channel, message, data)


class _Place:
    """What a process needs to exchange messages with others in one session."""

    def __init__(self, session: ReplaySession) -> None:
        self.routes = Routes(session)
        self.pid = -1
        self.mailbox: Mailbox
        self.opening: Any
        """Held by the one task that takes what is in the mailbox."""
        self.postman = Postman()
        self.locks: WeakKeyDictionary[Channel, Any] = WeakKeyDictionary()
        self.addressed: dict[bytes, Channel] = {}
        """The channels of this process by their addresses."""
        self.postings: dict[Channel, _Posting | None] = {}
        """By channels; ``None`` of those that only one process receives from."""

    def posting(self, session: ReplaySession, channel: Channel) -> _Posting | None:
        """How to post the messages of a channel; ``None`` if they go through its own pipe."""
        try:
            return self.postings[channel]
        except KeyError:
            shared = self.routes.shares(channel)
            posting = _Posting(self, session, channel) if shared else None
            self.postings[channel] = posting
            return posting

    def prepare(self, session: ReplaySession) -> None:
        """After a fork the child has its own mailbox."""
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.mailbox = Mailbox(_mailbox(session, session.root))
            self.opening = real_lock()
            self.postman = Postman()
            self.locks = WeakKeyDictionary()
            self.addressed = {}
            self.postings = {}


_places: WeakKeyDictionary[ReplaySession, _Place] = WeakKeyDictionary()
_lock = real_lock()


class _Newest:
    """The place that was asked for last: it is asked for at every message."""

    session: ReplaySession | None = None
    place: _Place

    def forget(self) -> None:
        """A forked child has a place of its own."""
        self.session = None


_newest = _Newest()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_newest.forget)


def _place(session: ReplaySession) -> _Place:
    if _newest.session is session:
        return _newest.place
    _newest.place = _find_place(session)
    _newest.session = session
    return _newest.place


def _find_place(session: ReplaySession) -> _Place:
    place = _places.get(session)
    if place is None or place.pid != os.getpid():
        with _lock:
            place = _places.get(session)
            if place is None:
                place = _places[session] = _Place(session)
            place.prepare(session)
    return place


def before_fork(session: Session) -> None:
    """The child needs to know what the log says of messages, too: find out once for both."""
    if isinstance(session, ReplaySession):
        _place(session)


def _mailbox(session: ReplaySession, process: TaskId | None) -> str:
    return f"{session.options.folder}/mailbox-{process}"


def post(
    stream: ReplayingStream,
    channel: Channel,
    message: Message,
    item: Any,
    before: Callable[[], object] | None = None,
) -> bool:
    """Bring a message to the process that receives it, if several may.

    Parameters:
        stream: of the task that sends.
        channel: that it sends to.
        message: which one.
        item: what is sent.
        before: called before the message can be received.

    Returns:
        False if it has to go through the pipe, and nothing has happened.
    """
    session = stream.replay
    posting = _place(session).posting(session, channel)
    if posting is None:
        return False
    process = posting.receivers.get(message)
    if process is None:
        return False
    if (session.claims is not None or session.native) and not session.intercepts(channel, message):
        return False
    try:
        data = pickled(enclosed(*message, item))
    except Exception:  # noqa: BLE001 - pickling calls whatever the item's class says
        # The queue's own way tells the program that it can't be pickled.
        return False
    if before is not None:
        before()
    if process == session.root:
        _arrive(channel, message, _open(channel, data)[1])
    else:
        posting.post(process, message, data)
    return True


def pull(stream: ReplayingStream, channel: Channel, message: Message, source: Source) -> Any:
    """Receive the message that the log says is received.

    Returns:
        The item, or :data:`MISSING` if all is native now.

    Raises:
        EOFError: nobody can write to the pipe any more, and the message never came.
    """
    session = stream.replay
    place = _place(session)
    shared = place.posting(session, channel) is not None
    if shared:
        taking = place.opening
    else:
        with channel.lock:
            taking = place.locks.setdefault(channel, real_lock())
    waited = 0.0
    while True:
        item = channel.arrived.pop(message, MISSING)
        if item is not MISSING:
            return item
        # Before the look: what it has sent before it ended is there then.
        gone = (session.claims is not None or waited > _UNUSUAL) and session.is_gone(message[0])
        if taking.acquire(blocking=False):
            try:
                if shared:
                    came = _take_posted(session, channel, message, source, waited)
                else:
                    came = _take_next(place, channel, message, source)
            finally:
                taking.release()
                _wake_one(channel, message)
        else:
            lock = channel.awaited[message] = waiter()
            if message not in channel.arrived:
                came = bool(lock.acquire(timeout=_SLICE))
        if message in channel.arrived:
            continue
        if stream.is_free:
            session.release([(channel.id, message)])
            return MISSING
        if came:
            waited = 0.0
        else:
            waited += _SLICE
            words = f"message {message_id(message)} in {channel.flavour} {channel.id}"
            if gone:
                session.give_up(stream, words, "the process that should send it has ended")
            session.check(stream, waited, words)


def _take_next(place: _Place, channel: Channel, wanted: Message, source: Source) -> bool:
    """Take what comes next from a pipe that only this process reads; whether something came."""
    data = source.take()
    if data is None:
        is_readable(source.reader.fileno(), _SLICE)
        data = source.take()
    if data is None:
        # Another process that has no log may have read it, and posted what it took.
        with place.opening:
            came = _open_mailbox(place, channel.session)
        data = find(channel, wanted)
        if data is None:
            return came
    _arrive(channel, *_open(channel, data))
    return True


def _take_posted(
    session: ReplaySession, channel: Channel, wanted: Message, source: Source, waited: float
) -> bool:
    """Take what was posted to this process; whether something came."""
    place = _place(session)
    posted = _open_mailbox(place, session)
    if wanted in channel.arrived:
        return True
    data = None
    if waited or place.mailbox.looks:
        data = find(channel, wanted)
        if data is None:
            place.mailbox.looks -= place.mailbox.looks > 0
    if data is None and waited:
        # Who has no log, or one that was cut off, sends through the pipe.
        data = source.take()
    if data is not None:
        message, item = _open(channel, data)
        thing = enclosed(*message, item)
        if message == wanted or not _pass_on(session, channel, thing):
            _arrive(channel, message, item)
        return True
    return posted or (place.mailbox.wait(_SLICE) and _open_mailbox(place, session))


def _open_mailbox(place: _Place, session: Session) -> bool:
    """Sort what was posted to this process; whether there was something."""
    posted = place.mailbox.take()
    for address, data in posted:
        channel = place.addressed.get(address)
        if channel is None:
            creator, number, flavour = marshal.loads(address)
            channel = channel_named(session, ChannelId(creator, number), flavour)
            assert channel is not None
            place.addressed[address] = channel
        # An empty one says that something was left as a file.
        if data:
            _arrive(channel, *_open(channel, data))
    return bool(posted)


def _arrive(channel: Channel, message: Message, item: Any) -> None:
    with channel.lock:
        channel.arrived[message] = item
        lock = channel.awaited.pop(message, None)
    if lock is not None:
        wake(lock)


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


def early(channel: Channel) -> tuple[Message, Any] | None:
    """Something that arrived before, and is nobody's by the log."""
    session = channel.session
    if not isinstance(session, ReplaySession):
        return None
    place = _place(session)
    if place.opening.acquire(blocking=False):
        try:
            _open_mailbox(place, session)
        finally:
            place.opening.release()
    with channel.lock:
        for message in channel.arrived:
            if not session.intercepts(channel, message):
                return message, channel.arrived.pop(message)
    if session.desynchronisation is None or not session.native:
        # What was left is others'.
        return None
    data = any_left(channel, desynchronised=True)
    return None if data is None else _open(channel, data)


def take_new(stream: ReplayingStream, channel: Channel, source: Source) -> Envelope | None:
    """After a difference: a message that has come and is nobody's by the log, if there is one."""
    session = stream.replay
    if session.options.keep_going and session.claims is None:
        # Another process may have differed.
        session.look_around()
    if session.claims is None or session.native:
        return None
    if any(session.intercepts(channel, message) for message in list(channel.arrived)):
        # Nothing that is kept for others may be overtaken.
        return None
    found = early(channel)
    while found is None and is_readable(source.reader.fileno()):
        data = source.take()
        if data is None:
            break
        message, item = _open(channel, data)
        if not _pass_on(session, channel, enclosed(*message, item)):
            found = message, item
    if found is None:
        return None
    stream.settle()
    stream.loosen()
    return enclosed(*found[0], found[1])


def take_natively(
    stream: Stream, kind: Kind, channel: Channel, source: Source, real: Callable[[], Any]
) -> Any:
    """What one past the end of its log receives: what comes, and is no other's by the log.

    A process whose log ends early, because it was killed, say, must not take what the log says
    that others receive.  After a desynchronisation what was posted or left is anybody's.

    Returns:
        An item, with or without its envelope.
    """
    session = stream.session
    if not isinstance(session, ReplaySession):
        return real()
    waited = 0.0
    while True:
        # Not for ever: another process may leave something when it ends.
        if kind is Kind.RECV and not is_readable(source.reader.fileno(), _SLICE):
            waited += _SLICE
            session.look_around()
            if session.claims is not None and session.is_quiet(waited):
                # Whoever is to get it by the log does not come.
                session.release_all(channel)
            found = early(channel)
            if found is not None:
                return enclosed(*found[0], found[1])
            left = any_left(channel, desynchronised=_is_anybodys(session, channel))
            if left is not None:
                return ForkingPickler.loads(left)
            continue
        data = source.take() if kind is Kind.RECV else None
        if kind is Kind.RECV and data is None:
            continue
        thing = real() if data is None else ForkingPickler.loads(data)
        if not is_envelope(thing) or not _pass_on(session, channel, thing):
            return thing


def _is_anybodys(session: ReplaySession, channel: Channel) -> bool:
    """Whether what was left for a process by the log is for whoever comes."""
    if session.claims is not None and not session.native:
        return not session.claims.hold_any(channel.id)
    return read_report(session.folder) is not None


def _pass_on(session: ReplaySession, channel: Channel, envelope: Envelope) -> bool:
    """Whether a message is another's by the log, and was posted to that one."""
    sender, number = envelope[1:3]
    place = _place(session)
    process = place.routes.process(channel, (sender, number))
    if process is None:
        return False
    if session.claims is not None and not session.native:
        if not session.intercepts(channel, (sender, number)):
            return False
        if process == session.root:
            _arrive(channel, (sender, number), envelope[3])
            return True
    elif process == session.root or read_report(session.folder) is not None:
        return False
    data = pickled(envelope)
    place.postman.post(_mailbox(session, process), channel, (sender, number), data)
    return True


def give_up(session: Session) -> None:
    """This process ends: what was posted to it and it has not received is anybody's."""
    if not isinstance(session, ReplaySession) or session not in _places:
        return
    place = _place(session)
    _open_mailbox(place, session)
    for channel in list(session.named.values()):
        for message, item in list(channel.arrived.items()):
            with contextlib.suppress(OSError):
                data = pickled(enclosed(*message, item))
                leave(channel, message, data, to_any=True)


active.before_fork.append(before_fork)
active.at_end.append(give_up)
