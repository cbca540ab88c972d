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
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Self

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


class Hang(TaskKilled):
    """Raised, by the watchdog, in a task that does not come to a scheduling point.

    It derives from :class:`TaskKilled` so that the task ends as all tasks of an
    execution do that is over.
    """


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

    # -- for the explorer -----------------------------------------------------------

    def start(self) -> None:
        """Begin to look; does nothing if it has begun."""
        if self._running.acquire(False):
            self._ended.acquire(False)
            self._interrupting.begin()
            _real_start_new_thread(self._look_until_stopped, ())

    def stop(self) -> None:
        """Stop looking; does nothing if it has not begun."""
        if self._running.locked():
            self._running.release()
            self._ended.acquire()
            self._ended.release()
            self._interrupting.end()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

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
        watched: Execution | None = None
        progress: Any = None
        since = _real_monotonic()
        worked = _real_process_time()
        message = ""
        periods = 0
        text = ""
        nudged = worked
        pause = min(self._seconds / LOOKS, NUDGE)
        while not self._running.acquire(True, pause):
            execution = self._watched
            now = _real_monotonic()
            if execution is None or self._paused:
                watched = None
                continue
            current = (len(execution.all_tasks), execution.steps, execution.current)
            patience = min(execution.patience, self._seconds)
            if execution is not watched:
                watched, progress, since, message = execution, current, now, ""
                nudged = worked = _real_process_time()
            elif not message and current != progress:
                progress, since = current, now
                nudged = worked = _real_process_time()
            elif now - since < patience or (
                # Less than usual is for tasks that spin: on a busy machine they get less time.
                now - since < self._seconds and _real_process_time() - worked < patience
            ):
                if execution.nudge is not None and _real_process_time() - nudged >= NUDGE:
                    nudged = _real_process_time()
                    execution.nudge()
            else:
                since = now
                if _is_debugged(execution):
                    continue
                if not message:
                    message, periods = self._end(execution, patience), 0
                    continue
                if not periods:
                    text = self._call_for_help(execution, message)
                if periods == self._further_periods and self._on_stuck is not None:
                    self._on_stuck(text)
                periods += 1
                # Code that swallows every exception may let the next one pass.
                self._raise(execution)
        self._running.release()

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
