"""Whether an execution that has become very long still comes nearer to its end.

A scheduler that is fair lets every program end that can, so one that goes on for very long is taken
for a livelock.  It is none if a ``for`` loop has gone round meanwhile, as that ends with what it
iterates over, or a ``while`` loop has counted towards its end, unless either stands in a ``while``
loop that has not; nor if tasks were started: then the execution may be only long.

What a ``while`` loop counts with may be shared, and others may count it back.  Then the loop has to
have come nearer to its end each time that somebody looked.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, NamedTuple

from bohrbug.model.operation import TaskId
from bohrbug.runtime.threads.countdowns import Number, distances, is_nearer
from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.loops.coroutines import frames_of_coroutine
from bohrbug.runtime.threads.source_statements import loops_around
from bohrbug.runtime.threads.standing import PLAIN
from bohrbug.runtime.threads.within_reach import frames_around, is_of_library

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

MOST_TASKS = 10_000
"""Threads that one execution starts; what is known of them takes memory with the square of it."""


LOOKS = 4
"""How often is looked, while the last steps are made, how far the tasks have come.

By chance a loop is nearer to its end each time, the limit included, one time in sixteen.
"""


class Round(NamedTuple):
    """In which round of a loop a task is.

    Parameters:
        code: of the function in which the loop stands.
        line: on which it begins.
        elements: what a ``for`` loop has come to.
        left: how far a ``while`` loop is from its end.
    """

    code: CodeType
    line: int
    elements: tuple[object, ...]
    left: tuple[Number, ...]


class Advance(NamedTuple):
    """How far the tasks of an execution have come.

    Parameters:
        started: how many the program has started.
        rounds: for each that has not ended, in which rounds of which loops it is.
    """

    started: int
    rounds: dict[TaskId, tuple[Round, ...]]

    def goes_on(self, later: Advance) -> bool:
        """Whether somebody has come any further since.

        Parameters:
            later: how far they have come by then.
        """
        return later.started > self.started or any(
            rounds and _is_further(self.rounds.get(task, rounds), rounds)
            for task, rounds in later.rounds.items()
        )

    def counting(self, later: Advance) -> set[TaskId]:
        """The tasks whose outermost ``while`` loop has come nearer to its end since.

        Parameters:
            later: how far they have come by then.
        """
        return {
            task
            for task, rounds in later.rounds.items()
            if _has_counted(self.rounds.get(task, rounds), rounds)
        }


def advance_of(execution: Execution, *, may_be_shared: bool = False) -> Advance:
    """How far the tasks of an execution have come by now.

    Parameters:
        execution: the execution.
        may_be_shared: whether ``while`` loops may count with what other tasks can change.
    """
    rounds: dict[TaskId, tuple[Round, ...]] = {}
    for task in execution.alive:
        if task is execution.current:
            frames = frames_around(sys._getframe())
        else:
            frames = frames_around(None if task.greenlet is None else task.greenlet.gr_frame)
        rounds[task.id] = tuple(_rounds(reversed([*frames]), may_be_shared))
    loops = execution.loops
    for coroutine, task in () if loops is None else loops.coroutines():
        rounds[task.id] = tuple(_rounds(frames_of_coroutine(coroutine), may_be_shared))
    # Event loops have others for themselves, for timers above all.
    of_loops = 0 if loops is None else sum(map(loops.is_of_program, execution.loop_tasks))
    return Advance(len(execution.all_tasks) + of_loops, rounds)


def _rounds(frames: Iterable[FrameType], may_be_shared: bool) -> Iterator[Round]:
    """The rounds of the loops that a task is in.

    Parameters:
        frames: of the task, the outermost first.
        may_be_shared: see :func:`advance_of`.
    """
    for frame in frames:
        if is_of_library(frame.f_globals.get("__name__")):
            # An executor's thread goes round for ever, but each of its jobs may end.
            continue
        for loop in loops_around(frame.f_code, frame.f_lineno or 0):
            if isinstance(loop, ast.While):
                left = distances(loop.test, frame, may_be_shared=may_be_shared)
                if not left:
                    return
                yield Round(frame.f_code, loop.test.lineno, (), left)
            else:
                elements = tuple(_elements(loop.target, frame))
                yield Round(frame.f_code, loop.target.lineno, elements, ())


def _elements(target: ast.expr, frame: FrameType) -> Iterator[object]:
    """What the variables of a ``for`` loop are in this round."""
    variables = local_variables(frame)
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            value = variables.get(node.id)
            yield (type(value), value) if type(value) in PLAIN else id(value)


def _is_further(earlier: tuple[Round, ...], later: tuple[Round, ...]) -> bool:
    """Whether the outermost loop of which the round is another one has come nearer to its end."""
    for before, after in zip(earlier, later, strict=False):
        if before != after:
            is_counted = before._replace(left=()) == after._replace(left=())
            return not is_counted or is_nearer(before.left, after.left)
    return len(earlier) != len(later)


def _has_counted(earlier: tuple[Round, ...], later: tuple[Round, ...]) -> bool:
    """Whether the outermost ``while`` loop is the same one, and nearer to its end."""
    for before, after in zip(earlier, later, strict=False):
        if before.left or after.left or before != after:
            is_same = before._replace(left=()) == after._replace(left=())
            return is_same and is_nearer(before.left, after.left)
    return False


class Looks:
    """How far an execution had come, each time that somebody looked before its limit.

    Parameters:
        execution: the execution.
    """

    __slots__ = ("_counting", "_execution", "_first", "_last", "left")

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._first: Advance | None = None
        self._last: Advance | None = None
        self._counting: set[TaskId] | None = None
        self.left = LOOKS
        """How often to look, the time at the limit not counted."""

    def look(self) -> None:
        """Take down how far the tasks have come."""
        self.left -= 1
        if self._first is None:
            self._first = advance_of(self._execution)
        self._look_at_counts()

    def _look_at_counts(self) -> None:
        now = advance_of(self._execution, may_be_shared=True)
        if self._last is not None:
            counting = self._last.counting(now)
            self._counting = counting if self._counting is None else self._counting & counting
        self._last = now

    def goes_on(self) -> bool | None:
        """Whether they have come any further by now; ``None`` if nobody has looked."""
        if self._first is None:
            return None
        if self._first.goes_on(advance_of(self._execution)):
            return True
        self._look_at_counts()
        return bool(self._counting)
