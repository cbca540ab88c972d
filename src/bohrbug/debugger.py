"""pdb in a replay: stops at the last preemption that matters, and at the failure."""

from __future__ import annotations

import pdb  # noqa: T100
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

from bohrbug.exploration.result import Failure
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.task import Task, TaskKilled

_OWN = ("bohrbug", "greenlet")
_SKIPPED = (
    *("bohrbug", "bohrbug.*", "greenlet", "greenlet.*"),
    *("threading", "asyncio", "asyncio.*", "selectors"),
)


class _Prompt(pdb.Pdb):
    """A pdb whose commands are no part of the execution that is being replayed.

    Parameters:
        around: entered for each prompt, such as to stop capturing output.
    """

    def __init__(self, around: Callable[[], AbstractContextManager[object]]) -> None:
        super().__init__(skip=list(_SKIPPED))
        self.prompt = "(bohrbug pdb) "
        # From Python 3.15 on, a console written in Python would read the terminal.  It puts a hook
        # into ``threading``, which is the program's.
        self.pyrepl_input = None
        self.execution: Execution | None = None
        self.goes_on = True
        self._around = around

    def interaction(self, frame: FrameType | None, tb_or_exc: Any) -> None:
        """The prompt; whatever is evaluated in it is outside control."""
        execution = self.execution
        if execution is not None:
            execution.suspended += 1
        self.goes_on = False
        try:
            with self._around():
                super().interaction(frame, tb_or_exc)
        finally:
            if execution is not None:
                execution.suspended -= 1

    def set_continue(self) -> None:
        """``continue``: no more stops but at breakpoints."""
        self.goes_on = True
        super().set_continue()


class ReplayDebugger:
    """Opens a prompt in a replay; give it to :func:`bohrbug.exploration.replaying.replay`.

    Parameters:
        failure: what is replayed.
        around: entered for each prompt.
        say: prints a line for the user.
    """

    def __init__(
        self,
        failure: Failure,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
        say: Callable[[str], object] = print,
    ) -> None:
        self.follow(failure)
        self._prompt = _Prompt(around)
        self._around = around
        self._say = say
        self.quit = False

    def follow(self, failure: Failure) -> None:
        """From now on this failure is replayed."""
        self._stop_at = failure.essential[-1] if failure.essential else None
        self._trace = failure.trace

    def before_step(self, execution: Execution, step: int) -> None:
        """Called before every step once there are several tasks."""
        if step != self._stop_at:
            return
        trace = self._trace
        then = trace.tasks[step]
        if step in trace.defaults:
            late = trace.goes_on(step)
            frame = execution.loops and execution.loops.frame_of(late)
            said = f"Task {late} is late: it does not go on here yet; task {then} goes on first."
        else:
            running = execution.current
            # The scheduler has suspended control for the time of this call.
            frame = program_frame(sys._getframe())
            said = (
                f"Task {running.id} ({running.name}) is preempted here, before this line goes on; "
                f"then task {then} runs."
            )
        if frame is None:
            return
        with self._around():
            self._say(said)
        self._open(execution, frame, None)
        if not self._prompt.goes_on and not self.quit:
            self._step_on(execution)

    def failed(self, execution: Execution, task: Task, error: BaseException) -> None:
        """Called when an exception leaves a task."""
        traceback = error.__traceback__
        if self.quit or traceback is None or isinstance(error, TaskKilled):
            return
        with self._around():
            said = f": {error}" if str(error) else ""
            self._say(f"Task {task.id} ({task.name}) failed: {type(error).__name__}{said}")
        sys.settrace(None)
        while traceback.tb_next is not None and not _is_program(traceback.tb_frame):
            traceback = traceback.tb_next
        self._open(execution, None, traceback)

    def _open(self, execution: Execution, frame: FrameType | None, traceback: Any) -> None:
        prompt = self._prompt
        prompt.execution = execution
        prompt.reset()
        prompt.interaction(frame, traceback)
        if prompt.quitting:
            self.quit = True
            sys.settrace(None)
            execution.interrupt()

    def _step_on(self, execution: Execution) -> None:
        """``step`` or ``next``: stop at the next line of the program, in any task."""
        prompt = self._prompt
        for task in execution.alive:
            if task is execution.current:
                frame: FrameType | None = sys._getframe()
            else:
                frame = task.greenlet.gr_frame if task.greenlet is not None else None
            while frame is not None:
                if _is_program(frame):
                    frame.f_trace = prompt.trace_dispatch
                prompt.botframe = frame
                frame = frame.f_back
        prompt.set_step()
        sys.settrace(prompt.trace_dispatch)

    def close(self) -> None:
        """No stops any more."""
        sys.settrace(None)


def _is_program(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    return module.partition(".")[0] not in _OWN and module != "threading"


def program_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the tested program."""
    while frame is not None and not _is_program(frame):
        frame = frame.f_back
    return frame
