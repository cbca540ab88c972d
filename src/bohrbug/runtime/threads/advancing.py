"""Whether an execution that has become very long still comes nearer to its end.

A scheduler that is fair lets every program end that can, so one that goes on for very long is taken
for a livelock.  It is none if a ``for`` loop has gone round meanwhile, as that ends with what it
iterates over, unless it stands in a loop that ends by a condition; nor if tasks were started: then
the execution may be only long.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, NamedTuple

from bohrbug.model.operation import TaskId
from bohrbug.runtime.threads.loops.coroutines import frames_of_coroutine
from bohrbug.runtime.threads.standing import PLAIN, Loop, loops_around
from bohrbug.runtime.threads.within_reach import frames_around, is_of_library

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

MOST_TASKS = 10_000
"""Threads that one execution starts; what is known of them takes memory with the square of it."""

_MOST_INSTRUCTIONS = 16
"""After the begin of a round, within which its element is stored."""


class Advance(NamedTuple):
    """How far the tasks of an execution have come.

    Parameters:
        started: how many the program has started.
        rounds: for each that has not ended, in which rounds of which loops it is.
    """

    started: int
    rounds: dict[TaskId, tuple[object, ...]]

    def goes_on(self, later: Advance) -> bool:
        """Whether somebody has come any further since.

        Parameters:
            later: how far they have come by then.
        """
        return later.started > self.started or any(
            rounds and self.rounds.get(task, rounds) != rounds
            for task, rounds in later.rounds.items()
        )


def advance_of(execution: Execution) -> Advance:
    """How far the tasks of an execution have come by now."""
    rounds: dict[TaskId, tuple[object, ...]] = {}
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


def _rounds(frames: Iterable[FrameType]) -> Iterator[object]:
    """The rounds of the loops that a task is in.

    Parameters:
        frames: of the task, the outermost first.
    """
    for frame in frames:
        if is_of_library(frame.f_globals.get("__name__")):
            # An executor's thread goes round for ever, but each of its jobs may end.
            continue
        for loop in loops_around(frame.f_code, frame.f_lasti):
            if loop.ends_by_condition:
                return
            yield frame.f_code
            for name in _elements(frame.f_code, loop):
                value = frame.f_locals.get(name)
                yield (type(value), value) if type(value) in PLAIN else id(value)


@lru_cache(maxsize=1024)
def _elements(code: CodeType, loop: Loop) -> tuple[str, ...]:
    """The variables to which a ``for`` loop assigns the elements."""
    names: list[str] = []
    instructions = [each for each in dis.get_instructions(code) if each.offset > loop.first]
    for each in instructions[:_MOST_INSTRUCTIONS]:
        if each.opname.startswith(("STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "STORE_NAME")):
            stored = (each.argval,) if isinstance(each.argval, str) else each.argval
            # The second name of some is of what is loaded, or stored, at once.
            names += stored[:1] if "LOAD" in each.opname else stored
        elif names:
            break
    return tuple(names)
