"""Streams that replay: each event ends as the log says, or the replay is desynchronised."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.runtime.channels.desynchronisation import (
    Desynchronisation,
    DesynchronisationError,
    place_outside,
)
from bohrbug.runtime.channels.digest import digest
from bohrbug.runtime.channels.events import Event, Kind, MessageId, Outcome, Status, TaskId
from bohrbug.runtime.channels.reading import CodedTask, Cursor, Last, Position
from bohrbug.runtime.channels.resynchronising import LeftEvents, messages_of
from bohrbug.runtime.channels.streams import Channel, Stream

if TYPE_CHECKING:
    from bohrbug.runtime.channels.replaying import ReplaySession

_POLL = 0.005
_IN_VAIN = {
    Kind.TRY_RECV: Outcome(Status.EMPTY),
    Kind.TIMED_RECV: Outcome(Status.TIMED_OUT),
}
_SENT = Outcome(Status.SENT)
_WITHOUT_LIMIT = (Kind.SEND, Kind.RECV)


class ReplayingStream(Stream):
    """A task whose events are to end as recorded.

    Parameters:
        session: that it belongs to.
        task: its id.
    """

    __slots__ = (
        "_adrift",
        "_beyond",
        "_codes_placed",
        "_codes_received",
        "_codes_sent",
        "_cursor",
        "_digests",
        "_given_up",
        "_left",
        "_pending",
        "_polls",
        "_selects",
        "polled",
        "recorder",
        "replay",
        "sends",
    )

    replaying = True

    def __init__(self, session: ReplaySession, task: TaskId) -> None:
        super().__init__(session, task)
        self.replay = session
        coded = session.coded.tasks.get(task) or CodedTask(task)
        self._cursor = Cursor(coded)
        self._digests = bool(coded.digests)
        self._selects: dict[str, dict[int, Status]] = {}
        self._codes_sent: dict[Channel, int] = {}
        """Of plain sends that have been: how they are coded."""
        self._codes_placed: dict[int, tuple[Channel, Kind, Position, int]] = {}
        """Likewise of sends to bounded channels: where to, and how many positions further on."""
        self._codes_received: dict[int, tuple[Channel, Kind, Last, int]] = {}
        """By codes of receives that have been: of what, and which message is next."""
        self.polled = 0.0
        self._polls: dict[tuple[Any, ...], Outcome] = {}
        """What looks in vain since the last event that was none have shown."""
        self.sends: dict[Channel, int] = {}
        self._left: LeftEvents | None = None
        """Once it does something else than the log says: what is left of that."""
        self._beyond = 0
        """How many events there were since then."""
        self._adrift = False
        self._pending: Event | None = None
        """What is under way, by the log; for the recorder."""
        self._given_up: Event | None = None
        self.recorder = session.recorder_of(task)
        if self.recorder is not None:
            # No short ways.
            self._digests = True

    @property
    def expected(self) -> Event | None:
        """The next event; ``None`` at the end of the log, and where its order is not followed."""
        return self._cursor.peek()

    @property
    def at_end(self) -> bool:
        """Whether the task, which has followed the log, has come to its end."""
        return self._left is None and self.replay.claims is None and self.exhausted

    @property
    def exhausted(self) -> bool:
        """Whether the task has had all events that the log has of it."""
        return self._cursor.number >= len(self._cursor.codes)

    @property
    def number(self) -> int:
        """How many events there were."""
        return self._cursor.number + self._beyond

    @property
    def is_loose(self) -> bool:
        """Whether the task has done something else than its log says."""
        return self._left is not None

    @property
    def is_free(self) -> bool:
        """Whether the event under way is to end as it ends."""
        return self._adrift or self.replay.native

    def drift(self) -> None:
        """Let the event that is under way end as it ends."""
        self._adrift = True
        self._given_up, self._pending = self._pending, None

    def came_after_all(self) -> None:
        """What was waited for has come just when it was given up."""
        if self._given_up is not None and not self.replay.native:
            self._adrift = False
            self._given_up, self._pending = None, self._given_up

    def takes_new(self, channel: Channel, there: Callable[[], bool]) -> bool:
        """Whether a receive takes what is nobody's by the log first.

        It was sent before what is sent from now on: whoever ends at the last message of a channel
        must have received it by then.  Nothing that is kept for others may be overtaken.

        Parameters:
            channel: to receive from.
            there: whether there is such a message.
        """
        if self.replay.claims is None or self.replay.native or channel.arrived or not there():
            return False
        self.settle()
        self.loosen()
        return True

    def loosen(self) -> None:
        """From now on the log is followed for each channel by itself."""
        if self._left is None and not self.replay.native:
            cursor = self._cursor
            self._beyond = cursor.number - len(cursor.codes)
            self._left = LeftEvents(cursor.rest())

    def selects(self, flavour: str) -> dict[int, Status]:
        """How all selects of a flavour end that have a number, by their numbers."""
        if flavour not in self._selects:
            self._selects[flavour] = self._cursor.coded.selects(flavour)
        return self._selects[flavour]

    def sends_next(self, channel: Channel) -> bool:
        """The short way of :meth:`expect`: a plain send to an unbounded channel, as one before.

        Returns:
            Whether it is the next event; if not, nothing has happened.
        """
        cursor = self._cursor
        code = self._codes_sent.get(channel)
        if code is None or cursor.code != code or self.replay.native:
            return False
        if self._polls or self._digests:
            return False
        cursor.skip()
        return True

    def sends_next_to(self, kind: Kind, channel: Channel) -> int:
        """The short way of :meth:`expect`: a send to a bounded channel that is coded as one before.

        Returns:
            Its position; -1 if the next event is something else, and nothing has happened.
        """
        session, cursor = self.replay, self._cursor
        place = cursor.number
        found = self._codes_placed.get(cursor.codes[place]) if place < cursor.end else None
        if found is None or self._polls or self._digests:
            return -1
        if session.claims is not None or session.native:
            return -1
        expected, of_kind, position, step = found
        if expected is not channel or of_kind is not kind:
            return -1
        number = position.number = position.number + step
        cursor.number = place + 1
        cursor.event = None
        return number

    def receives_next(self, kind: Kind, channel: Channel) -> tuple[TaskId | None, int] | None:
        """The short way of :meth:`expect`: a receive that is coded as one before.

        Returns:
            The message; ``None`` if the next event is something else, and nothing has happened.
        """
        session, cursor = self.replay, self._cursor
        place = cursor.number
        found = self._codes_received.get(cursor.codes[place]) if place < cursor.end else None
        if found is None or self._polls or self._digests:
            return None
        if session.claims is not None or session.native:
            return None
        expected, of_kind, last, step = found
        if expected is not channel or of_kind is not kind:
            return None
        number = last.number = last.number + step
        cursor.number = place + 1
        cursor.event = None
        return last.sender, number

    def expect(
        self,
        kind: Kind,
        channel: Channel | None,
        flavour: str = "",
        *,
        fruitless: Outcome | None = None,
    ) -> Outcome | None:
        """See :meth:`Stream.expect`.

        How often a task looks in vain depends on time, not on messages: a poll that it repeats
        ends as it ended before, and repeated polls that it leaves out are skipped.
        """
        session = self.replay
        self.settle()
        if session.native:
            session.stop_if_strict()
            return None
        if self._left is not None:
            return self._expect_left(kind, channel, flavour, fruitless)
        key: tuple[Any, ...] = (kind, None, flavour)
        if channel is not None:
            key = (kind, channel.id, channel.flavour)
        event = self.expected
        if event is None or event[:3] != key:
            repeated = self._polls.get(key)
            if repeated is None and event is None:
                repeated = fruitless or _IN_VAIN.get(kind)
            if repeated is not None and not (event is None and session.is_over()):
                return self._poll_again(Event(kind, key[1], key[2], repeated))
            while event is not None and self._polls.get(event[:3]) == event.outcome:
                event = self._advance()
        if event is None:
            if self.task in session.coded.ended and kind is not Kind.LOOK:
                self.differ(f"came to {_words(kind, channel, flavour)}")
            else:
                session.past_end(self)
            return None
        if event[:3] != key:
            self.differ(f"came to {_words(kind, channel, flavour)}")
            return self._expect_left(kind, channel, flavour, fruitless)
        code = self._cursor.code
        self._advance()
        if channel is not None:
            if event.outcome.message is not None:
                last = self._cursor.received(code)
                if last is not None:
                    self._codes_received[code] = (channel, kind, *last)
            elif event.outcome == _SENT:
                self._codes_sent[channel] = code
            else:
                placed = self._cursor.sent(code)
                if placed is not None:
                    self._codes_placed[code] = (channel, kind, *placed)
        self.polled = 0.0
        if is_poll(event):
            self._polls[key] = event.outcome
        elif self._polls:
            self._polls.clear()
        self._pending = event
        return event.outcome

    def _expect_left(
        self, kind: Kind, channel: Channel | None, flavour: str, fruitless: Outcome | None
    ) -> Outcome | None:
        if self._left is None:
            return None
        self._beyond += 1
        if kind is Kind.LOOK:
            # What there was is not what there is.
            return None
        may_fail = kind not in _WITHOUT_LIMIT and (kind is not Kind.SELECT or fruitless is not None)
        name, flavour = (None, flavour) if channel is None else (channel.id, channel.flavour)
        outcome, passed = self._left.take(kind, name, flavour, may_fail=may_fail)
        self.replay.release(messages_of(passed))
        if outcome is not None:
            self._pending = Event(kind, name, flavour, outcome)
        return outcome

    def settle(self) -> None:
        """The event that was under way has ended as the log says."""
        self._adrift = False
        self._given_up = None
        pending, self._pending = self._pending, None
        if pending is not None and self.recorder is not None:
            self.recorder.happened(pending)

    def happens(self, kind: Kind, channel: Channel | None, flavour: str, outcome: Outcome) -> None:
        """An event ends by itself; it is recorded, unless one by the log is under way."""
        if self.recorder is not None and self._pending is None:
            name, flavour = (None, flavour) if channel is None else (channel.id, channel.flavour)
            self.recorder.happened(Event(kind, name, flavour, outcome))

    def _advance(self) -> Event | None:
        self._cursor.advance()
        return self._cursor.peek()

    def _poll_again(self, event: Event) -> Outcome | None:
        self._pending = event
        time.sleep(_POLL)
        self.polled += _POLL
        self.replay.check(self, self.polled, "that the program goes on")
        return None if self.is_free else event.outcome

    def differ(self, found: str, event: Event | None = None) -> None:
        """Declare that the program does something else than its log."""
        event = event or self.expected
        words = "nothing more: the task ends here" if event is None else event.words
        self.replay.desynchronise(
            Desynchronisation(self.task, self.number, words, found, place_outside()), self
        )

    def comes_to_be(self, there: Callable[[], bool], *, waits: bool = True) -> bool:
        """See :meth:`Stream.comes_to_be`.

        While the log is followed by all it is so, or was until another task received it.  After a
        difference it may never be, and who has been told so would wait for ever.
        """
        session = self.replay
        waited = 0.0
        while session.claims is not None and not there():
            if not waits or session.native or session.is_quiet(waited):
                self.drift()
                return False
            time.sleep(_POLL)
            waited += _POLL
        return True

    def next_digest(self) -> int:
        """The digest that belongs to the next event; 0 if there is none."""
        return 0 if self._left is not None or self.expected is None else self.expected.digest

    def compare(self, value: object, recorded: int) -> None:
        """Compare the digest of a value with the recorded one, if there is one."""
        if recorded and digest(value) != recorded:
            self.replay.desynchronise(
                Desynchronisation(
                    self.task,
                    self.number - 1,
                    "a message with another value",
                    "sent or received a value with another digest",
                    place_outside(),
                )
            )

    def note(
        self,
        kind: Kind,
        channel: Channel | None,
        status: Status,
        values: tuple[int, ...] = (),
        flavour: str = "",
    ) -> None:
        """See :meth:`Stream.note`; only what goes natively is noted."""
        self.happens(kind, channel, flavour, Outcome(status, None, None, values))

    def sent(self, kind: Kind, channel: Channel, position: int = -1, value: object = None) -> int:
        """See :meth:`Stream.sent`."""
        outcome = Outcome(Status.SENT, None, position if position >= 0 else None)
        if self._pending is not None and position >= 0:
            self._pending = self._pending._replace(outcome=outcome)
        self.happens(kind, channel, "", outcome)
        return self.count_sent(channel)

    def count_sent(self, channel: Channel) -> int:
        """One more message is sent; how many were before."""
        number = self.sends.get(channel, 0)
        self.sends[channel] = number + 1
        return number

    def received(
        self,
        kind: Kind,
        channel: Channel,
        message: tuple[TaskId | None, int],
        value: object = None,
    ) -> None:
        """See :meth:`Stream.received`; only what goes natively is noted."""
        self.happens(kind, channel, "", Outcome(Status.RECEIVED, MessageId(*message)))

    def end(self) -> None:
        """See :meth:`Stream.end`."""
        self.settle()
        # Polls in vain may be left: that depends on time.
        while (left := self.expected) is not None and is_poll(left):
            self._advance()
        super().end()
        if left is not None and not self.replay.native and not self.session.closed:
            # The task is over; who asks for the result of the replay is told.
            with contextlib.suppress(DesynchronisationError):
                self.differ("came to its end", left)
        if self._left is not None:
            self.replay.release(messages_of(self._left.take_all()))
        # The first task of a program has no end in a log.
        has_end = self.task != self.session.root or self.task in self.replay.coded.ended
        if self.recorder is not None and has_end:
            self.recorder.end()


def _words(kind: Kind, channel: Channel | None, flavour: str) -> str:
    name = flavour if channel is None else f"{channel.flavour} {channel.id}"
    return f"{kind.words} on {name}"


def in_vain(timeout: float | None) -> Outcome | None:
    """How a select with this timeout ends if nothing gets ready."""
    return None if timeout is None else Outcome(Status.TIMED_OUT)


def is_poll(event: Event) -> bool:
    """Whether an event is a look in vain, or at how full a channel is."""
    status = event.outcome.status
    if event.kind is Kind.LOOK:
        return True
    # A select that has a number is no poll.
    return status in (Status.EMPTY, Status.FULL, Status.TIMED_OUT) and not event.outcome.values
