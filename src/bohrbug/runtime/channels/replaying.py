"""Streams that replay: each event ends as the log says, or the replay is desynchronised."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from bohrbug.runtime.channels.desynchronisation import (
    DESYNCHRONISED,
    REPORT,
    Desynchronisation,
    DesynchronisationError,
    place_outside,
    read_report,
)
from bohrbug.runtime.channels.digest import digest
from bohrbug.runtime.channels.events import (
    LOOP,
    Event,
    Kind,
    Outcome,
    Status,
    TaskId,
    process_of,
)
from bohrbug.runtime.channels.quiet import Quiet
from bohrbug.runtime.channels.reading import CodedLog, CodedTask, Cursor, Last, read_coded
from bohrbug.runtime.channels.session import Session, SessionOptions, active, append
from bohrbug.runtime.channels.streams import Channel, Stream, real_lock

INTERRUPTED = "interrupted"
"""File in the session's folder that says that the user has stopped the replay."""

PROGRESS = "progress"
"""File in the session's folder: how many events each process had that has ended."""

_SLICE = 0.1
_POLL = 0.005
_IN_VAIN = {
    Kind.TRY_RECV: Outcome(Status.EMPTY),
    Kind.TIMED_RECV: Outcome(Status.TIMED_OUT),
}
_SENT = Outcome(Status.SENT)


class Waiting(Protocol):
    """Something that can be waited for: a lock, a semaphore."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Whether it came within so many seconds."""


class ReplaySession(Session):
    """A replay, as one process takes part in it.

    Parameters:
        options: what to do.
        coded: the log; read from the file if not given.

    Raises:
        LogError: the file is no message log.
    """

    replaying = True

    def __init__(self, options: SessionOptions, coded: CodedLog | None = None) -> None:
        super().__init__(options)
        self.coded = coded if coded is not None else read_coded(Path(options.file))
        self.native = False
        """True once everything is to go as it goes: desynchronised, or the log is over."""
        self.desynchronisation: Desynchronisation | None = None
        self._quiet = Quiet(self.folder, self.events)
        self.follows = any(LOOP in task for task in self.coded.tasks)
        """Whether event loops get what comes to them in the order of the log."""

    def events(self) -> int:
        """How many there were in this process."""
        streams = list(self.streams.values())
        return sum(stream.number for stream in streams if isinstance(stream, ReplayingStream))

    def make_stream(self, task: TaskId) -> Stream:
        """See :meth:`Session.make_stream`."""
        return ReplayingStream(self, task)

    def write(self, data: bytes) -> None:
        """A replay writes nothing."""

    def after_fork(self) -> None:
        """See :meth:`Session.after_fork`."""
        super().after_fork()
        self._quiet = Quiet(self.folder, self.events)

    # -- the end of the log ------------------------------------------------------------------

    def is_over(self) -> bool:
        """Whether every task of this process has had all the events that the log has of it."""
        for task, coded in self.coded.tasks.items():
            if process_of(task, self.coded.processes) != self.root or not coded.codes:
                continue
            stream = self.streams.get(task)
            if not isinstance(stream, ReplayingStream) or not (stream.ended or stream.exhausted):
                return False
        return True

    def go_native(self) -> None:
        """From now on everything goes as it goes; give back what is held."""
        with self._lock:
            if self.native:
                return
            self.native = True
        for channel in list(self.channels):
            with channel.lock:
                waiting = [lock for _, lock in channel.space]
                channel.space.clear()
                if channel.give_back is not None:
                    channel.give_back()
            # Who waits from now on sees that all is native.
            for message in list(channel.awaited):
                lock = channel.awaited.pop(message, None)
                if lock is not None:
                    waiting.append(lock)
            for lock in waiting:
                wake(lock)

    # -- desynchronisations --------------------------------------------------------------------

    def desynchronise(self, found: Desynchronisation) -> None:
        """A difference showed: stop, or go on natively.

        Raises:
            DesynchronisationError: the replay is strict, and not that of a command.
        """
        if self.native and self.desynchronisation is None:
            return
        if self.is_interrupted():
            self.go_native()
            return
        first = self._first(found)
        with self._lock:
            self.desynchronisation = self.desynchronisation or first
        self.go_native()
        self._stop_if_strict()

    def _first(self, found: Desynchronisation) -> Desynchronisation:
        path = self.folder / REPORT
        part = self.folder / f"{REPORT}-{os.getpid()}-{threading.get_ident()}"
        try:
            part.write_text(json.dumps(asdict(found)))
            os.link(part, path)
        except FileExistsError:
            return read_report(self.folder) or found
        except OSError:
            return found
        return found

    def _stop_if_strict(self) -> None:
        if self.options.keep_going or self.desynchronisation is None:
            return
        if self.options.raises:
            raise DesynchronisationError(self.desynchronisation)
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        _end_children()
        real_exit(DESYNCHRONISED)

    def is_interrupted(self) -> bool:
        """Whether the user has stopped the replay: what is left of the log does not come."""
        last = getattr(sys, "last_value", None)
        return isinstance(last, KeyboardInterrupt) or (self.folder / INTERRUPTED).exists()

    def look_around(self) -> None:
        """Called now and then by tasks that wait: has another process desynchronised?"""
        if not self.native and self.is_interrupted():
            self.go_native()
        if not self.native and (report := read_report(self.folder)) is not None:
            self.desynchronisation = report
            self.go_native()
        self._stop_if_strict()

    # -- waiting -----------------------------------------------------------------------------

    def wait(self, stream: ReplayingStream, lock: Waiting, expected: Callable[[], str]) -> bool:
        """Wait for what the log says that comes.

        Parameters:
            stream: of the task that waits.
            lock: what is waited for.
            expected: what, for a report.

        Returns:
            Whether it came; if not, everything is native from now on.
        """
        waited = 0.0
        while not lock.acquire(timeout=_SLICE):
            if self.native:
                return bool(lock.acquire(timeout=0))
            waited += _SLICE
            self.check(stream, waited, expected())
        return True

    def check(
        self, stream: ReplayingStream, waited: float, expected: str, *, ahead: bool = False
    ) -> None:
        """Declare a desynchronisation if a wait seems never to end.

        Parameters:
            stream: of the task that waits.
            waited: how long, in seconds.
            expected: what for.
            ahead: it has not come to the event yet.
        """
        self.look_around()
        if self.native or waited < self.options.patience:
            return
        quiet = self._quiet.seconds()
        if quiet >= self.options.patience:
            self.desynchronise(
                Desynchronisation(
                    stream.task,
                    stream.number if ahead else stream.number - 1,
                    expected,
                    f"waited {quiet:.0f} s in vain, and nothing else went on",
                    place_outside(),
                )
            )

    def quiet_seconds(self) -> float:
        """For how long nothing has gone on, in any process."""
        return self._quiet.seconds()

    def past_end(self, stream: ReplayingStream) -> None:
        """A task has more events than the log: wait until all others have had theirs."""
        pause = 0.002
        waited = 0.0
        while not self.native:
            if self.is_over():
                self.go_native()
                return
            time.sleep(pause)
            waited += pause
            pause = min(pause * 2, _SLICE)
            self.check(stream, waited, "nothing more: the log ends here", ahead=True)

    def finish(self) -> None:
        """The process, or the replay, ends: did the first task do all that it should?"""
        stream = self.streams.get(self.root or "")
        if isinstance(stream, ReplayingStream) and not stream.ended:
            for leave in active.at_end:
                leave(self)
            with contextlib.suppress(OSError):
                append(self.folder / PROGRESS, f"{self.events()}\n".encode())
            stream.end()


class ReplayingStream(Stream):
    """A task whose events are to end as recorded.

    Parameters:
        session: that it belongs to.
        task: its id.
    """

    __slots__ = (
        "_codes_received",
        "_codes_sent",
        "_cursor",
        "_digests",
        "_polls",
        "_selects",
        "polled",
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
        self._codes_received: dict[int, tuple[Channel, Kind, Last, int]] = {}
        """By codes of receives that have been: of what, and which message is next."""
        self.polled = 0.0
        self._polls: dict[tuple[Any, ...], Outcome] = {}
        """What looks in vain since the last event that was none have shown."""
        self.sends: dict[Channel, int] = {}

    @property
    def expected(self) -> Event | None:
        """The next event; ``None`` at the end of the log."""
        return self._cursor.peek()

    @property
    def exhausted(self) -> bool:
        """Whether the task has had all events that the log has of it."""
        return self._cursor.number >= len(self._cursor.codes)

    @property
    def number(self) -> int:
        """How many events there were."""
        return self._cursor.number

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

    def receives_next(self, kind: Kind, channel: Channel) -> tuple[TaskId | None, int] | None:
        """The short way of :meth:`expect`: a receive that is coded as one before.

        Returns:
            The message; ``None`` if the next event is something else, and nothing has happened.
        """
        cursor = self._cursor
        found = self._codes_received.get(cursor.code)
        if found is None or self.replay.native or self._polls or self._digests:
            return None
        expected, of_kind, last, step = found
        if expected is not channel or of_kind is not kind:
            return None
        last.number += step
        cursor.skip()
        return last.sender, last.number

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
        if session.native:
            session._stop_if_strict()
            return None
        key: tuple[Any, ...] = (kind, None, flavour)
        if channel is not None:
            key = (kind, channel.id, channel.flavour)
        event = self.expected
        if event is None or event[:3] != key:
            repeated = self._polls.get(key)
            if repeated is None and event is None:
                repeated = fruitless or _IN_VAIN.get(kind)
            if repeated is not None and not (event is None and session.is_over()):
                return self._poll_again(repeated)
            while event is not None and self._polls.get(event[:3]) == event.outcome:
                event = self._advance()
        if event is None:
            session.past_end(self)
            return None
        if event[:3] != key:
            name = flavour if channel is None else f"{channel.flavour} {channel.id}"
            self.differ(f"came to {kind.words} on {name}")
            return None
        code = self._cursor.code
        self._advance()
        if channel is not None:
            if event.outcome.message is not None:
                last = self._cursor.received(code)
                if last is not None:
                    self._codes_received[code] = (channel, kind, *last)
            elif event.outcome == _SENT:
                self._codes_sent[channel] = code
        self.polled = 0.0
        if is_poll(event):
            self._polls[key] = event.outcome
        elif self._polls:
            self._polls.clear()
        return event.outcome

    def _advance(self) -> Event | None:
        self._cursor.advance()
        return self._cursor.peek()

    def _poll_again(self, outcome: Outcome) -> Outcome | None:
        time.sleep(_POLL)
        self.polled += _POLL
        self.replay.check(self, self.polled, "that the program goes on")
        return None if self.replay.native else outcome

    def differ(self, found: str, event: Event | None = None) -> None:
        """Declare that the program does something else than its log."""
        event = event or self.expected
        words = "nothing more" if event is None else event.words
        self.replay.desynchronise(
            Desynchronisation(self.task, self.number, words, found, place_outside())
        )

    def next_digest(self) -> int:
        """The digest that belongs to the next event; 0 if there is none."""
        return 0 if self.expected is None else self.expected.digest

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
        """What goes natively is not noted."""

    def sent(self, kind: Kind, channel: Channel, position: int = -1, value: object = None) -> int:
        """See :meth:`Stream.sent`."""
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
        """What goes natively is not noted."""

    def end(self) -> None:
        """See :meth:`Stream.end`."""
        # Polls in vain may be left: that depends on time.
        while (left := self.expected) is not None and is_poll(left):
            self._advance()
        super().end()
        if left is not None and not self.replay.native and not self.session.closed:
            # The task is over; who asks for the result of the replay is told.
            with contextlib.suppress(DesynchronisationError):
                self.differ("came to its end", left)


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


def _end_children() -> None:
    """End the processes that ``multiprocessing`` started here: nobody would do it after us."""
    process = sys.modules.get("multiprocessing.process")
    for child in list(getattr(process, "_children", ())):
        with contextlib.suppress(OSError, AttributeError, ValueError):
            child._popen.terminate()


def wake(waiting: Any) -> None:
    """Wake who waits for a lock, or for an asyncio future (whose loop is asked to)."""
    if callable(waiting):
        waiting()
    else:
        waiting.release()


real_exit = os._exit


def waiter() -> Any:
    """A lock that is held; whoever brings what is waited for releases it."""
    lock = real_lock()
    lock.acquire()
    return lock
