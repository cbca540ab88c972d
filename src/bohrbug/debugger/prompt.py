"""The prompt of a replay: pdb, and commands about the tasks and the plan."""

from __future__ import annotations

import pdb  # noqa: T100
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

from bohrbug.debugger.moment import Moment, NoSuchTaskError
from bohrbug.debugger.stops import Goal, Stops, is_called_by_us, program_frame
from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Frame
from bohrbug.runtime.threads.control import nobody
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.tracebacks import frames_of_traceback

_SKIPPED = (
    *("bohrbug", "bohrbug.*", "greenlet", "greenlet.*"),
    *("threading", "asyncio", "asyncio.*", "selectors"),
)

_HELP = """
For the replay:
  tasks               all tasks: what each does, and where
  where all           the stacks of all tasks
  where TASK          the stack of one, such as 0.1
  why [TASK]          why a task does not run: who holds what it waits for, or what the plan does
  next preemption     np   go on to the next preemption of the plan
  last preemption     lp   go on to the last preemption that matters
  continue            c    go on to the next stop: a preemption that matters, the failure
"""


class Prompt(pdb.Pdb):
    """A pdb whose commands are no part of the execution that is being replayed.

    Parameters:
        around: entered for each prompt, such as to stop capturing output.
        stops: of the replay.

    Attributes:
        goes_on: the last command was to go on, and not to go to the next line.
        goal: where to.
    """

    def __init__(
        self,
        around: Callable[[], AbstractContextManager[object]],
        stops: Stops,
    ) -> None:
        super().__init__(skip=list(_SKIPPED))
        self.prompt = "(bohrbug pdb) "
        # From Python 3.15 on, a console written in Python would read the terminal.  It puts a hook
        # into ``threading``, which is the program's.
        self.pyrepl_input = None
        self.goes_on = True
        self.goal = Goal.MATTERS
        self._around = around
        self._stops = stops
        self._execution: Execution | None = None
        self._running: TaskId | None = None
        self._is_between = self._is_over = False
        self._frame: FrameType | None = None
        self._here: tuple[Frame, ...] | None = None

    def stand(
        self,
        execution: Execution,
        running: TaskId,
        *,
        is_between: bool = True,
        is_over: bool = False,
    ) -> None:
        """What the next prompt is opened in.

        Parameters:
            execution: the replay.
            running: the task in whose frame it is.
            is_between: the task that ran last is about to make a step.
            is_over: the execution ends here.
        """
        self._execution = execution
        self._running = running
        self._is_between = is_between
        self._is_over = is_over

    def interaction(self, frame: FrameType | None, tb_or_exc: Any) -> None:
        """The prompt; whatever is evaluated in it is outside control."""
        execution = self._execution
        assert execution is not None
        traceback = getattr(tb_or_exc, "__traceback__", tb_or_exc)
        if self._running not in (None, execution.current.id):
            # The prompt is in another task than the one that ran last.
            self._frame, self._here = program_frame(sys._getframe()), None
        elif frame is not None:
            self._frame, self._here = frame, None
        else:
            self._frame, self._here = None, frames_of_traceback(traceback)
        execution.suspended += 1
        self.goes_on = False
        self.goal = Goal.MATTERS
        try:
            with self._around():
                super().interaction(frame, tb_or_exc)
        finally:
            execution.suspended -= 1
            # What comes next is a line that somebody has stepped to, in whatever task.
            self._running = None
            self._is_between = False

    def stop_here(self, frame: FrameType) -> bool:
        """Whether a step ends here: not in what the standard library does for the scheduler."""
        return super().stop_here(frame) and not is_called_by_us(frame)

    def set_continue(self) -> None:
        """``continue``: no more stops but at breakpoints."""
        self.goes_on = True
        super().set_continue()

    def _moment(self) -> Moment:
        assert self._execution is not None
        return Moment(
            self._execution,
            self._stops.trace,
            self._frame,
            self._here,
            self._running,
            is_between=self._is_between,
            is_over=self._is_over,
        )

    def _show(self, draw: Callable[[Moment], object]) -> None:
        moment = self._moment()
        try:
            # What prints it has locks, and they are no business of the execution.
            with nobody():
                draw(moment)
        except NoSuchTaskError as error:
            self.error(str(error))

    # -- commands ------------------------------------------------------------------------

    def do_tasks(self, arg: str) -> bool | None:
        """tasks

        Show all tasks: what each does, or what it waits for, and where.
        """
        if arg:
            # A variable of the program is called so.
            return self._evaluate()
        self._show(lambda moment: moment.draw_tasks(self.stdout))
        return None

    def do_why(self, arg: str) -> bool | None:
        """why [TASK]

        Say why a task does not run: who holds what it waits for and where that was taken, whom
        that one waits for, and so on; or what the plan does in its place.  Without an
        argument: of the task that the prompt is in.
        """
        if arg and not _is_task(arg):
            return self._evaluate()
        self._show(lambda moment: moment.draw_why(self.stdout, arg or None))
        return None

    def do_where(self, arg: str) -> bool | None:
        """w(here) [all | TASK]

        Print a stack trace, with the most recent frame at the bottom.  With "all": the stacks of
        all tasks; with the id of a task, such as 0.1: its stack.
        """
        if arg == "all":
            self._show(lambda moment: moment.draw_stacks(self.stdout))
        elif _is_task(arg):
            self._show(lambda moment: moment.draw_stacks(self.stdout, arg))
        else:
            return super().do_where(arg)
        return None

    do_w = do_where
    do_bt = do_where

    def do_next(self, arg: str) -> bool | None:
        """n(ext) [preemption]

        Continue execution until the next line of the program, in whichever task runs.
        With "preemption" (np): go on to the next preemption of the plan.
        """
        if not arg:
            return super().do_next(arg)
        if arg == "preemption":
            return self._go_on(Goal.NEXT)
        self.error(f"next takes nothing, or: next preemption; not {arg!r}")
        return None

    do_n = do_next

    def do_np(self, arg: str) -> bool | None:
        """np

        The same as "next preemption": go on to the next preemption of the plan, also if it does
        not matter.
        """
        return self._evaluate() if arg else self._go_on(Goal.NEXT)

    def do_last(self, arg: str) -> bool | None:
        """last preemption

        Go on to the last preemption that matters (lp).
        """
        if arg == "preemption":
            return self._go_on(Goal.LAST)
        return self._evaluate()

    def do_lp(self, arg: str) -> bool | None:
        """lp

        The same as "last preemption": go on to the last preemption that matters.
        """
        return self._evaluate() if arg else self._go_on(Goal.LAST)

    def do_help(self, arg: str) -> bool | None:
        """h(elp)

        Without argument, print the list of available commands.
        With a command name as argument, print help about that command.
        """
        super().do_help(arg)
        if not arg:
            self.message(_HELP)
        return None

    do_h = do_help

    def _go_on(self, goal: Goal) -> bool | None:
        """Go on to a preemption, if there is one."""
        assert self._execution is not None
        if self._is_over:
            self.error("the execution ends here")
            return None
        if not any(step > self._execution.steps for step in self._stops.steps(goal)):
            further = "" if goal is Goal.LAST else "further "
            self.error(f"no {further}preemption {_MISSING[goal]}")
            return None
        stops = super().do_continue("")
        self.goal = goal
        return stops

    def _evaluate(self) -> bool | None:
        """What was typed begins like a command, and is an expression or a statement."""
        self.default(self.lastcmd)
        return None


_MISSING = {
    Goal.NEXT: "comes in the plan",
    Goal.LAST: "that matters is still to come",
    Goal.MATTERS: "that matters is still to come",
}


def _is_task(word: str) -> bool:
    """Whether something is written as the id of a task is."""
    return re.fullmatch(r"0(\.\d+)*(:\d+)?", word) is not None
