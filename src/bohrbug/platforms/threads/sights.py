"""Looking at a replay: where each task stands before its steps, and what it sees there.

Nothing of it happens in executions that are explored: a failure is replayed once more for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.result import Failure
from bohrbug.exploration.sights import Sight, Sights, Values
from bohrbug.model.operation import BEGIN, CALLBACK, CANCELLED, RESUME, WAKE, TaskId
from bohrbug.model.outcome import Frame, Outcome
from bohrbug.paths import is_library_file
from bohrbug.platforms.threads.plain_values import is_telling, shown
from bohrbug.platforms.threads.replaying import replay
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.stacks import frames_from, is_own, site_in
from bohrbug.runtime.threads.task import Task

MOST_FRAMES = 24
"""Frames of a stack that are kept, the innermost ones."""
MOST_VARIABLES = 14
ALL_VALUES = 3_000
"""Values are looked at everywhere in executions of at most so many steps, in others only near the
steps that matter, before and behind them by:"""
NEAR = 150

_OF_LOOPS = (BEGIN, CALLBACK, WAKE)
"""What tasks of event loops do that are in no frame of their own before."""


class Onlooker:
    """Looks at a replay, as a debugger would; give it to ``replay``.

    Parameters:
        failure: what is replayed.

    Attributes:
        sights: what was in sight.
    """

    is_interactive = False

    def __init__(self, failure: Failure) -> None:
        self._frames: dict[TaskId, FrameType] = {}
        self._of_loops: set[TaskId] = set()
        self.follow(failure)

    def follow(self, failure: Failure) -> None:
        """From now on this failure is replayed."""
        self._trace = failure.trace
        self._near = _near(failure)
        self.sights = Sights()

    def begin(self) -> None:
        """Called when the replay begins."""

    def before_step(self, execution: Execution, step: int) -> None:
        """Called before every step once there are several tasks, by the task that ran last.

        It stands before its next operation, until it goes on.  Who does the step is known already.
        """
        frame = _innermost(sys._getframe())
        if frame is not None:
            self._frames[execution.current.id] = frame
        trace = self._trace
        if step >= len(trace):
            return
        task, kind = trace.tasks[step], trace.operations[step].kind
        frame = self._frames.pop(task, None)
        stack: tuple[Frame, ...] = ()
        if self._is_of_loop(execution, task):
            if kind in (RESUME, CANCELLED):
                frames = execution.loops.frames_of(task)
                frame = frames[-1] if frames else None
                stack = tuple(Frame(site_in(each.f_code, each.f_lasti)) for each in frames)
            elif kind in _OF_LOOPS:
                # What is known is where its loop stands.
                frame = None
        if frame is None:
            return
        stack = stack or frames_from(frame)[-MOST_FRAMES:]
        looks = self._near is None or step in self._near
        self.sights.by_step[step] = Sight(stack, _values(_telling(frame)) if looks else ())

    def _is_of_loop(self, execution: Execution, task: TaskId) -> bool:
        """Whether a task is one of an event loop, and no thread."""
        known = execution.loop_tasks
        if len(known) < len(self._of_loops):
            self._of_loops.clear()
        for each in known[len(self._of_loops) :]:
            self._of_loops.add(each.id)
        return task in self._of_loops

    def failed(self, execution: Execution, task: Task, error: BaseException) -> None:
        """Called when an exception leaves a task."""

    def stuck(self, execution: Execution, outcome: Outcome) -> None:
        """Called when no task can go on."""


def _near(failure: Failure) -> frozenset[int] | None:
    """The steps at which values are looked at; ``None``: at all."""
    count = len(failure.trace)
    if count <= ALL_VALUES:
        return None
    matter = {0, count - 1, *failure.essential[:20]}
    return frozenset(
        near for step in matter for near in range(step - NEAR, step + NEAR + 1) if near >= 0
    )


def _innermost(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not ours."""
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _telling(innermost: FrameType) -> FrameType:
    """The innermost frame that is no library's, whose values a reader knows; else the innermost."""
    frame: FrameType | None = innermost
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_own(filename) and not is_library_file(filename):
            return frame
        frame = frame.f_back
    return innermost


def _values(frame: FrameType) -> Values:
    """Local variables of a frame; of a module the globals, which may be many."""
    found = []
    for name, value in local_variables(frame).items():
        if name.startswith("__") or not is_telling(value):
            continue
        found.append((name, shown(value)))
        if len(found) == MOST_VARIABLES:
            break
    return tuple(found)


def sights_in_replay(reproduction: Reproduction, function: Callable[[], object]) -> Sights | None:
    """Replay a failure once more, and look at it.

    Parameters:
        reproduction: from the file, or what would be in it.
        function: the test.

    Returns:
        What was in sight; ``None`` if the replay is not the execution that is to be shown.
    """
    onlooker = Onlooker(reproduction.failure)
    replayed = replay(reproduction, function, 1, onlooker)
    edit = replayed.edit
    failure = reproduction.failure if edit is None or edit.failure is None else edit.failure
    if not replayed.reproduced or replayed.trace.tasks != failure.trace.tasks:
        return None
    return onlooker.sights
