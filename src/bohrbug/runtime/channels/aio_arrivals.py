"""Replay of an event loop: what comes from outside is let in when the log says that it came.

An arrival that is due and has not come is waited for; one that comes before its turn waits.  How
many turns lie between two is kept where it can be: a loop that has nothing to do goes on to the
next arrival, and one that waits in vain does what it has to do first.
"""

from __future__ import annotations

import heapq
from collections import deque
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

from bohrbug.runtime.channels.aio_turns import Call, Message, SeenLoop, is_ready
from bohrbug.runtime.channels.descriptors import CONNECTION, DESCRIPTOR, LISTEN, has_more
from bohrbug.runtime.channels.desynchronisation import Desynchronisation
from bohrbug.runtime.channels.events import (
    ARRIVALS,
    READINESS,
    TIMER,
    ChannelId,
    Event,
    Kind,
    Outcome,
    Status,
)
from bohrbug.runtime.channels.reading import CodedTask
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.replaying import ReplaySession

_SLICE = 0.05
_IN_VAIN = 1.0
"""Seconds in which nothing goes on, after which a loop does what it has to do instead."""


class LoopStream(ReplayingStream):
    """The stream of a replayed event loop, which takes its events in an order of its own."""

    __slots__ = ("closed", "order", "taken")

    def __init__(self, session: ReplaySession, order: deque[Event], task: str) -> None:
        super().__init__(session, task)
        self.order = order
        self.taken = 0

    @property
    def number(self) -> int:
        """How many events there were."""
        return self.taken

    @property
    def exhausted(self) -> bool:
        """Whether all has arrived that the log says."""
        return not self.order

    def loosen(self) -> None:
        """Its order is that of the loop, which goes on with what comes."""

    def end(self) -> None:
        """The loop was closed."""
        self.settle()
        self.ended = True
        if self.recorder is not None:
            self.recorder.end()


class ReplayedLoop(SeenLoop):
    """An event loop whose arrivals come in the order of the log."""

    session: ReplaySession
    stream: LoopStream

    def _begin(self) -> LoopStream:
        coded = self.session.coded.tasks.get(self.task) or CodedTask(self.task)
        self.order: deque[Event] = deque()
        self._operations: dict[tuple[ChannelId | None, Kind], deque[Outcome]] = {}
        for event in coded.events():
            if event.flavour in ARRIVALS:
                self.order.append(event)
            else:
                there = self._operations.setdefault((event.channel, event.kind), deque())
                there.append(event.outcome)
        self.timers: WeakValueDictionary[Message, Any] = WeakValueDictionary()
        self._early: dict[tuple[str, Message], Call] = {}
        self._descriptors: dict[ChannelId, int] = {}
        stream = LoopStream(self.session, self.order, self.task)
        self.session.streams[self.task] = stream
        return stream

    def watches(self, descriptor: int) -> None:
        """See :meth:`SeenLoop.watches`."""
        super().watches(descriptor)
        self._descriptors[self.names[descriptor]] = descriptor

    def next_of(self, channel: ChannelId, kind: Kind) -> Outcome | None:
        """How the next operation of a kind on a socket is to end; ``None``: natively."""
        outcomes = self._operations.get((channel, kind))
        if not outcomes or self.session.native:
            return None
        self.stream.taken += 1
        outcome = outcomes.popleft()
        if self.stream.recorder is not None:
            flavour = DESCRIPTOR if channel.creator == self.task else CONNECTION
            if outcome.message is not None:
                flavour = LISTEN
            self.stream.recorder.happened(Event(kind, channel, flavour, outcome))
        return outcome

    def note_arrival(self, event: Event) -> None:
        """See :meth:`SeenLoop.note_arrival`."""
        if self.stream.recorder is not None:
            self.stream.recorder.happened(event)

    # -- letting in --------------------------------------------------------------------------

    def let_in(self) -> None:
        """See :meth:`SeenLoop.let_in`."""
        self._sort_calls()
        if self.session.native or not self.order:
            self.calls.extend(self._early.values())
            self._early.clear()
            self._let_in_what_was_kept()
            super().let_in()
            return
        self._hear()
        if self.session.claims is not None:
            self._let_in_what_is_new()
        turns = self.turns - self.last
        while self.order and not self.session.native:
            event = self.order[0]
            idle = not self.loop._ready and not self.loop._stopping
            if event.outcome.values[0] > turns and not idle:
                return
            if not self._let_one_in(event):
                return
            turns = 0

    def _let_one_in(self, event: Event) -> bool:
        """Whether it is the turn of the next arrival: this one was let in, or left out."""
        loop, stream = self.loop, self.stream
        if not self._is_known(event):
            has_been = self._has_been(event)
            if (loop._ready or loop._stopping) and not (has_been and event.flavour == TIMER):
                # What is run first may lead to it: a descriptor can be watched again.
                return False
            if not has_been:
                self._differ(event)
                if self.session.native:
                    return False
        elif self._await(event):
            self._let_in_now(event)
        elif stream.is_free and not self.session.native:
            stream.settle()
        else:
            return False
        self.order.popleft()
        stream.taken += 1
        self.last = self.turns
        return True

    def _let_in_now(self, event: Event) -> None:
        loop = self.loop
        if event.flavour == READINESS:
            assert event.channel is not None
            key = loop._selector.get_map()[self._descriptors[event.channel]]
            loop._process_events([(key, event.outcome.values[1])])
        elif event.flavour == TIMER:
            loop._ready.append(self._take_timer(self.timers[_message_of(event)]))
        else:
            loop._ready.append(self._early.pop((event.flavour, _message_of(event))).handle)
        # Perhaps after another number of turns.
        values = (self.turns - self.last, *event.outcome.values[1:])
        self.note_arrival(event._replace(outcome=event.outcome._replace(values=values)))

    def _is_known(self, event: Event) -> bool:
        """Whether the loop waits for it already; threads call without being waited for."""
        if event.flavour == READINESS:
            descriptor = self._descriptors.get(event.channel)  # type: ignore[arg-type]
            if descriptor is None or self.names.get(descriptor) != event.channel:
                return False
            key = self.loop._selector.get_map().get(descriptor)
            mask = event.outcome.values[1]
            return key is not None and bool(key.events & mask)
        if event.flavour == TIMER:
            timer = self.timers.get(_message_of(event))
            return timer is not None and timer._scheduled and not timer._cancelled
        return True

    def _has_been(self, event: Event) -> bool:
        """Whether the loop has waited for it, and does no longer."""
        if event.flavour == READINESS:
            return event.channel in self._descriptors
        sender, number = _message_of(event)
        stream = self.session.streams.get(sender or "")
        return stream is not None and number < stream.numbers.get(TIMER, 0)

    def _has_come(self, event: Event, seconds: float) -> bool:
        """Whether it can be let in; waits for it so many seconds at most."""
        if event.flavour == READINESS:
            assert event.channel is not None
            descriptor, mask = self._descriptors[event.channel], event.outcome.values[1]
            if has_more(descriptor):
                return True
            return is_ready(descriptor, mask, self.own, seconds) == mask
        if event.flavour == TIMER:
            loop = self.loop
            left = self.timers[_message_of(event)]._when - loop.time() - loop._clock_resolution
            if left >= 0:
                is_ready(-1, 0, self.own, min(left + loop._clock_resolution, seconds))
            return bool(left < 0)
        key = (event.flavour, _message_of(event))
        if key not in self._early:
            is_ready(-1, 0, self.own, seconds)
            self._sort_calls()
        return key in self._early

    def _await(self, event: Event) -> bool:
        """Wait for an arrival; whether it came, or something else is to be done first."""
        loop, session = self.loop, self.session
        waiting = len(loop._ready)
        begin = monotonic()
        while not self._has_come(event, _SLICE):
            self._hear()
            if self.stream.is_free or loop._stopping or len(loop._ready) > waiting:
                return False
            waited = monotonic() - begin
            if waiting and waited > _IN_VAIN and session.quiet_seconds() > _IN_VAIN:
                return False
            session.check(self.stream, waited, event.words, ahead=True)
        return True

    def _differ(self, event: Event) -> None:
        self.session.desynchronise(
            Desynchronisation(
                self.task,
                self.stream.number,
                event.words,
                "does not wait for that, and has nothing else to do",
            )
        )

    # -- what the log has nothing of -------------------------------------------------------------

    def _let_in_what_is_new(self) -> None:
        """After a difference: what the log says nothing of any more need not wait for its turn."""
        loop = self.loop
        left: set[object] = set()
        for event in self.order:
            message = event.outcome.message
            left.add(event.channel if message is None else (event.flavour, tuple(message)))
        for call in [call for call in self._early if call not in left]:
            loop._ready.append(self._early.pop(call).handle)
            self.note_message(*call)
        now = loop.time() + loop._clock_resolution
        for timer in [timer for timer in loop._scheduled if timer._when < now]:
            message = getattr(timer, "message", None)
            if message is not None and (TIMER, message) not in left and not timer._cancelled:
                loop._ready.append(self._take_timer(timer))
                self.note_message(TIMER, message)
        for key, mask in loop._selector.select(0):
            name = self.names.get(key.fd)
            if key.fd != self.own and name not in left:
                loop._process_events([(key, mask)])
                self.note_ready(key.fd, mask)

    # -- what came early -----------------------------------------------------------------------

    def _hear(self) -> None:
        """Another thread, or a signal, has woken the loop."""
        self.loop._read_from_self()
        self._sort_calls()

    def _sort_calls(self) -> None:
        while self.calls:
            call = self.calls.popleft()
            self._early[call.flavour, call.message] = call

    def _take_timer(self, timer: Any) -> Any:
        timers = self.loop._scheduled
        if timers[0] is timer:
            heapq.heappop(timers)
        else:
            # Timers are equal if they are over at the same time: it has to be this very one.
            place = next(i for i, one in enumerate(timers) if one is timer)
            timers[place] = timers[-1]
            timers.pop()
            heapq.heapify(timers)
        timer._scheduled = False
        return timer

    def _let_in_what_was_kept(self) -> None:
        """Connections that were accepted before their turn, once all is native."""
        selector = self.loop._selector
        for descriptor in list(self.names):
            if has_more(descriptor):
                key = selector.get_map().get(descriptor)
                if key is not None:
                    self.loop._process_events([(key, 1)])


def _message_of(event: Event) -> Message:
    assert event.outcome.status is Status.RECEIVED
    assert event.outcome.message is not None
    return event.outcome.message.sender, event.outcome.message.number
