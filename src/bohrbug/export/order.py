"""From a failing execution to the order of turns that has to be forced on ordinary threads.

A turn is a stretch of steps of one task.  It begins where the task was about to do the first of
them: at an instruction, at the task's begin or end, or in the middle of waiting for a condition.
"""

from __future__ import annotations

import dis
import linecache
import sys
import sysconfig
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any

from bohrbug.export.refusals import CannotExport
from bohrbug.model.operation import BEGIN, END, EXIT, SLEEP, WAKE, Operation, TaskId
from bohrbug.model.trace import Trace


class Moment(Enum):
    """Where a turn begins if that is at no instruction of the program."""

    START = "start"
    """The task begins."""
    END = "end"
    """The task has done all but end."""
    WOKEN = "woken"
    """It waits for a condition, was notified, and has not got the lock back yet."""
    INSIDE = "inside"
    """It is in the middle of a call that it began in its last turn, and waits there by itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction of the program, told in a way that holds for other interpreters, too.

    Parameters:
        file: the end of its path, with ``/`` between folders.
        line: from 1.
        text: of that line, without the spaces around it.
        columns: where its source text begins and ends, from 0.
        instruction: the name of the instruction.
    """

    file: str
    line: int
    text: str
    columns: tuple[int, int]
    instruction: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A stretch of steps of one task.

    Parameters:
        task: whose.
        begin: where it pauses until it is its turn.
        times: on which arrival at that place since its last turn.
        about_to: what it is about to do, for people.
        preempted: its last turn was ended although it could have gone on: a preemption.
        has_timeout: a timeout fires in it, or it sleeps: that it stands still does not end it.
    """

    task: TaskId
    begin: Place | Moment
    times: int = 1
    about_to: str = ""
    preempted: bool = False
    has_timeout: bool = False


@dataclass(frozen=True, slots=True)
class ForcedOrder:
    """What has to be forced so that a test fails.

    Parameters:
        turns: one after the other.
        names: what each task runs, for people.
        beside: the tasks that go on beside a deadlock.
    """

    turns: tuple[Turn, ...]
    names: tuple[tuple[TaskId, str], ...] = ()
    beside: tuple[TaskId, ...] = ()

    @property
    def preemptions(self) -> int:
        """How many turns end at a preemption."""
        return sum(turn.preempted for turn in self.turns)


def order_of(trace: Trace) -> ForcedOrder:
    """The order of turns of an execution.

    Behind its steps come turns of the tasks that had not ended: what they were about to do is
    held up until the failure has happened, or is what they wait for in a deadlock.

    Parameters:
        trace: of an execution in this process, whose places are code objects with offsets.

    Raises:
        CannotExport: a turn begins where ordinary threads can't be paused.
    """
    turns = []
    starts: dict[TaskId, int] = {}
    of_task: dict[TaskId, list[int]] = {}
    # Who goes on beside a deadlock is not held up.
    until, _ = trace.rounds()
    beside = tuple(dict.fromkeys(trace.tasks[until:]))
    for step, task in enumerate(trace.tasks[:until]):
        before = of_task.setdefault(task, [])
        before.append(step)
        if step and task == trace.tasks[step - 1]:
            continue
        since = before[before.index(starts[task]) : -1] if task in starts else []
        begin = _begin(trace, trace.operations[step], since)
        if begin is None:
            raise CannotExport(
                f"task {task} goes on before {_about(trace, trace.operations[step])}, and no "
                "instruction of the program is known there at which a thread could be paused"
            )
        times = _arrivals(trace, [*since, step], begin) if since else 1
        about = _about(trace, trace.operations[step])
        preempted, has_timeout = _was_preempted(trace, since), _has_timeout(trace, step)
        turns.append(Turn(task, begin, times, about, preempted, has_timeout))
        starts[task] = step
    for task, operation in trace.final_pending.items():
        before = of_task.get(task, [])
        since = before[before.index(starts[task]) :] if task in starts else []
        begin = None if operation.resource == EXIT else _begin(trace, operation, since)
        if task in beside:
            continue
        # Nobody notifies who waits for a condition in a deadlock: it stays there by itself.
        waits = begin is Moment.WOKEN and any(task == each.task for each in trace.outcome.blocked)
        if begin is not None and not waits:
            times = 1 + (_arrivals(trace, since, begin) if since else 0)
            turns.append(Turn(task, begin, times, _about(trace, operation)))
    names = tuple((task, info.target or info.name) for task, info in trace.task_infos.items())
    return ForcedOrder(tuple(turns), names, beside)


def _was_preempted(trace: Trace, since: list[int]) -> bool:
    """Whether the turn of these steps ended at a preemption."""
    after = since[-1] + 1 if since else len(trace)
    return after < len(trace) and trace.is_preemption(after, trace.tasks[after])


def _has_timeout(trace: Trace, step: int) -> bool:
    """Whether a timeout fires, or ends a sleep, in the turn that begins at this step."""
    task = trace.tasks[step]
    for later in range(step, len(trace)):
        if trace.tasks[later] != task:
            break
        if task not in trace.enabled[later] or trace.operations[later].kind is SLEEP:
            return True
    return False


def _begin(trace: Trace, operation: Operation, since: list[int]) -> Place | Moment | None:
    """Where a task stands that is about to do an operation.

    Parameters:
        trace: the execution.
        operation: the first of its turn.
        since: the steps of its last turn; none if this is the first.
    """
    if not since or operation.kind is BEGIN:
        return Moment.START
    if operation.kind is END or operation.resource == EXIT:
        return Moment.END
    if operation.kind is WAKE:
        return Moment.WOKEN
    if _is_same_call(trace.operations[since[-1]], operation):
        return Moment.INSIDE
    return place_of(operation)


def _is_same_call(before: Operation, operation: Operation) -> bool:
    """Whether one call does both: a call in a loop does the same each time."""
    place = place_of(operation)
    return place is not None and place == place_of(before) and before.kind is not operation.kind


def _arrivals(trace: Trace, since: list[int], begin: Place | Moment) -> int:
    """How often a task comes to a place in these steps, of which the first begins its turn."""
    if isinstance(begin, Moment):
        return 1
    operations = [trace.operations[step] for step in since]
    return sum(
        place_of(operation) == begin and not _is_same_call(before, operation)
        for before, operation in pairwise(operations)
    )


def place_of(operation: Operation) -> Place | None:
    """The instruction that does an operation; ``None`` where it is not known."""
    place: Any = operation.place
    if not isinstance(place, tuple) or len(place) != 2 or not isinstance(place[0], CodeType):
        return None
    code, offset = place
    return _places(code).get(offset)


@lru_cache(maxsize=1024)
def _places(code: CodeType) -> dict[int, Place]:
    file = short_path(code.co_filename)
    found = {}
    instructions = list(dis.get_instructions(code))
    ends = [each.offset for each in instructions[1:]] + [len(code.co_code)]
    for each, end in zip(instructions, ends, strict=True):
        where = each.positions
        if where is None or where.lineno is None:
            continue
        if where.col_offset is None or where.end_col_offset is None:
            continue
        columns = (where.col_offset, where.end_col_offset)
        text = linecache.getline(code.co_filename, where.lineno).strip()
        # Python 3.11 alone has two instructions for a call; the second has its name elsewhere.
        name = "CALL" if each.opname == "PRECALL" else each.opname
        place = Place(file, where.lineno, text, columns, name)
        # A caller stands in the caches of its call on Python 3.12.
        found.update(dict.fromkeys(range(each.offset, end, 2), place))
    return found


_LIBRARIES = ("purelib", "platlib", "stdlib", "platstdlib")


@lru_cache(maxsize=1024)
def short_path(filename: str) -> str:
    """The end of a path that is the same on other machines.

    Of a file of an installed package or of the standard library it begins with the package.
    """
    path = Path(filename)
    roots = [Path(each) for each in (*sys.path, *map(sysconfig.get_path, _LIBRARIES)) if each]
    below = [root for root in (Path.cwd(), *roots) if path.is_relative_to(root)]
    if not below:
        return path.name
    # What is nearest to the file is most likely to be the same elsewhere.
    return path.relative_to(max(below, key=lambda root: len(root.parts))).as_posix()


def _about(trace: Trace, operation: Operation) -> str:
    resource = trace.resources.get(operation.resource)
    return f"{operation.kind.name} {resource.label if resource else operation.resource}"
