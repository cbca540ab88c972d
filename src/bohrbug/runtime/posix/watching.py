"""Watching over executions until they have ended, and ending those that do not end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Sequence
from enum import Enum, auto

from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.ended import Ended
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.standstill import LOOK_SECONDS, Standstill, nudge


class Stop(Enum):
    """Why an execution has to be killed."""

    INTERRUPTED = auto()
    """The user wants it."""
    HUNG = auto()
    """It makes no progress."""
    STOPPED = auto()
    """Nor can it, as a signal has stopped the process whose turn it is."""


class Watch:
    """Watches over executions.

    Parameters:
        hang_seconds: seconds of real time without a step after which one hangs; 0 for never.
        interrupted: whether the user wants to stop.
    """

    def __init__(self, hang_seconds: float, interrupted: Callable[[], bool]) -> None:
        self._hang_seconds = hang_seconds
        self._interrupted = interrupted

    def until_ended(self, poller: select.poll, segments: Sequence[Segment]) -> Stop | None:
        """Wait until there is something to read; else why it has to be killed.

        Parameters:
            poller: has what there is to read at the end.
            segments: of the executions, which follow each other.
        """
        segment = segments[0]
        standstill = Standstill(segment)
        while not poller.poll(LOOK_SECONDS * 1000):
            if self._interrupted():
                return Stop.INTERRUPTED
            now = unfinished_of(segments) or segment
            if now is not segment:
                segment, standstill = now, Standstill(now)
            standstill.look()
            if standstill.is_stopped:
                return Stop.STOPPED
            if self._hang_seconds and standstill.seconds > self._hang_seconds:
                return Stop.HUNG
            if standstill.is_too_long:
                nudge(segment)
        return None

    def ended(self, status: int, stop: Stop | None) -> Ended:
        """How an execution ended.

        Parameters:
            status: of its first process, as of ``waitpid``.
            stop: why it was killed, if it was.
        """
        return Ended(
            os.waitstatus_to_exitcode(status),
            stop in (Stop.HUNG, Stop.STOPPED),
            stop is Stop.INTERRUPTED,
            self._hang_seconds,
            stop is Stop.STOPPED,
        )


def unfinished_of(segments: Sequence[Segment]) -> Segment | None:
    """The first one whose execution is not over."""
    return next((segment for segment in segments if not segment.header.over), None)


def kill_all(pid: int, segment: Segment) -> None:
    """End whatever is left of an execution.

    Parameters:
        pid: its first process, which is the first of its group.
        segment: knows the others.
    """
    if segment.header.processes > 1:
        pids = [process.pid for process in segment.processes if process.state == enumerations.ALIVE]
        for other in pids:
            if other > 0 and other != pid:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(other, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
