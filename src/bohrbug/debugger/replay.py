"""pdb in a replay: stops at the preemptions that matter, and at the failure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType, TracebackType

from bohrbug.debugger.prompt import Prompt
from bohrbug.debugger.stops import Stops, failed_in_words, is_program, program_part, stuck_at
from bohrbug.debugger.suspended_frames import tell_lines_of
from bohrbug.exploration.result import Failure
from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Outcome
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.task import Task, TaskKilled


class ReplayDebugger:
    """Opens a prompt in a replay; give it to :func:`bohrbug.platforms.threads.replaying.replay`.

    Parameters:
        failure: what is replayed.
        around: entered for each prompt.
        say: prints a line for the user.
    """

    is_interactive = True

    def __init__(
        self,
        failure: Failure,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
        say: Callable[[str], object] = print,
    ) -> None:
        self._stops = Stops(failure)
        self._prompt = Prompt(around, self._stops)
        self._around = around
        self._say = say
        self.quit = False

    def follow(self, failure: Failure) -> None:
        """From now on this failure is replayed."""
        self._stops.follow(failure)

    def begin(self) -> None:
        """Called when the replay begins."""

    def before_step(self, execution: Execution, step: int) -> None:
        """Called before every step once there are several tasks."""
        stop = None if self.quit else self._stops.at(execution, step, self._prompt.goal)
        if stop is None:
            return
        self._say_around(stop.words)
        self._open(execution, stop.frame, None, stop.task)
        prompt = self._prompt
        if not self.quit and (prompt.breaks or not prompt.goes_on):
            self._trace(execution)

    def stuck(self, execution: Execution, outcome: Outcome) -> None:
        """Called when no task can go on."""
        stop = None if self.quit else stuck_at(execution, outcome)
        if stop is None:
            return
        sys.settrace(None)
        self._say_around(stop.words)
        self._open(execution, stop.frame, None, stop.task, is_over=True)
        sys.settrace(None)

    def failed(self, execution: Execution, task: Task, error: BaseException) -> None:
        """Called when an exception leaves a task."""
        traceback = error.__traceback__
        if self.quit or traceback is None or isinstance(error, TaskKilled):
            return
        self._say_around(failed_in_words(task, error))
        sys.settrace(None)
        part = program_part(traceback)
        self._open(execution, None, part, task.id, is_between=False, is_over=True)

    def _say_around(self, words: str) -> None:
        with self._around():
            self._say(words)

    def _open(
        self,
        execution: Execution,
        frame: FrameType | None,
        traceback: TracebackType | None,
        task: TaskId,
        *,
        is_between: bool = True,
        is_over: bool = False,
    ) -> None:
        prompt = self._prompt
        prompt.stand(execution, task, is_between=is_between, is_over=is_over)
        prompt.reset()
        prompt.interaction(frame, traceback)
        if prompt.quitting:
            self.quit = True
            sys.settrace(None)
            execution.interrupt()

    def _trace(self, execution: Execution) -> None:
        """Stop at breakpoints, and after ``step`` or ``next`` at the next line, in any task."""
        prompt = self._prompt
        codes = set()
        for task in execution.alive:
            if task is execution.current:
                frame: FrameType | None = sys._getframe()
            else:
                frame = task.greenlet.gr_frame if task.greenlet is not None else None
            while frame is not None:
                if is_program(frame):
                    frame.f_trace = prompt.trace_dispatch
                    codes.add(frame.f_code)
                prompt.botframe = frame
                frame = frame.f_back
        if prompt.goes_on:
            goal = prompt.goal
            prompt.set_continue()
            prompt.goal = goal
        else:
            prompt.set_step()
        sys.settrace(prompt.trace_dispatch)
        tell_lines_of(codes)

    def close(self) -> None:
        """No stops any more."""
        sys.settrace(None)
