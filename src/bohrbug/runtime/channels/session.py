"""A recording or a replay, as one process takes part in it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bohrbug.runtime.channels.codec import header, process_block
from bohrbug.runtime.channels.events import TaskId
from bohrbug.runtime.channels.pending import Pages
from bohrbug.runtime.channels.recording import RecordingStream
from bohrbug.runtime.channels.streams import Channel, Stream, local, real_lock

VARIABLE = "BOHRBUG_MESSAGES"
"""Environment variable that tells Python processes of a command to take part; holds JSON."""

TASK_VARIABLE = "BOHRBUG_MESSAGES_TASK"
"""Environment variable with the id of the task that a new process begins with."""

WARNINGS = "warnings"
_ROOTS = "roots"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a recording or replay is told.

    Parameters:
        mode: ``record`` or ``replay``.
        file: the message log.
        folder: shared by the processes that take part, for as long as they live.
        digests: record digests of values, to detect a divergence earlier.
        keep_going: replay: after a desynchronisation, run on natively.
        patience: replay: seconds without any progress after which a wait is taken to be
            one that never ends.
        raises: replay: a desynchronisation raises an exception in the tasks, instead of
            ending the process.
        alternate: replay: the message log to write of what happens; empty for none.
    """

    mode: str
    file: str
    folder: str
    digests: bool = False
    keep_going: bool = False
    patience: float = 10.0
    raises: bool = False
    alternate: str = ""

    def to_environment(self) -> dict[str, str]:
        """The variables for child processes."""
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> SessionOptions | None:
        """What the environment says; ``None`` if it says nothing."""
        text = environment.get(VARIABLE)
        return None if not text else cls(**json.loads(text))


class Session:
    """What the tasks of one process share.

    Parameters:
        options: what to do.
    """

    replaying = False

    def __init__(self, options: SessionOptions) -> None:
        self.options = options
        self.folder = Path(options.folder)
        self.streams: dict[TaskId, Stream] = {}
        self.channels: weakref.WeakSet[Channel] = weakref.WeakSet()
        self.pages = Pages(self.folder)
        self.named: dict[Any, Channel] = {}
        """Channels between processes, which have no single object, by their ids."""
        self.closed = False
        self.root: TaskId | None = None
        self._warned: set[str] = set()
        self._lock = real_lock()
        self._write_error = False

    # -- tasks ---------------------------------------------------------------------------

    def make_stream(self, task: TaskId) -> Stream:
        """A stream of the kind that this session needs."""
        return RecordingStream(self, task)

    def begin(self, task: TaskId) -> Stream:
        """A task begins."""
        stream = self.make_stream(task)
        with self._lock:
            self.streams[task] = stream
        return stream

    def begin_process(self, task: TaskId) -> Stream:
        """This process takes part from now on; the calling thread is its first task."""
        self.root = task
        self.write(process_block(task, command_line()))
        self.sign_in()
        stream = local.stream = self.begin(task)
        return stream

    def sign_in(self) -> None:
        """Let the other processes know of this one."""
        with contextlib.suppress(OSError):
            (self.folder / f"process-{os.getpid()}").write_text(self.root or "")

    def claim_root(self) -> Stream:
        """Take part as a process that nobody we see has started: the next free root.

        Of commands that start several, roots are numbered in the order in which they begin.
        """
        number = 0
        while True:
            try:
                (self.folder / f"{_ROOTS}-{number}").touch(exist_ok=False)
            except FileExistsError:
                number += 1
            except OSError:
                # The folder is gone: the recording is over.
                self.closed = True
                break
            else:
                break
        return self.begin_process(str(number))

    def after_fork(self) -> None:
        """In a forked child: forget the tasks that live on only in the parent."""
        self.streams = {}
        self.pages = Pages(self.folder)
        self._lock = real_lock()
        self.root = None
        local.stream = None
        self.named = {}
        for channel in list(self.channels):
            channel.lock = real_lock()
            channel.arrived.clear()
            channel.awaited.clear()
            channel.space.clear()

    # -- the file ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Append to the file by one system call, so that processes need no lock.

        The file is not kept open: programs close descriptors that they don't know.
        """
        if self.closed or self._write_error:
            return
        try:
            append(Path(self.options.file), data)
        except OSError as error:
            self._write_error = True
            self.warn(f"recording stops: {self.options.file}: {error.strerror or error}")

    def flush(self, patience: float = -1) -> None:
        """Write what all tasks of this process have recorded; see :meth:`Stream.flush`."""
        for stream in list(self.streams.values()):
            stream.flush(patience)

    def finish(self) -> None:
        """The process, or the recording, ends."""
        self.flush()

    def close(self) -> None:
        """Nothing is seen any more."""
        self.closed = True

    # -- words ---------------------------------------------------------------------------

    def warn(self, message: str) -> None:
        """Tell the user once."""
        with self._lock:
            if message in self._warned:
                return
            self._warned.add(message)
        try:
            append(self.folder / WARNINGS, f"{message}\n".encode())
        except OSError:
            print(f"bohrbug: {message}", file=sys.stderr)

    def warn_of_unseen(self, channel: Channel) -> None:
        """Two threads that have no id write to one channel."""
        self.warn(
            "threads that were started by something Bohrbug does not see write to one channel "
            f"({channel.flavour} {channel.id}): the order of their messages can't be told apart"
        )


def command_line() -> str:
    """How this process was started, for people."""
    return " ".join(sys.orig_argv)[:300]


def append(path: Path, data: bytes) -> None:
    """Append bytes to a file by one write.

    Raises:
        OSError: it can't be opened, or the device is full.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)


def begin_file(path: Path) -> None:
    """Make an empty message log.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header())


class Active:
    """The session that this process takes part in, if any; one at a time."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.before_fork: list[Callable[[Session], None]] = []
        """Filled by families of channels: what to do in a process that is about to fork."""
        self.at_end: list[Callable[[Session], None]] = []
        """Likewise: what to do when a process ends."""

    def start(self, session: Session) -> None:
        """Take part in a session.

        Raises:
            RuntimeError: this process takes part in one already.
        """
        if self.session is not None:
            raise RuntimeError("messages are being recorded or replayed in this process already")
        self.session = session

    def stop(self) -> None:
        """Take part no longer; tasks that live on are not seen any more."""
        session, self.session = self.session, None
        if session is not None:
            session.finish()
            session.close()
        local.stream = None


active = Active()


def current() -> Stream | None:
    """The stream of the thread that asks, if what it does is to be seen."""
    stream = local.stream
    if stream is None or stream.inside or stream.session.closed:
        return None
    return stream


def main_stream() -> Stream | None:
    """As :func:`current`; a main thread that nobody gave an id becomes a root."""
    session = active.session
    if (
        session is not None
        and session.root is None
        and local.stream is None
        and threading.current_thread() is threading.main_thread()
    ):
        return session.claim_root()
    return current()


def seen_stream() -> Stream | None:
    """As :func:`main_stream`, and quick where nothing is recorded or replayed."""
    return main_stream() if active.session is not None else None
