"""A replay, as one process takes part in it: what is kept for whom, waits, differences."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from bohrbug.runtime.channels.alternates import Alternate, AlternateStream
from bohrbug.runtime.channels.desynchronisation import (
    DESYNCHRONISED,
    REPORT,
    Desynchronisation,
    DesynchronisationError,
    place_outside,
    read_report,
)
from bohrbug.runtime.channels.events import (
    LOOP,
    ChannelId,
    TaskId,
    process_of,
)
from bohrbug.runtime.channels.pending import is_alive
from bohrbug.runtime.channels.quiet import Quiet
from bohrbug.runtime.channels.reading import CodedLog, read_coded
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.resynchronising import Claims, Message
from bohrbug.runtime.channels.session import Session, SessionOptions, active, append
from bohrbug.runtime.channels.streams import Channel, Stream, real_lock

INTERRUPTED = "interrupted"
"""File in the session's folder that says that the user has stopped the replay."""

PROGRESS = "progress"
"""File in the session's folder: how many events each process had that has ended."""

DIFFERENCES = "differences"
"""File in the session's folder with a byte for each difference."""

_SLICE = 0.1
_LOOSE_PATIENCE = 1.0
"""Seconds of quiet, at most, that end a wait once there was a difference."""
_MOST_IN_VAIN = 20
"""Waits in vain after which the log is followed no more."""


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
        """True once everything is to go as it goes."""
        self.claims: Claims | None = None
        """From the first difference on: what the log still gives to somebody."""
        self.desynchronisation: Desynchronisation | None = None
        self._in_vain = 0
        self._alternate: Alternate | None = None
        if options.alternate:
            self._alternate = Alternate(options.alternate, options.folder)
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

    def recorder_of(self, task: TaskId) -> AlternateStream | None:
        """Records what a task does, if that is wanted."""
        return None if self._alternate is None else self._alternate.stream_of(task)

    def begin_process(self, task: TaskId) -> Stream:
        """See :meth:`Session.begin_process`."""
        if self._alternate is not None:
            self._alternate.process_begins(task)
        return super().begin_process(task)

    def close(self) -> None:
        """See :meth:`Session.close`."""
        super().close()
        if self._alternate is not None:
            self._alternate.close()

    def flush(self, patience: float = -1) -> None:
        """See :meth:`Session.flush`."""
        if self._alternate is not None:
            self._alternate.flush(patience)

    def write(self, data: bytes) -> None:
        """A replay writes nothing."""

    def after_fork(self) -> None:
        """See :meth:`Session.after_fork`."""
        super().after_fork()
        if self._alternate is not None:
            self._alternate.after_fork()
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
        for channel in self._all_channels():
            with channel.lock:
                waiting = [lock for _, lock in channel.space]
                channel.space.clear()
                if channel.give_back is not None:
                    channel.give_back(lambda message: True)
            # Who waits from now on sees that all is native.
            for message in list(channel.awaited):
                lock = channel.awaited.pop(message, None)
                if lock is not None:
                    waiting.append(lock)
            for lock in waiting:
                wake(lock)

    def _all_channels(self) -> list[Channel]:
        return [*self.channels, *self.named.values()]

    # -- desynchronisations --------------------------------------------------------------------

    def desynchronise(
        self, found: Desynchronisation, stream: ReplayingStream | None = None
    ) -> None:
        """A difference showed: stop, or go on and follow the log where that can be followed.

        Parameters:
            found: the difference.
            stream: of the task that does not follow the log in its order any more.

        Raises:
            DesynchronisationError: the replay is strict, and not that of a command.
        """
        if self.native and self.desynchronisation is None:
            return
        if self.is_interrupted():
            self.go_native()
            return
        first = self._first(found)
        with contextlib.suppress(OSError):
            append(self.folder / DIFFERENCES, b".")
        with self._lock:
            self.desynchronisation = self.desynchronisation or first
        self._go_on()
        if stream is not None:
            stream.loosen()

    def _go_on(self) -> None:
        """After a difference, here or in another process."""
        if not self.options.keep_going:
            self.go_native()
            self.stop_if_strict()
            return
        with self._lock:
            if self.claims is not None:
                return
            self.claims = Claims(self.coded)
        for channel in self._all_channels():
            self._give_back(channel)

    def release(self, messages: Iterable[tuple[ChannelId, Message]]) -> None:
        """Nobody is to get some messages any more: they go as they go."""
        if self.claims is None:
            return
        names = set()
        for name, message in messages:
            self.claims.release(name, message)
            names.add(name)
        for channel in self._all_channels() if names else ():
            if channel.id in names:
                self._give_back(channel)

    def release_all(self, channel: Channel) -> None:
        """As :meth:`release`, of all messages of a channel."""
        if self.claims is not None:
            self.claims.release_all(channel.id)
            self._give_back(channel)

    def _give_back(self, channel: Channel) -> None:
        claims = self.claims
        assert claims is not None
        with channel.lock:
            if channel.give_back is not None:
                channel.give_back(lambda message: not claims.hold(channel.id, message))

    def intercepts(self, channel: Channel, message: Message) -> bool:
        """Whether a message is kept for whoever is to get it by the log."""
        if self.native:
            return False
        return self.claims is None or self.claims.hold(channel.id, message)

    def cannot_come(self, channel: Channel, message: Message) -> bool:
        """Whether the sender of a message has ended and not sent it."""
        sender, number = message
        stream = self.streams.get(sender or "")
        if not isinstance(stream, ReplayingStream) or not stream.ended:
            return False
        return stream.sends.get(channel, 0) <= number

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

    def stop_if_strict(self) -> None:
        """Stop if there was a difference.

        Raises:
            DesynchronisationError: the replay is strict, and not that of a command.
        """
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
        if self.native or self.claims is not None:
            pass
        elif (report := read_report(self.folder)) is not None:
            self.desynchronisation = report
            self._go_on()
        self.stop_if_strict()

    def is_gone(self, task: TaskId | None) -> bool:
        """Whether the process that a task belongs to has ended; false if that is not known."""
        process = None if task is None else process_of(task, self.coded.processes)
        if process is None or process == self.root:
            return False
        for path in self.folder.glob("process-*"):
            with contextlib.suppress(OSError):
                if path.read_text() == process:
                    return not is_alive(int(path.name.partition("-")[2]))
        return False

    # -- waiting -----------------------------------------------------------------------------

    def wait(
        self,
        stream: ReplayingStream,
        lock: Waiting,
        expected: Callable[[], str],
        hopeless: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Wait for what the log says that comes.

        Parameters:
            stream: of the task that waits.
            lock: what is waited for.
            expected: what, for a report.
            hopeless: whether it can't come any more.

        Returns:
            Whether it came; if not, the event goes as it goes.
        """
        waited = 0.0
        # What can't come is looked for at once only where something was amiss before.
        patient = self.claims is None
        while not lock.acquire(timeout=_SLICE if patient else 0):
            patient = True
            if stream.is_free:
                return bool(lock.acquire(timeout=0))
            if hopeless() and not lock.acquire(timeout=0):
                self.give_up(stream, expected(), "who should send it has ended")
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
        patience = self.options.patience
        if self.claims is not None:
            patience = min(patience, _LOOSE_PATIENCE)
        if stream.is_free or waited < patience:
            return
        quiet = self._quiet.seconds()
        if quiet >= patience:
            found = f"waited {quiet:.0f} s in vain, and nothing else went on"
            self.give_up(stream, expected, found, ahead=ahead)
            self._in_vain += 1
            if self._in_vain >= _MOST_IN_VAIN:
                self.go_native()

    def give_up(
        self, stream: ReplayingStream, expected: str, found: str, *, ahead: bool = False
    ) -> None:
        """Declare that what a task waits for does not come.

        Parameters:
            stream: of the task.
            expected: what the log says.
            found: why it does not come.
            ahead: the task has not come to the event yet.
        """
        number = stream.number if ahead else stream.number - 1
        self.desynchronise(
            Desynchronisation(stream.task, number, expected, found, place_outside()), stream
        )
        stream.drift()

    def is_quiet(self, waited: float) -> bool:
        """Whether a wait of so many seconds, after a difference, seems never to end."""
        patience = min(self.options.patience, _LOOSE_PATIENCE)
        return waited >= patience and self._quiet.seconds() >= patience

    def quiet_seconds(self) -> float:
        """For how long nothing has gone on, in any process."""
        return self._quiet.seconds()

    def past_end(self, stream: ReplayingStream) -> None:
        """A task has more events than the log: wait until all others have had theirs."""
        pause = 0.002
        waited = 0.0
        while not self.native and self.claims is None:
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
        self.flush()


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
