"""Streams that record: each event becomes one small number, appended to a list.

The program pays for that at every message, so the common cases (a message sent, a message
received) have a short way through two dictionaries; see ``benchmarks/messages``.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from bohrbug.runtime.channels.codec import Vocabulary, ended_block
from bohrbug.runtime.channels.digest import digest
from bohrbug.runtime.channels.events import ChannelId, Kind, Status, TaskId
from bohrbug.runtime.channels.streams import Channel, Sending, Stream, real_lock

if TYPE_CHECKING:
    from bohrbug.runtime.channels.session import Session

EVENTS_IN_BLOCK = 256
"""So many events of a task are lost at most when its process is killed."""

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
        "_written",
        "codes",
        "digests",
        "received_from",
        "receiving",
        "sending",
        "vocabulary",
    )

    def __init__(self, session: Session, task: TaskId) -> None:
        super().__init__(session, task)
        self.codes: list[int] = []
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
        code = self.vocabulary.code(
            kind,
            status,
            None if channel is None else channel.id,
            flavour if channel is None else channel.flavour,
            None,
            values,
        )
        self._append(code, 0)

    def sending_to(self, channel: Channel) -> Sending:
        """What this task has sent to a channel."""
        sending = self.sending.get(channel)
        if sending is None:
            sending = self.sending[channel] = Sending(self.task)
        return sending

    def sent(self, kind: Kind, channel: Channel, position: int = -1, value: object = None) -> int:
        """See :meth:`Stream.sent`."""
        sending = self.sending_to(channel)
        step = 0
        if position >= 0:
            step = position - sending.position
            sending.position = position
        key = step << 3 | kind
        code = sending.codes.get(key)
        if code is None:
            code = sending.codes[key] = self.vocabulary.code(
                kind,
                Status.SENT,
                channel.id,
                channel.flavour,
                None,
                () if position < 0 else (step,),
            )
        self.codes.append(code)
        if self.digests is not None:
            self.digests.append(digest(value))
        if len(self.codes) >= EVENTS_IN_BLOCK:
            self.flush()
        number = sending.count
        sending.count = number + 1
        return number

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
            code = receiving.codes[key] = self.vocabulary.code(
                kind, Status.RECEIVED, channel.id, channel.flavour, sender, (step,)
            )
        self.codes.append(code)
        if self.digests is not None:
            self.digests.append(digest(value))
        if len(self.codes) >= EVENTS_IN_BLOCK:
            self.flush()

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
        self._append(self.vocabulary.code(kind, status, channel, flavour, sender, values), 0)

    def _append(self, code: int, digest: int) -> None:
        self.codes.append(code)
        if self.digests is not None:
            self.digests.append(digest)
        if len(self.codes) >= EVENTS_IN_BLOCK:
            self.flush()

    def is_stale(self) -> bool:
        """Whether there are events to write, and none were written for a while."""
        return bool(self.codes) and monotonic() - self._flushed > STALE

    def flush(self, patience: float = -1) -> None:
        """See :meth:`Stream.flush`."""
        if not self.codes or not self._lock.acquire(timeout=patience):
            return
        try:
            codes, self.codes = self.codes, []
            self._flushed = monotonic()
            digests = self.digests
            if digests is not None:
                self.digests = []
                digests = digests[: len(codes)]
            if codes:
                data = self.vocabulary.events_block(self.task, self._written, codes, digests)
                self._written += len(codes)
                self.session.write(data)
        finally:
            self._lock.release()

    def end(self) -> None:
        """See :meth:`Stream.end`."""
        super().end()
        self.flush()
        self.session.write(ended_block(self.task))
