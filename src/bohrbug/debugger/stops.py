"""Where a debugger stops in a replay, in which frame, and what is said there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from types import FrameType, TracebackType

from bohrbug.exploration.result import Failure
from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Outcome
from bohrbug.model.trace import Trace
from bohrbug.paths import is_standard_file
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.task import Task

_OWN = ("bohrbug", "greenlet")


class Goal(Enum):
    """Where a replay is to stop next."""

    MATTERS = "a preemption that matters"
    NEXT = "the next preemption"
    LAST = "the last preemption that matters"


@dataclass(frozen=True, slots=True)
class Stop:
    """A moment at which somebody may want to look.

    Parameters:
        frame: in which the program stands.
        task: whose frame it is.
        words: what happens there.
    """

    frame: FrameType
    task: TaskId
    words: str


class Stops:
    """The preemptions of a replay.

    Parameters:
        failure: what is replayed.

    Attributes:
        trace: the whole execution that is replayed.
    """

    trace: Trace

    def __init__(self, failure: Failure) -> None:
        self.follow(failure)

    def follow(self, failure: Failure) -> None:
        """From now on this failure is replayed."""
        self.trace = failure.trace
        essential = sorted(failure.essential)
        self._steps = {
            Goal.MATTERS: essential,
            Goal.NEXT: sorted({*essential, *failure.trace.preemptions()}),
            Goal.LAST: essential[-1:],
        }

    def steps(self, goal: Goal) -> list[int]:
        """The steps before which a replay can stop on the way to a goal, in order."""
        return self._steps[goal]

    def at(self, execution: Execution, step: int, goal: Goal) -> Stop | None:
        """Whether to stop before a step; called by the task that ran last.

        Parameters:
            execution: the replay.
            step: which comes next.
            goal: what is wanted.
        """
        if step not in self._steps[goal]:
            return None
        trace = self.trace
        then = trace.tasks[step]
        running = execution.current
        if step in trace.defaults and not trace.has_fired(step):
            late = trace.goes_on(step)
            frame = execution.loops and execution.loops.frame_of(late)
            words = f"Task {late} is late: it does not go on here yet; task {then} goes on first."
            return None if frame is None else Stop(frame, late, words)
        # The scheduler has suspended control for the time of this call.
        frame = program_frame(sys._getframe())
        if trace.has_fired(step):
            words = f"{in_words(running)} waits here, and its timeout fires early."
            if then != running.id:
                words = f"{in_words(running)} stops here: a timeout of task {then} fires early."
        else:
            words = (
                f"{in_words(running)} is preempted here, before this line goes on; "
                f"then task {then} runs."
            )
        return None if frame is None else Stop(frame, running.id, words)


def stuck_at(execution: Execution, outcome: Outcome) -> Stop | None:
    """Where to look once no task can go on.

    Parameters:
        execution: the replay.
        outcome: how it ends.
    """
    waiting = [*outcome.cycle, *(blocked.task for blocked in outcome.blocked)]
    # First the one whose stack this is.
    waiting.sort(key=lambda task: task != execution.current.id)
    for task in waiting:
        frame = program_frame(_frame_of(execution, task))
        if frame is not None:
            message = outcome.message or outcome.kind.value
            words = f"No task can go on: {message}. Task {task} waits here."
            return Stop(frame, task, words)
    return None


def _frame_of(execution: Execution, id: TaskId) -> FrameType | None:
    """The innermost frame of a task that waits."""
    if id == execution.current.id:
        return sys._getframe()
    for task in execution.all_tasks:
        if task.id == id and task.greenlet is not None:
            frame: FrameType | None = task.greenlet.gr_frame
            return frame
    found: FrameType | None = execution.loops and execution.loops.frame_of(id)
    return found


def in_words(task: Task) -> str:
    """A task at the beginning of a sentence."""
    return f"Task {task.id} ({task.name})" if task.name else f"Task {task.id}"


def failed_in_words(task: Task, error: BaseException) -> str:
    """One line on an exception that left a task."""
    said = f": {error}" if str(error) else ""
    return f"{in_words(task)} failed: {type(error).__name__}{said}"


def program_part(traceback: TracebackType) -> TracebackType:
    """A traceback from its first frame of the tested program on."""
    while traceback.tb_next is not None and not is_program(traceback.tb_frame):
        traceback = traceback.tb_next
    return traceback


def is_program(frame: FrameType) -> bool:
    """Whether a frame is of the tested program, or of a library, and not ours."""
    module = str(frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] not in _OWN and module != "threading"


def is_called_by_us(innermost: FrameType) -> bool:
    """Whether a frame is of the standard library, which works for us and not for the program."""
    frame: FrameType | None = innermost
    while frame is not None and is_standard_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame is not innermost and not is_program(frame)


def program_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the tested program."""
    while frame is not None and not is_program(frame):
        frame = frame.f_back
    return frame
