"""Recording and replaying from within a program."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bohrbug.runtime.channels.alternates import FOLDER as ALTERNATE
from bohrbug.runtime.channels.codec import ABOUT, OUTCOME, json_block
from bohrbug.runtime.channels.desynchronisation import (
    REPORT,
    Desynchronisation,
    DesynchronisationError,
    read_report,
)
from bohrbug.runtime.channels.installation import install, restore
from bohrbug.runtime.channels.pending import recover
from bohrbug.runtime.channels.replaying import DIFFERENCES, INTERRUPTED, PROGRESS, ReplaySession
from bohrbug.runtime.channels.session import (
    WARNINGS,
    Session,
    SessionOptions,
    active,
    append,
    begin_file,
)
from bohrbug.runtime.folders import OwnFolder

_AT_ONCE = 1.0
"""Seconds within which a process may get to an end by a signal before we hear of the signal."""


class Shared:
    """The folder that the processes of one recording or replay share, and what is found there."""

    def __init__(self) -> None:
        # In memory where there is such a place: its files live for moments.
        memory = Path("/dev/shm")
        try:
            self._own = OwnFolder("bohrbug-", memory if memory.is_dir() else None)
        except OSError:
            self._own = OwnFolder("bohrbug-")
        self.folder = self._own.path

    def warnings(self) -> list[str]:
        """What the processes warned of, each once."""
        try:
            lines = (self.folder / WARNINGS).read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        return list(dict.fromkeys(lines))

    def report(self) -> Desynchronisation | None:
        """The first desynchronisation."""
        return read_report(self.folder)

    def differences(self) -> int:
        """How many differences there were, the first one included."""
        try:
            return (self.folder / DIFFERENCES).stat().st_size
        except OSError:
            return 0

    def interrupt(self) -> None:
        """Let the processes know that the user has stopped the replay."""
        with suppress(OSError):
            (self.folder / INTERRUPTED).touch()

    def reported_before_interrupt(self) -> bool:
        """Whether it was desynchronised before the user stopped it, and not because of that."""
        try:
            reported = (self.folder / REPORT).stat().st_mtime
            return reported < (self.folder / INTERRUPTED).stat().st_mtime - _AT_ONCE
        except OSError:
            return False

    def events_replayed(self) -> int:
        """How many events there were in processes that have ended by themselves."""
        try:
            return sum(map(int, (self.folder / PROGRESS).read_text().split()))
        except (OSError, ValueError):
            return 0

    def any_process(self) -> bool:
        """Whether a process has taken part."""
        return any(self.folder.glob("process-*"))

    def end_processes(self) -> None:
        """Ask processes that still take part to end: a strict replay has stopped.

        The others ended without the words that a program has for its children.  A child may have
        been started just now, and not have come to say that it takes part: its environment says
        it.  Until a look finds no more of them, as one may start another meanwhile.
        """
        asked: set[int] = set()
        while new := self._processes() - asked:
            for number in new:
                with suppress(OSError):
                    os.kill(number, signal.SIGTERM)
            asked |= new

    def _processes(self) -> set[int]:
        found = set()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if os.fsencode(self.folder) in path.read_bytes():
                    found.add(int(path.parent.name))
        return found - {os.getpid()}

    def recover(self, file: Path, part: str = "") -> None:
        """Write to the log what processes that were killed had not written.

        Parameters:
            file: the log.
            part: of the folder that the recording has used.

        Raises:
            OSError: the log can't be written.
        """
        blocks = recover(self.folder / part, file)
        if blocks:
            append(file, blocks)

    def end_alternate(self, file: Path | None, outcome: Mapping[str, Any]) -> None:
        """The log of what happened in a replay is complete, if there is one.

        Raises:
            OSError: it can't be written.
        """
        if file is not None:
            self.recover(file, ALTERNATE)
            end_log(file, outcome)

    def remove(self) -> None:
        """The recording or replay is over."""
        self._own.close()


class MessageReplay:
    """How a replay within a program went."""

    def __init__(self) -> None:
        self.desynchronisation: Desynchronisation | None = None
        """The first difference; ``None`` if there was none."""
        self.differences = 0
        """How many there were."""
        self.warnings: list[str] = []
        """What could not be told apart."""


def about(command: object) -> dict[str, Any]:
    """What the header of a log says."""
    return {"command": command, "python": sys.version.split()[0], "platform": sys.platform}


def begin_log(file: Path, command: object) -> None:
    """Make an empty log with its header.

    Raises:
        OSError: it can't be written.
    """
    begin_file(file)
    append(file, json_block(ABOUT, about(command)))


def end_log(file: Path, outcome: Mapping[str, Any]) -> None:
    """Append how the recorded program ended."""
    append(file, json_block(OUTCOME, outcome))


@contextmanager
def _taking_part(session: Session) -> Iterator[None]:
    active.start(session)
    try:
        install()
        try:
            session.begin_process("0")
            yield
        finally:
            try:
                active.stop()
            finally:
                restore()
    except BaseException:
        active.session = None
        raise


@contextmanager
def record(file: str | Path, *, digests: bool = False) -> Iterator[Path]:
    """Record the order of messages of what is done within the block.

    All threads, asyncio tasks and child processes that are started within take part.  They should
    have ended when the block ends: what they do later is not recorded.

    Parameters:
        file: the message log to write.
        digests: record a digest of each value sent or received, so that a replay notices
            at once where values differ.

    Yields:
        The path of the log.

    Raises:
        OSError: the log can't be written.
        RuntimeError: messages are being recorded or replayed already.
    """
    path = Path(file).absolute()
    shared = Shared()
    try:
        begin_log(path, sys.orig_argv)
        session = Session(SessionOptions("record", str(path), str(shared.folder), digests))
        passed = False
        try:
            with _taking_part(session):
                yield path
            passed = True
        finally:
            shared.recover(path)
            end_log(path, {"passed": passed})
            tell(shared.warnings())
    finally:
        shared.remove()


@contextmanager
def replay_messages(
    file: str | Path,
    *,
    keep_going: bool = False,
    patience: float = 10.0,
    record_alternate: str | Path | None = None,
) -> Iterator[MessageReplay]:
    """Replay a recorded order of messages in what is done within the block.

    Parameters:
        file: a message log.
        keep_going: after a difference go on, and follow the log where that can be followed,
            instead of raising.
        patience: seconds without progress after which a wait is taken to be one that
            never ends.
        record_alternate: a message log to write of what happens in the replay.

    Yields:
        How it went; complete when the block has ended.

    Raises:
        LogError: the file is no message log.
        OSError: the log of what happens can't be written.
        DesynchronisationError: the program does something else than the log says, at the
            event that differs, and at the end of the block if it was in another task.
        RuntimeError: messages are being recorded or replayed already.
    """
    path = Path(file).absolute()
    alternate = None if record_alternate is None else Path(record_alternate).absolute()
    shared = Shared()
    replay = MessageReplay()
    options = SessionOptions(
        "replay",
        str(path),
        str(shared.folder),
        keep_going=keep_going,
        patience=patience,
        raises=True,
        alternate="" if alternate is None else str(alternate),
    )
    try:
        session = ReplaySession(options)
        if alternate is not None:
            begin_log(alternate, sys.orig_argv)
        passed = False
        try:
            with _taking_part(session):
                yield replay
            passed = True
        finally:
            shared.end_alternate(alternate, {"passed": passed})
            replay.differences = shared.differences()
            replay.desynchronisation = session.desynchronisation or shared.report()
            replay.warnings = shared.warnings()
            tell(replay.warnings)
        if replay.desynchronisation is not None and not keep_going:
            raise DesynchronisationError(replay.desynchronisation)
    finally:
        shared.remove()


def tell(warnings: list[str]) -> None:
    """Print warnings of a recording or replay."""
    for words in warnings:
        print(f"bohrbug: {words}", file=sys.stderr)
