"""Streams that record: each event becomes one small number, appended to a list.

The program pays for that at every message, so the common cases (a message sent, a message
received) have a short way through two dictionaries; see ``benchmarks/messages``.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from bohrbug.runtime.channels.codec import Vocabulary, ended_block
from bohrbug.runtime.channels.digest import digest
from bohrbug.runtime.channels.events import ChannelId, Kind, Status, TaskId
from bohrbug.runtime.channels.pending import LARGEST, NO_ROOM
from bohrbug.runtime.channels.streams import Channel, Sending, Stream, real_lock

if TYPE_CHECKING:
    from bohrbug.runtime.channels.session import Session

NO_VALUE: object = object()
"""Stands for the value of events that have none."""

STALE = 0.05
"""Seconds after which events are written when their task is about to wait."""


class Receiving:
    """What one task has received from one sender in one channel."""

    __slots__ = ("codes", "last")

    def __init__(self) -> None:
        self.last = -1
        self.codes: dict[int, int] = {}


class RecordingStream(Stream):
    """A task whose events are recorded.

    Parameters:
        session: that it belongs to.
        task: its id.
    """

    __slots__ = (
        "_arrived",
        "_flushed",
        "_lock",
        "_page",
        "_start",
        "_written",
        "at",
        "codes",
        "digests",
        "received_from",
        "receiving",
        "sending",
        "vocabulary",
    )

    def __init__(self, session: Session, task: TaskId) -> None:
        super().__init__(session, task)
        self._page = session.pages.take()
        self.codes: Any = self._page.codes
        """Each plus 1; what is there is in no block of the log yet, from a place on."""
        self.at = 0
        """Where in ``codes`` the next one goes."""
        self._start = 0
        self.digests: list[int] | None = [] if session.options.digests else None
        self.vocabulary = Vocabulary()
        self.sending: dict[Channel, Sending] = {}
        self.receiving: dict[tuple[Channel, TaskId | None], Receiving] = {}
        self.received_from: dict[Sending, Receiving] = {}
        """A short way to some of ``receiving``."""
        self._arrived: dict[tuple[str, TaskId | None], int] = {}
        self._written = 0
        self._flushed = 0.0
        self._lock = real_lock()

    def note(
        self,
        kind: Kind,
        channel: Channel | None,
        status: Status,
        values: tuple[int, ...] = (),
        flavour: str = "",
    ) -> None:
        """See :meth:`Stream.note`."""
        code = self.define(
            kind,
            status,
            None if channel is None else channel.id,
            flavour if channel is None else channel.flavour,
            None,
            values,
        )
        self._append(code, NO_VALUE)

    def define(
        self,
        kind: Kind,
        status: Status,
        channel: ChannelId | None,
        flavour: str,
        sender: TaskId | None = None,
        numbers: tuple[int, ...] = (),
    ) -> int:
        """The code of a sort of event; see :meth:`Vocabulary.code`."""
        vocabulary = self.vocabulary
        known = vocabulary.newest
        code = vocabulary.code(kind, status, channel, flavour, sender, numbers)
        if code > known:
            self._describe()
        return code

    def _describe(self) -> None:
        """Whoever finds the page is to know what its codes mean."""
        preamble = self.vocabulary.preamble(self.task, self._written)
        if not self._page.describe(preamble, self._start):
            self.flush()

    def sending_to(self, channel: Channel) -> Sending:
        """What this task has sent to a channel."""
        sending = self.sending.get(channel)
        if sending is None:
            sending = self.sending[channel] = Sending(self.task)
        return sending

    def sent(self, kind: Kind, channel: Channel, position: int = -1, value: object = None) -> int:
        """See :meth:`Stream.sent`."""
        sending = self.sending.get(channel) or self.sending_to(channel)
        step = 0
        if position >= 0:
            step = position - sending.position
            sending.position = position
        code = sending.codes.get(step << 3 | kind)
        if code is None:
            code = self.code_of_send(kind, channel, step if position >= 0 else None)
        self._append(code, value)
        number = sending.count
        sending.count = number + 1
        return number

    def code_of_send(self, kind: Kind, channel: Channel, step: int | None = None) -> int:
        """How a message is coded that is sent so many positions after the last one here."""
        numbers = () if step is None else (step,)
        code = self.define(kind, Status.SENT, channel.id, channel.flavour, None, numbers)
        self.sending_to(channel).codes[(step or 0) << 3 | kind] = code
        return code

    def received(
        self,
        kind: Kind,
        channel: Channel,
        message: tuple[TaskId | None, int],
        value: object = None,
    ) -> None:
        """See :meth:`Stream.received`."""
        sender, number = message
        receiving = self.receiving.get((channel, sender))
        if receiving is None:
            receiving = self.receiving[channel, sender] = Receiving()
        step = number - receiving.last
        receiving.last = number
        key = step << 3 | kind
        code = receiving.codes.get(key)
        if code is None:
            code = receiving.codes[key] = self.define(
                kind, Status.RECEIVED, channel.id, channel.flavour, sender, (step,)
            )
        self._append(code, value)

    def arrived(
        self,
        kind: Kind,
        channel: ChannelId,
        flavour: str,
        message: tuple[TaskId | None, int] | None,
        values: tuple[int, ...],
    ) -> None:
        """Something came to the event loop that this is the stream of.

        Parameters:
            kind: of the event.
            channel: where it came.
            flavour: what it is, one of ``ARRIVALS``.
            message: of whom, and which; ``None`` if a descriptor is ready.
            values: of the outcome.
        """
        sender, status = None, Status.READY
        if message is not None:
            status, (sender, number) = Status.RECEIVED, message
            step = number - self._arrived.get((flavour, sender), -1)
            self._arrived[flavour, sender] = number
            values = (step, *values)
        self._append(self.define(kind, status, channel, flavour, sender, values), NO_VALUE)

    def keep(self, code: int) -> None:
        """An event has happened; what the hot paths do themselves where they can."""
        if code > LARGEST:
            self._keep_large(code)
            return
        try:
            self.codes[self.at] = code + 1
        except IndexError:
            self._turn_page()
            self.codes[0] = code + 1
        self.at += 1

    def _append(self, code: int, value: object) -> None:
        if self.digests is not None:
            self.digests.append(digest(value) if value is not NO_VALUE else 0)
        self.keep(code)

    def _turn_page(self) -> None:
        self.flush()
        with self._lock:
            if self.ended:
                # Something happens in the name of a task that is over.
                self._page = self.session.pages.take()
                self.codes = self._page.codes
            else:
                self._page.clear()
            self.at = self._start = 0
            self._page.describe(self.vocabulary.preamble(self.task, self._written), 0)

    def _keep_large(self, code: int) -> None:
        """A code that fits into no page, of a task with very many sorts of events."""
        self.flush()
        digests = None if self.digests is None else [self.digests.pop()]
        data = self.vocabulary.events_block(self.task, self._written, [code], digests)
        self._written += 1
        self.session.write(data)

    def is_stale(self) -> bool:
        """Whether there are events to write, and none were written for a while."""
        return self.has_unwritten() and monotonic() - self._flushed > STALE

    def has_unwritten(self) -> bool:
        """Whether there are events that are not in the log."""
        return self.at > self._start

    def flush(self, patience: float = -1) -> None:
        """See :meth:`Stream.flush`."""
        if not self.has_unwritten() and not self.vocabulary.new:
            return
        if not self._lock.acquire(timeout=patience):
            return
        try:
            # Its task may go on meanwhile, if this is another thread: what comes now is for later.
            end = self.at
            codes = [code - 1 for code in self.codes[self._start : end]]
            self._flushed = monotonic()
            digests = None
            if self.digests is not None:
                digests = self.digests[: len(codes)]
                self.digests = self.digests[len(codes) :]
            data = self.vocabulary.events_block(self.task, self._written, codes, digests)
            self.session.write(data)
            self._written += len(codes)
            self._start = end
            self._page.describe(self.vocabulary.preamble(self.task, self._written), end)
        finally:
            self._lock.release()

    def end(self) -> None:
        """See :meth:`Stream.end`."""
        super().end()
        self.flush()
        self.session.write(ended_block(self.task))
        self.codes, self.at, self._start = NO_ROOM, 0, 0
        self.session.pages.give_back(self._page)
