"""A watchdog: no execution, and no mistake of this tool, hangs for ever without a word.

A real thread looks now and then whether the execution that is watched has made
a step.  If it has not for too long, the execution is ended: the running task
gets an exception, wherever it is, and the system call in which it may be blocked is
interrupted.  If even that changes nothing, because the task is in C code that does not
look at signals, the watchdog says where and calls for help.
"""

from __future__ import annotations

import _thread
import ctypes
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self
from weakref import ref

from bohrbug.accelerator import native
from bohrbug.model.outcome import Frame, Outcome, OutcomeKind
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.interrupting import Interrupting
from bohrbug.runtime.threads.stacks import frames_from
from bohrbug.runtime.threads.task import Task, TaskKilled

_real_allocate_lock = _thread.allocate_lock
_real_start_new_thread = _thread.start_new_thread
_real_monotonic = time.monotonic
_real_process_time = time.process_time
_real_sigmask = getattr(signal, "pthread_sigmask", None)

LOOKS = 20
"""Looks at the execution in the time after which it counts as hanging."""

NUDGE = 0.2 if native is not None else 0.6
"""Seconds of the processor without a step after which a task that may spin is made to yield.

What spins uses it all the time, however many others do; what only waits for its turn there must not
be disturbed, as that changes what is explored.  In pure Python accesses take about three times as
long: what computes for a while must not be taken to spin there when it is not with the accelerator.
"""

DEBUGGERS = frozenset(
    {"bdb", "pdb", "cmd", "code", "pydevd", "_pydevd_bundle", "debugpy", "IPython"}
)
"""Modules with a frame on the stack while a person looks at the program."""


LEAST_WORK = 0.02
"""The share of the time that code takes of a processor, if it runs, however many others do.

With less it is blocked, so that real time is what counts.
"""

MOST_TIMES = 4
"""How often the time after which an execution hangs may pass in reality, on a busy machine."""

WAITED = 2.0
"""Real seconds without a timeout after which it is looked at whether the program waits in C."""

LEAST_READINGS = 5
"""How often it has asked for the time by then, if it waits until that has passed."""

MOST_WORK = 0.25
"""The share of that time for which it has used the processor, at most."""


class Hang(TaskKilled):
    """Raised, by the watchdog, in a task that does not come to a scheduling point.

    It derives from :class:`TaskKilled` so that the task ends as all tasks of an
    execution do that is over.
    """


def _nothing() -> None:
    """Stands for a reference to an execution that there is not."""


@dataclass(slots=True)
class _Seen:
    """What the looks at an execution have seen.

    Parameters:
        watched: refers to the execution.
        progress: how far it had come.
        since: when it was first seen there.
        worked: the time of the processor that this process had taken by then.
        nudged: the same, when a task was made to yield last.
        passed: the seconds since then, without those in which it waited for a processor.
        looked: when it was looked at last, and the time of the processor that it had taken by then.
        message: that it hangs, once it was ended for that; or "".
        periods: how often it was found to hang on after that.
        text: the call for help.
        waiting: when the clock was looked at, the time of the processor by then, how many timeouts
            had fired, and how often the program had asked for the time since the last of them.
    """

    watched: Callable[[], Execution | None] = _nothing
    progress: tuple[int, int, int] = (0, 0, 0)
    since: float = 0.0
    worked: float = 0.0
    nudged: float = 0.0
    passed: float = 0.0
    looked: tuple[float, float] = (0.0, 0.0)
    message: str = ""
    periods: int = 0
    text: str = ""
    waiting: tuple[float, float, int, int] = (0.0, 0.0, 0, 0)

    def begin(self, now: float, worked: float) -> None:
        """It has made progress, or what is watched is another one."""
        self.since, self.passed, self.looked = now, 0.0, (now, worked)
        self.nudged = self.worked = worked

    def go_on(self, now: float, worked: float) -> None:
        """It was looked at once more.

        On a busy machine, what computes gets a part of a processor; it must not seem to hang for
        what the others take of it.
        """
        seconds, work = now - self.looked[0], worked - self.looked[1]
        self.passed += work if work >= seconds * LEAST_WORK else seconds
        self.looked = (now, worked)


class Watchdog:
    """Ends executions that make no progress.

    Parameters:
        seconds: real seconds without a step after which an execution hangs.
        on_stuck: called, in the watchdog's own thread, if the execution did not
            end within as many seconds again: its thread is blocked where nothing can
            be raised.  It is given the message that was printed.
        further_periods: how often as many seconds are to pass after the message was printed,
            before ``on_stuck`` is called: what blocks the thread may give up by itself.
    """

    def __init__(
        self,
        seconds: float = 10.0,
        on_stuck: Callable[[str], object] | None = None,
        further_periods: int = 0,
    ) -> None:
        self._seconds = seconds
        self._on_stuck = on_stuck
        self._further_periods = further_periods
        self._interrupting = Interrupting()
        self._watched: Execution | None = None
        # Held while the thread runs; free: it is to end.
        self._running: Any = _real_allocate_lock()
        self._ended: Any = _real_allocate_lock()
        # Held by whoever raises in, or takes back from, the watched thread.
        self._raising: Any = _real_allocate_lock()
        self._raised_in = 0
        self._paused = False
        self._is_looking = False
        self._until = math.inf
        self.has_cut = False
        # Whether the thread stays when nobody wants it to look.
        self._lasts = False

    # -- for the explorer -----------------------------------------------------------

    def start(self) -> None:
        """Begin to look; does nothing if it has begun."""
        if self._is_looking:
            return
        self._is_looking = True
        self.has_cut = False
        self._interrupting.begin()
        if self._running.acquire(False):
            self._ended.acquire(False)
            _real_start_new_thread(self._look_until_stopped, ())

    def stop(self) -> None:
        """Stop looking; does nothing if it has not begun."""
        if not self._is_looking:
            return
        self._is_looking = False
        if not self._lasts:
            self._end_thread()
        self._interrupting.end()

    def _end_thread(self) -> None:
        if self._running.locked():
            self._running.release()
            self._ended.acquire()
            self._ended.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def limit(self, seconds: float) -> None:
        """See :class:`~bohrbug.runtime.protocol.Guard`."""
        self._until = _real_monotonic() + seconds

    def watch(self, execution: Execution) -> None:
        """From now on this execution must make progress; called by the thread that runs it."""
        self._watched = execution

    def release(self) -> None:
        """The execution has ended; called by the thread that ran it."""
        self._watched = None
        if self._raised_in:
            self._take_back()

    def pause(self) -> None:
        """Do not look until :meth:`resume`, because a person does."""
        self._paused = True

    def resume(self) -> None:
        """Look again."""
        self._paused = False

    # -- the thread -----------------------------------------------------------------

    def _look_until_stopped(self) -> None:
        if _real_sigmask is not None:
            # Signals to this process are for the thread that runs the program.
            _real_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._look_again_and_again()
        finally:
            self._ended.release()

    def _look_again_and_again(self) -> None:
        seen = _Seen()
        while not self._running.acquire(True, min(self._seconds / LOOKS, NUDGE)):
            # Nothing of it stays here, as this thread may last longer than an exploration.
            self._look(seen)
        self._running.release()

    def _look(self, seen: _Seen) -> None:
        """Look once, and do what is due.

        Parameters:
            seen: what the last looks have seen.
        """
        execution = self._watched
        now = _real_monotonic()
        if execution is None or self._paused:
            seen.watched = _nothing
            return
        if now >= self._until:
            self._until = math.inf
            self.has_cut = True
            execution.interrupt()
        self._look_at_clock(execution, seen, now)
        current = (len(execution.all_tasks), execution.steps, id(execution.current))
        patience = min(execution.patience, self._seconds)
        worked = _real_process_time()
        seen.go_on(now, worked)
        if execution is not seen.watched():
            seen.watched, seen.progress, seen.message = ref(execution), current, ""
            seen.begin(now, worked)
        elif not seen.message and current != seen.progress:
            seen.progress = current
            seen.begin(now, worked)
        elif now - seen.since < patience or (
            worked - seen.worked < patience
            # Less than usual is for tasks that spin.
            and seen.passed < self._seconds
            and now - seen.since < self._seconds * MOST_TIMES
        ):
            if execution.nudge is not None and worked - seen.nudged >= NUDGE:
                seen.nudged = worked
                execution.nudge()
        else:
            seen.since = now
            if _is_debugged(execution):
                return
            if not seen.message:
                seen.message, seen.periods = self._end(execution, patience), 0
                return
            if not seen.periods:
                seen.text = self._call_for_help(execution, seen.message)
            if seen.periods == self._further_periods and self._on_stuck is not None:
                self._on_stuck(seen.text)
            seen.periods += 1
            # Code that swallows every exception may let the next one pass.
            self._raise(execution)

    def _look_at_clock(self, execution: Execution, seen: _Seen, now: float) -> None:
        """Let time pass where the program polls something in C until its own clock has advanced.

        No step may be missing there, and no time of the processor is taken: else nothing would end
        such an execution.
        """
        clock = execution.clock
        worked = _real_process_time()
        since, worked_before, jumps, readings = seen.waiting
        is_same = execution is seen.watched() and clock.jumps == jumps
        if is_same and now - since < WAITED:
            return
        seen.waiting = (now, worked, clock.jumps, clock.readings)
        if (
            is_same
            and clock.readings - readings >= LEAST_READINGS
            and worked - worked_before < (now - since) * MOST_WORK
        ):
            clock.follow_reality()

    def _end(self, execution: Execution, seconds: float) -> str:
        """End an execution as a hang, by an exception in its thread; the message."""
        task = execution.current
        frames = _frames_of(task, execution)
        message = describe(task, frames, seconds, execution)
        with self._raising:
            if self._watched is not execution:
                return ""
            execution.ending.abort(
                Outcome(
                    OutcomeKind.HANG,
                    message,
                    task=task.id,
                    stack=frames,
                    traceback="\n".join(stacks(execution)),
                )
            )
        self._raise(execution)
        return message

    def _raise(self, execution: Execution) -> None:
        with self._raising:
            if self._watched is execution:
                self._raised_in = execution.root.ident
                _raise_in(execution.root.ident, Hang)
                self._interrupting.interrupt()

    def _take_back(self) -> None:
        """An exception that was not delivered before the execution ended must not be later.

        It is delivered here.  Taking it back with ``NULL`` would leave the interpreter's
        request to look for it in place: on Python 3.11 every call of a function would then
        loop for ever as soon as a profile or trace function is set.
        """
        try:
            with self._raising:
                ident, self._raised_in = self._raised_in, 0
                _raise_in(ident, Hang)
                while True:
                    pass
        except Hang:
            return

    def _call_for_help(self, execution: Execution, message: str) -> str:
        text = f"bohrbug: {message}; it could not be stopped\n" + "\n".join(stacks(execution))
        if sys.__stderr__ is not None:
            sys.__stderr__.write(text + "\n")
            sys.__stderr__.flush()
        return text


class LastingWatchdog:
    """One watchdog for many explorations, one after the other, whose thread stays between them.

    To start a thread for each, and to wait for its end, takes longer than most tests of a suite.
    While no exploration lasts, it ends before this process forks: whoever forks natively is to find
    as many threads as without us.
    """

    def __init__(self) -> None:
        self._watchdog: Watchdog | None = None
        self._wanted = 0
        self._is_registered = False

    def __enter__(self) -> Self:
        """From now on the thread stays."""
        self._wanted += 1
        if hasattr(os, "register_at_fork") and not self._is_registered:
            self._is_registered = True
            os.register_at_fork(before=self._end_if_idle)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """No longer, once this was called as often as it was entered."""
        self._wanted -= 1
        if not self._wanted:
            self._end_if_idle()
            self._watchdog = None

    def watchdog(
        self, seconds: float, on_stuck: Callable[[str], object] | None, further_periods: int
    ) -> Watchdog:
        """A watchdog for an exploration, see :class:`Watchdog`."""
        known = self._watchdog
        if not self._wanted or (known is not None and known._is_looking):
            return Watchdog(seconds, on_stuck, further_periods)
        if known is None:
            known = self._watchdog = Watchdog()
            known._lasts = True
        known._seconds, known._on_stuck = seconds, on_stuck
        known._further_periods = further_periods
        return known

    def _end_if_idle(self) -> None:
        known = self._watchdog
        if known is not None and not known._is_looking:
            known._end_thread()


lasting_watchdog = LastingWatchdog()
"""That of this process, for those who explore many tests."""


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an exception in another thread at its next instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _frame_of(task: Task, execution: Execution) -> FrameType | None:
    """The innermost frame of a task, whichever thread asks."""
    if task is execution.current:
        return sys._current_frames().get(execution.root.ident)
    return None if task.greenlet is None else task.greenlet.gr_frame


def _frames_of(task: Task, execution: Execution) -> tuple[Frame, ...]:
    return frames_from(_frame_of(task, execution))


def _is_debugged(execution: Execution) -> bool:
    """Whether a debugger waits for a person in the watched thread."""
    frame = sys._current_frames().get(execution.root.ident)
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if isinstance(module, str) and module.partition(".")[0] in DEBUGGERS:
            return True
        frame = frame.f_back
    return False


def describe(task: Task, frames: tuple[Frame, ...], seconds: float, execution: Execution) -> str:
    """One sentence on which task hangs where.

    Parameters:
        task: the running task.
        frames: its stack, innermost frame last.
        seconds: how long it has run without a step.
        execution: the execution that it belongs to.
    """
    where = f" at {frames[-1].site.filename}:{frames[-1].site.line}" if frames else ""
    if execution.aborting:
        return f"task {task.id} ({task.name}) could not be ended for {seconds:g} s{where}"
    return (
        f"task {task.id} ({task.name}) has run for {seconds:g} s{where} "
        "without reaching a scheduling point"
    )


def stacks(execution: Execution) -> Iterator[str]:
    """Lines that show where all tasks of an execution stand, and the real threads beside it."""
    for task in list(execution.all_tasks):
        if task.ended:
            continue
        state = "runs" if task is execution.current else "waits"
        pending = task.pending
        if pending is not None and task is not execution.current:
            state = f"is about to {pending.kind.name} {pending.resource}"
        yield f"task {task.id} ({task.name}) {state}:"
        frames = _frames_of(task, execution)
        for frame in frames:
            site = frame.site
            yield f'  File "{site.filename}", line {site.line}, in {site.function}'
        if not frames:
            yield "  no frame of the program"
    for ident, frame_of_thread in sys._current_frames().items():
        if ident in (execution.root.ident, threading.get_ident()):
            continue
        yield f"thread {ident}, outside our control:"
        for line in traceback.format_stack(frame_of_thread):
            yield line.rstrip("\n")
