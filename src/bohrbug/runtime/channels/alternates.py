"""What really happens in a replay, recorded beside it."""

from __future__ import annotations

from pathlib import Path

from bohrbug.runtime.channels.codec import Relative, process_block, sender_of
from bohrbug.runtime.channels.events import Event, TaskId
from bohrbug.runtime.channels.recording import NO_VALUE, RecordingStream
from bohrbug.runtime.channels.session import Session, SessionOptions, command_line

FOLDER = "alternate"
"""In the session's folder: that of the recording."""


class AlternateStream(RecordingStream):
    """A task of a replay whose events are recorded as they have happened.

    Parameters:
        session: of the recording.
        task: its id.
    """

    __slots__ = ("_relative",)

    def __init__(self, session: Session, task: TaskId) -> None:
        super().__init__(session, task)
        self._relative = Relative()

    def happened(self, event: Event) -> None:
        """An event has ended."""
        code = self.define(
            event.kind,
            event.outcome.status,
            event.channel,
            event.flavour,
            sender_of(event),
            self._relative.numbers(event),
        )
        self._append(code, NO_VALUE)


class Alternate(Session):
    """The recording of a replay, in one process.

    Parameters:
        file: the log that is written.
        folder: of the replay's session.
    """

    def __init__(self, file: str, folder: str) -> None:
        own = Path(folder) / FOLDER
        own.mkdir(exist_ok=True)
        super().__init__(SessionOptions("record", file, str(own)))

    def stream_of(self, task: TaskId) -> AlternateStream:
        """A task begins."""
        stream = AlternateStream(self, task)
        self.streams[task] = stream
        return stream

    def process_begins(self, task: TaskId) -> None:
        """This process takes part from now on."""
        self.write(process_block(task, command_line()))
