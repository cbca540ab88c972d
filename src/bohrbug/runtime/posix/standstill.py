"""Executions that make no step: their task spins, or blocks unseen, or waits for the machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.c_library import c_library
from bohrbug.runtime.posix.segment import Segment

NUDGE = 62
"""The signal by which a task that spins is made to yield; as in ``shim/signals.h``."""

LOOK_SECONDS = 0.05
"""Seconds between two looks."""

RUNS_SECONDS = 0.2
"""Seconds for which a task has run without a step when it is nudged."""

BLOCKED_SECONDS = 0.05
"""Seconds for which a task has been blocked, though it has the turn, when it is nudged."""

STOPPED_SECONDS = 1.0
"""Seconds for which a process that is stopped is waited for."""

_TGKILL = {"x86_64": 234, "aarch64": 131}.get(os.uname().machine) if hasattr(os, "uname") else None


class Standstill:
    """How long an execution has made no step.

    A task that could run but gets no processor stands still through no fault of its own: on a busy
    machine only the time counts that it was given.  Where it is blocked all time counts.

    Parameters:
        segment: of the execution.
    """

    seconds = 0.0
    """Without a step, as of the last look."""
    is_too_long = False
    """Whether the running task should be nudged."""
    is_stopped = False
    """Whether a signal has stopped its process, and nobody has let it go on since."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._progress = -1
        self._thread: tuple[int, int] | None = None
        self._ran = 0.0
        self._looked = time.monotonic()
        self._since_nudge = 0.0

    def look(self) -> None:
        """Look again; to be called several times a second."""
        header = self._segment.header
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        steps = header.steps - header.nudge_steps
        thread = _running(self._segment)
        state, ran = ("S", 0.0) if thread is None else _usage(*thread)
        more = passed
        if thread != self._thread:
            # Another one, after a step or a nudge.
            more = self._since_nudge = 0.0
        elif state == "R":
            more = min(max(ran - self._ran, 0.0), passed)
        if steps != self._progress:
            more = self.seconds = self._since_nudge = 0.0
        self._progress, self._thread, self._ran = steps, thread, ran
        self.seconds += more
        self._since_nudge += more
        self.is_stopped = state == "T" and self.seconds >= STOPPED_SECONDS
        patience = RUNS_SECONDS if state == "R" else BLOCKED_SECONDS
        self.is_too_long = self._since_nudge >= patience
        if self.is_too_long:
            self._since_nudge = 0.0


def nudge(segment: Segment) -> None:
    """Make the running task yield, in case it spins on something that nobody sees."""
    thread = _running(segment)
    # A program that has just been started, or replaced another one, would die of the signal.
    if thread is not None and _TGKILL is not None and _catches(thread[0], NUDGE):
        c_library().syscall(_TGKILL, *thread, NUDGE)


def _running(segment: Segment) -> tuple[int, int] | None:
    """Process and thread of the task that has the turn, as the kernel numbers them."""
    header = segment.header
    # Read once: it goes on meanwhile, with tasks that are not among the copies.
    running, tasks = header.running, segment.tasks
    if not header.started or running >= len(tasks):
        return None
    task = tasks[running]
    process = segment.processes[task.process]
    if header.fibers:
        # The main thread wears all tasks of the only process.
        return process.pid, process.pid
    if task.state != enumerations.ALIVE or not task.thread or not process.pid:
        return None
    return process.pid, task.thread


def _usage(process: int, thread: int) -> tuple[str, float]:
    """The state of a thread, ``R`` if it could run, and the seconds for which it has run."""
    folder = Path(f"/proc/{process}/task/{thread}")
    try:
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        return state, int((folder / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return "S", 0.0


def _catches(process: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "")
    return bool(int(caught.partition(":")[2] or "0", 16) >> number - 1 & 1)
