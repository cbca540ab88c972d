"""Whether an execution that has become very long still comes nearer to its end.

A scheduler that is fair lets every program end that can, so one that goes on for very long is taken
for a livelock.  It is none if a ``for`` loop has gone round meanwhile, as that ends with what it
iterates over, or a ``while`` loop has counted towards its end, unless either stands in a ``while``
loop that has not; nor if tasks were started: then the execution may be only long.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, NamedTuple

from bohrbug.model.operation import TaskId
from bohrbug.runtime.threads.countdowns import Number, distances, is_nearer
from bohrbug.runtime.threads.loops.coroutines import frames_of_coroutine
from bohrbug.runtime.threads.source_statements import loops_around
from bohrbug.runtime.threads.standing import PLAIN
from bohrbug.runtime.threads.within_reach import frames_around, is_of_library

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

MOST_TASKS = 10_000
"""Threads that one execution starts; what is known of them takes memory with the square of it."""


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


def advance_of(execution: Execution) -> Advance:
    """How far the tasks of an execution have come by now."""
    rounds: dict[TaskId, tuple[Round, ...]] = {}
    for task in execution.alive:
        if task is execution.current:
            frames = frames_around(sys._getframe())
        else:
            frames = frames_around(None if task.greenlet is None else task.greenlet.gr_frame)
        rounds[task.id] = tuple(_rounds(reversed([*frames])))
    loops = execution.loops
    for coroutine, task in () if loops is None else loops.coroutines():
        rounds[task.id] = tuple(_rounds(frames_of_coroutine(coroutine)))
    # Event loops have others for themselves, for timers above all.
    of_loops = sum(task.spawned is not None for task in execution.loop_tasks)
    return Advance(len(execution.all_tasks) + of_loops, rounds)


def _rounds(frames: Iterable[FrameType]) -> Iterator[Round]:
    """The rounds of the loops that a task is in.

    Parameters:
        frames: of the task, the outermost first.
    """
    for frame in frames:
        if is_of_library(frame.f_globals.get("__name__")):
            # An executor's thread goes round for ever, but each of its jobs may end.
            continue
        for loop in loops_around(frame.f_code, frame.f_lineno or 0):
            if isinstance(loop, ast.While):
                left = distances(loop.test, frame)
                if not left:
                    return
                yield Round(frame.f_code, loop.test.lineno, (), left)
            else:
                elements = tuple(_elements(loop.target, frame))
                yield Round(frame.f_code, loop.target.lineno, elements, ())


def _elements(target: ast.expr, frame: FrameType) -> Iterator[object]:
    """What the variables of a ``for`` loop are in this round."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            value = frame.f_locals.get(node.id)
            yield (type(value), value) if type(value) in PLAIN else id(value)


def _is_further(earlier: tuple[Round, ...], later: tuple[Round, ...]) -> bool:
    """Whether the outermost loop of which the round is another one has come nearer to its end."""
    for before, after in zip(earlier, later, strict=False):
        if before != after:
            is_counted = before._replace(left=()) == after._replace(left=())
            return not is_counted or is_nearer(before.left, after.left)
    return len(earlier) != len(later)
