"""Streams of tasks that come to do the right thing by themselves, and are only compared."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Kind,
    MessageId,
    Outcome,
    Status,
    TaskId,
)
from bohrbug.runtime.channels.replayed_stream import ReplayingStream, is_poll
from bohrbug.runtime.channels.streams import Channel, Stream


class Follower(Stream):
    """A task of an event loop to which all comes in the order of the log.

    What the tasks of such a loop exchange goes natively, and ends as it did; if not, the replay
    is desynchronised.  Of a hybrid log nothing is compared: there an event loop's order is of two
    runs, and what follows from it is of neither.

    Parameters:
        real: the task's stream.
    """

    __slots__ = ("_compares", "_real")

    def __init__(self, real: ReplayingStream) -> None:
        super().__init__(real.session, real.task)
        self._real = real
        self._compares = "hybrid" not in real.replay.coded.about

    def next_child(self) -> TaskId:
        """See :meth:`Stream.next_child`."""
        return self._real.next_child()

    def next_channel(self) -> ChannelId:
        """See :meth:`Stream.next_channel`."""
        return self._real.next_channel()

    def next_number(self, of: str) -> int:
        """See :meth:`Stream.next_number`."""
        return self._real.next_number(of)

    def note(
        self,
        kind: Kind,
        channel: Channel | None,
        status: Status,
        values: tuple[int, ...] = (),
        flavour: str = "",
    ) -> None:
        """See :meth:`Stream.note`."""
        self._follow(kind, channel, Outcome(status, None, None, values), flavour)

    def sent(self, kind: Kind, channel: Channel, position: int = -1, value: object = None) -> int:
        """See :meth:`Stream.sent`."""
        outcome = Outcome(Status.SENT, None, position if position >= 0 else None)
        self._follow(kind, channel, outcome, "", value)
        return self._real.count_sent(channel)

    def received(
        self,
        kind: Kind,
        channel: Channel,
        message: tuple[TaskId | None, int],
        value: object = None,
    ) -> None:
        """See :meth:`Stream.received`."""
        outcome = Outcome(Status.RECEIVED, MessageId(*message))
        self._follow(kind, channel, outcome, "", value)

    def end(self) -> None:
        """See :meth:`Stream.end`."""
        self._real.end()

    def _follow(
        self,
        kind: Kind,
        channel: Channel | None,
        outcome: Outcome,
        flavour: str,
        value: object = None,
    ) -> None:
        real = self._real
        real.happens(kind, channel, flavour, outcome)
        if real.replay.native:
            return
        id = None if channel is None else channel.id
        found = Event(kind, id, flavour if channel is None else channel.flavour, outcome)
        if real.is_loose:
            real.expect(kind, channel, flavour)
            real.drift()
            return
        expected = real.expected
        if not self._compares:
            if expected is not None:
                real.expect(expected.kind, channel, flavour)
                real.drift()
            return
        if expected is None:
            # Nothing here may wait for the others' end: the event loop would stand still.
            return
        recorded = real.next_digest()
        if expected[:3] == found[:3] and expected.outcome != outcome and not is_poll(expected):
            real.differ(f"came to {found.words}", expected)
            return
        compares = real.expect(kind, channel, flavour) is not None and not is_poll(found)
        real.drift()
        if compares:
            real.compare(value, recorded)


_followers: WeakKeyDictionary[ReplayingStream, Follower] = WeakKeyDictionary()


def follower_of(stream: ReplayingStream) -> Follower:
    """The one that stands for a stream in event loops."""
    found = _followers.get(stream)
    if found is None:
        found = _followers[stream] = Follower(stream)
    return found
