"""The turns of an event loop, and what comes to it from outside: its arrivals.

Between two arrivals (a descriptor gets ready, a timer is over, another thread calls) an event loop
does the same each time.  So its arrivals are recorded, each with the number of turns since the one
before; a replay lets them in again in that order, see :mod:`aio_arrivals`.
"""

from __future__ import annotations

import os
import select
import selectors
import threading
from asyncio import base_events, events
from asyncio.log import logger
from collections import deque
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from bohrbug.runtime.channels.descriptors import beside, known
from bohrbug.runtime.channels.events import (
    CALL,
    READINESS,
    TIMER,
    ChannelId,
    Event,
    Kind,
    MessageId,
    Outcome,
    Status,
    TaskId,
)
from bohrbug.runtime.channels.recording import RecordingStream
from bohrbug.runtime.channels.session import Session, active
from bohrbug.runtime.channels.streams import Stream, local, real_lock
from bohrbug.runtime.loop_timers import forget_cancelled, take_over
from bohrbug.runtime.pollers import real_poll

Message = tuple[TaskId | None, int]


class Call(NamedTuple):
    """Something that another thread wants a loop to call.

    Parameters:
        flavour: ``CALL``, or ``WRAPPED`` for the result of a future of ``concurrent.futures``.
        message: who calls, and which of its calls it is.
        handle: to be run.
    """

    flavour: str
    message: Message
    handle: Any


class SeenLoop:
    """What is known of an event loop that takes part.

    Parameters:
        loop: a selector event loop.
        session: that it takes part in.
        task: its id, ``0.2.0.1`` for the first loop that the task 0.2 makes.
    """

    def __init__(self, loop: Any, session: Session, task: TaskId) -> None:
        self.loop = loop
        self.session = session
        self.task = task
        self.stream = self._begin()
        self.own: int = loop._ssock.fileno()
        """The descriptor that other threads wake the loop by."""
        self.turns = 0
        """So many had something to do."""
        self.last = 0
        """How many turns there had been at the last arrival."""
        self.names: dict[int, ChannelId] = {}
        """Of the descriptors that the loop watches."""
        self._sockets: WeakValueDictionary[int, Any] = WeakValueDictionary()
        """By descriptor: those that the loop has given a name."""
        self.calls: deque[Call] = deque()
        self._unseen = 0
        self._pid = os.getpid()
        self._lock = real_lock()

    def _begin(self) -> Stream:
        return self.session.begin(self.task)

    def is_in_force(self) -> bool:
        """Whether what the loop does is still recorded or replayed, in this process."""
        session = self.session
        return session is active.session and not session.closed and self._pid == os.getpid()

    # -- names -----------------------------------------------------------------------------

    def watches(self, descriptor: int) -> None:
        """The loop begins to watch a descriptor: it gets a name."""
        name = None
        for sockets in (known, self._sockets):
            socket = sockets.get(descriptor)
            # One that is closed may be there still, until the garbage collector has seen it.
            if socket is not None and socket.fileno() == descriptor:
                name = name or self._name_of(socket)
        self.names[descriptor] = name or self._next_name()

    def channel_of(self, socket: Any) -> ChannelId | None:
        """The channel of a socket's bytes; ``None`` for the sockets by which the loop is woken."""
        if socket is self.loop._ssock or socket is self.loop._csock:
            return None
        name = self._name_of(socket)
        if name is None:
            name = self.name_of(socket.fileno()) or self._next_name()
            beside(socket).name = name
            self._sockets[socket.fileno()] = socket
        return name

    def name_of(self, descriptor: int) -> ChannelId | None:
        """The name of a descriptor, if the loop watches it now."""
        watched = descriptor in self.loop._selector.get_map()
        return self.names.get(descriptor) if watched else None

    def _name_of(self, socket: Any) -> ChannelId | None:
        there = beside(socket)
        if there._bohrbug_ends is not None:
            return there._bohrbug_ends.incoming
        if there._bohrbug_channel is not None:
            return there._bohrbug_channel.id
        return there.name

    def _next_name(self) -> ChannelId:
        # Number 0 is the loop itself.
        return ChannelId(self.task, self.stream.next_number(READINESS) + 1)

    def call(self, flavour: str, message: Message | None, handle: Any) -> None:
        """Another thread, or a future, wants something called."""
        if message is None:
            stream = local.stream
            if stream is not None:
                message = (stream.task, stream.next_number(f"{CALL} {self.task}"))
            else:
                with self._lock:
                    message = (None, self._unseen)
                    self._unseen += 1
        self.calls.append(Call(flavour, message, handle))

    # -- turns -----------------------------------------------------------------------------

    def turn(self) -> None:
        """One turn of the loop: let in what has arrived, and run what is ready."""
        forget_cancelled(self.loop)
        self.let_in()
        if self.loop._ready:
            self.turns += 1
            self._run_ready()

    def let_in(self) -> None:
        """Wait until there is something to do; what has arrived is ready to be run then."""
        loop = self.loop
        stream = local.stream
        if stream is not None:
            stream.inside += 1
        try:
            found = loop._selector.select(self._seconds_to_wait())
        finally:
            if stream is not None:
                stream.inside -= 1
        ready = []
        for key, mask in found:
            if key.fd == self.own:
                loop._read_from_self()
            else:
                ready.append((key, mask))
                self.note_ready(key.fd, mask)
        if ready:
            loop._process_events(ready)
        while self.calls:
            call = self.calls.popleft()
            self.note_message(call.flavour, call.message)
            loop._ready.append(call.handle)
        self._let_timers_in()

    def _let_timers_in(self) -> None:
        for timer in take_over(self.loop, self.loop.time()):
            self.loop._ready.append(timer)
            message = getattr(timer, "message", None)
            if message is not None:
                self.note_message(TIMER, message)

    def _seconds_to_wait(self) -> float | None:
        loop = self.loop
        if loop._ready or loop._stopping or self.calls:
            return 0
        if not loop._scheduled:
            return None
        left: float = loop._scheduled[0]._when - loop.time()
        return min(max(0, left), threading.TIMEOUT_MAX)

    def _run_ready(self) -> None:
        """What is ready now; what gets ready by that has its turn in the next one."""
        loop = self.loop
        for _ in range(len(loop._ready)):
            handle = loop._ready.popleft()
            if handle._cancelled:
                continue
            if not loop._debug:
                handle._run()
                continue
            begin = loop.time()
            loop._current_handle = handle
            try:
                handle._run()
            finally:
                loop._current_handle = None
            seconds = loop.time() - begin
            if seconds >= loop.slow_callback_duration:
                words = base_events._format_handle(handle)  # type: ignore[attr-defined]
                logger.warning("Executing %s took %.3f seconds", words, seconds)

    # -- what is noted -----------------------------------------------------------------------

    def turns_since(self) -> int:
        """How many turns there were since the last arrival; there is one now."""
        turns = self.turns - self.last
        self.last = self.turns
        return turns

    def note_ready(self, descriptor: int, mask: int) -> None:
        """A descriptor has got ready."""
        name = self.names.get(descriptor)
        if name is not None:
            outcome = Outcome(Status.READY, None, None, (self.turns_since(), mask))
            self.note_arrival(Event(Kind.SELECT, name, READINESS, outcome))

    def note_message(self, flavour: str, message: Message) -> None:
        """A timer is over, or somebody called."""
        outcome = Outcome(Status.RECEIVED, MessageId(*message), None, (self.turns_since(),))
        self.note_arrival(Event(Kind.RECV, ChannelId(self.task, 0), flavour, outcome))

    def note_arrival(self, event: Event) -> None:
        """Something has come to the loop."""
        raise NotImplementedError

    def end(self) -> None:
        """The loop was closed."""
        self.stream.end()


class RecordedLoop(SeenLoop):
    """An event loop whose arrivals are recorded."""

    stream: RecordingStream

    def note_arrival(self, event: Event) -> None:
        """See :meth:`SeenLoop.note_arrival`."""
        assert event.channel is not None
        self.stream.arrived(
            event.kind,
            event.channel,
            event.flavour,
            event.outcome.message,
            event.outcome.values,
        )


def is_ready(descriptor: int, mask: int, beside: int, seconds: float) -> int:
    """For which of some events a descriptor is ready; waits until it is for one, or is told to.

    Parameters:
        descriptor: -1 to look at the other one alone.
        mask: events, as in ``selectors``.
        beside: another descriptor; that there is something to read ends the wait.
        seconds: to wait at most.
    """
    wanted = {selectors.EVENT_READ: select.POLLIN, selectors.EVENT_WRITE: select.POLLOUT}
    poll = real_poll()
    if beside >= 0:
        poll.register(beside, select.POLLIN)
    if descriptor >= 0:
        poll.register(descriptor, sum(bits for event, bits in wanted.items() if mask & event))
    found = dict(poll.poll(seconds * 1000)).get(descriptor, 0)
    if found & ~(select.POLLIN | select.POLLOUT):
        # An error, or the end: as selectors say it.
        return mask
    return sum(event for event, bits in wanted.items() if found & bits)


def running_loop() -> SeenLoop | None:
    """The event loop that runs in this thread, if it takes part."""
    loop = events._get_running_loop()
    return None if loop is None else seen_loop(loop)


def seen_loop(loop: Any) -> SeenLoop | None:
    """What is known of an event loop, if it takes part."""
    seen: SeenLoop | None = getattr(loop, "_bohrbug_loop", None)
    return seen if seen is not None and seen.is_in_force() else None
