"""Replaying failures where no execution has left anything behind.

All executions of an exploration run in one process, so that a failure may need what earlier ones
left there: a counter in a module, a cache.  Replayed in that process it fails every time, and in
the next one never.  So a process is forked before the first execution, and waits; for each failure
it forks another one, which replays the failure's file as ``bohrbug replay`` would.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

_HAPPENS, _PASSES, _UNKNOWN = b"y", b"n", b"?"
_LOOKS_PER_SECOND = 200
_FIRST_DESCRIPTOR = 200
"""What the pipes of this process are numbered from: programs find the lowest numbers free."""


class CleanProcess:
    """A process that was forked before the first execution, and has executed nothing.

    A context manager, which ends the process at its end.  Where no process can be forked without
    harm (it is no Linux, or has several threads, whose locks would stay taken), there is none.

    Parameters:
        replay: replays the failure of a file, and returns whether it happened again; called in a
            process forked for this alone, which prints nothing.
    """

    def __init__(self, replay: Callable[[Path], bool]) -> None:
        self._questions: int | None = None
        self._answers = -1
        self._pipe: tuple[int, int] = (0, 0)
        if not _can_fork():
            return
        questions, asking = os.pipe()
        answering, answers = os.pipe()
        child = os.fork()
        if not child:
            _become_waiting(replay, questions, answers, (asking, answering))
        # At once: the one that waits is no child of this process, whose children the test may
        # count or wait for.
        os.waitpid(child, 0)
        os.close(questions)
        os.close(answers)
        self._questions, self._answers = _moved_up(asking), _moved_up(answering)
        self._pipe = _identity(self._questions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_there():
            assert self._questions is not None
            os.close(self._questions)
            os.close(self._answers)
        self._questions = None

    def _is_there(self) -> bool:
        """Whether there is a process, and the test has not closed what leads to it."""
        if self._questions is None:
            return False
        try:
            return _identity(self._questions) == self._pipe
        except OSError:
            return False

    def happens(self, file: Path, seconds: float) -> bool | None:
        """Whether a failure happens where nothing was executed before.

        Parameters:
            file: the failure's reproduction file.
            seconds: how long to wait for an answer.

        Returns:
            ``None`` if that can't be told here, or not within the time; nothing is told any more
            after that.
        """
        if not self._is_there():
            return None
        assert self._questions is not None
        try:
            os.write(self._questions, os.fsencode(file.absolute()) + b"\0")
            ready, _, _ = select.select([self._answers], [], [], seconds)
            answer = os.read(self._answers, 1) if ready else _UNKNOWN
        except OSError:
            answer = _UNKNOWN
        if answer not in (_HAPPENS, _PASSES):
            self.__exit__(None, None, None)
            return None
        return answer == _HAPPENS


_LOOKS_FOR_THREADS = 10


def _can_fork() -> bool:
    if sys.platform != "linux":
        return False
    try:
        for _ in range(_LOOKS_FOR_THREADS):
            if len(os.listdir("/proc/self/task")) == 1:
                return True
            # One that has just ended is still there for a moment.
            time.sleep(0.002)
    except OSError:
        pass
    return False


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _moved_up(descriptor: int) -> int:
    """The same pipe under a number that no program of the test would get."""
    import fcntl

    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved


# -- the processes that are forked -----------------------------------------------------


def _become_waiting(
    replay: Callable[[Path], bool], questions: int, answers: int, others: tuple[int, int]
) -> NoReturn:
    """Fork the process that waits, as a child of nobody, and end."""
    try:
        if os.fork():
            os._exit(0)
        for descriptor in others:
            os.close(descriptor)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        os.close(nothing)
        # Ctrl-C is meant for the exploration, whose end is the end of this process, too.
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
        for file in _files_asked_for(questions):
            os.write(answers, _answer(replay, file, interrupt, questions, answers))
    finally:
        os._exit(0)


def _files_asked_for(questions: int) -> Iterator[Path]:
    """The files that are to be replayed, one after the other, until nobody can ask any more."""
    text = b""
    while more := os.read(questions, 4096):
        *names, text = (text + more).split(b"\0")
        yield from (Path(os.fsdecode(name)) for name in names)


def _answer(
    replay: Callable[[Path], bool],
    file: Path,
    interrupt: object,
    questions: int,
    answers: int,
) -> bytes:
    """Replay in another process, which is ended when nobody waits for the answer any more."""
    child = os.fork()
    if not child:
        try:
            os.close(questions)
            os.close(answers)
            signal.signal(signal.SIGINT, interrupt)  # type: ignore[arg-type]
            os._exit(ord(_HAPPENS if replay(file) else _PASSES))
        finally:
            os._exit(ord(_UNKNOWN))
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return bytes([code]) if code > 0 else _UNKNOWN
        # Nothing more is asked before the answer: what can be read is the end of who asks.
        if select.select([questions], [], [], 1 / _LOOKS_PER_SECOND)[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return _UNKNOWN
