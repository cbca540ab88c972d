"""Numbers for what tasks do: what several learn from one execution is worked out once.

Two steps of any executions have the same number if the same task does an operation of the same
kind at the same place to the same resource.  Comparing numbers takes a fraction of the time that
it takes to compare what they stand for.  They are this process's own: nothing that is kept or sent
elsewhere, and no choice, may depend on them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

from bohrbug.accelerator import with_fast_path
from bohrbug.model.operation import Kind, Operation, Point, ResourceId, Site, TaskId
from bohrbug.model.plan import ResourceEvent
from bohrbug.model.site import point_of, quick_site_of
from bohrbug.model.trace import Trace

MOST_NUMBERS = 1 << 17
"""Steps that are told apart; after so many all numbers are given anew."""


class Doing(NamedTuple):
    """What a number stands for.

    Parameters:
        task: who does it.
        operation: what it does; one of all that are alike.
        point: where.
        events: it, done for the first time in an execution, for the second time and so on.
    """

    task: TaskId
    operation: Operation
    point: Point
    events: list[ResourceEvent]

    def event(self, occurrence: int) -> ResourceEvent:
        """It, done for the so-many-th time in an execution, from 1."""
        events = self.events
        while len(events) < occurrence:
            kind, resource, place = self.operation
            site = quick_site_of(place)
            events.append(ResourceEvent(self.task, kind.name, resource, site, len(events) + 1))
        return events[occurrence - 1]


_following = itertools.count()
_doings: dict[int, Doing] = {}
_numbers: dict[tuple[TaskId, Kind, ResourceId, Point], int] = {}
# The same by the identity of code objects, which takes less time to look up; each entry keeps its
# code object alive, so that no other gets its address.
_quick_numbers: dict[tuple[TaskId, int, ResourceId, int, int], tuple[int, Any]] = {}

_latest: tuple[Trace | None, list[int]] = (None, [])


class Dependent(Protocol):
    """Somebody who remembers numbers."""

    def forget_numbers(self) -> None:
        """All numbers are given anew: those that are remembered mean nothing any more."""
        ...


_dependents: WeakSet[Dependent] = WeakSet()


def tell_of_new_numbers(dependent: Dependent) -> None:
    """Have somebody told, as long as it lives, when all numbers are given anew."""
    _dependents.add(dependent)


def doing(number: int) -> Doing:
    """What a number stands for; only for numbers of the trace that was numbered last."""
    return _doings[number]


def numbers_of(trace: Trace) -> list[int]:
    """The numbers of the steps of an execution, which must not be changed.

    Several strategies learn from one execution, one directly after the other: the result
    for the latest is kept.
    """
    global _latest
    known, numbers = _latest
    if known is not trace:
        if len(_doings) > MOST_NUMBERS:
            _begin_anew()
        numbers = numbered(trace.tasks, trace.operations, _quick_numbers, _number)
        _latest = (trace, numbers)
    return numbers


@with_fast_path
def numbered(
    tasks: list[TaskId],
    operations: list[Operation],
    quick_numbers: dict[Any, tuple[int, Any]],  # noqa: ARG001
    number: Callable[[TaskId, Operation], int],
) -> list[int]:
    """The numbers of some steps.

    Parameters:
        tasks, operations: of the steps.
        quick_numbers: by identities, for where identities are cheap.
        number: of one step.
    """
    return [number(*step) for step in zip(tasks, operations, strict=True)]


@with_fast_path
def neighbours(
    numbers: list[int], doings: dict[int, Doing], known: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Different steps that came one directly after the other on a resource.

    Parameters:
        numbers: of the steps of an execution.
        doings: what they stand for.
        known: pairs that are not wanted; those that are found are added.
    """
    found: list[tuple[int, int]] = []
    last: dict[ResourceId, int] = {}
    for number in numbers:
        resource = doings[number].operation.resource
        before = last.get(resource)
        last[resource] = number
        if before is not None and before != number and (before, number) not in known:
            known.add((before, number))
            found.append((before, number))
    return found


def new_neighbours(
    trace: Trace, limit: int, known: set[tuple[int, int]]
) -> list[tuple[Doing, Doing]]:
    """What different steps came one directly after the other on a resource, but for known ones.

    Parameters:
        trace: the execution.
        limit: look at the first so many steps only.
        known: the pairs of numbers that are not wanted; those that are found are added.
    """
    numbers = numbers_of(trace)
    if len(numbers) > limit:
        numbers = numbers[:limit]
    return [
        (_doings[before], _doings[after]) for before, after in neighbours(numbers, _doings, known)
    ]


def _begin_anew() -> None:
    for table in (_doings, _numbers, _quick_numbers):
        table.clear()
    for dependent in list(_dependents):
        dependent.forget_numbers()


def _number(task: TaskId, operation: Operation) -> int:
    kind, resource, place = operation
    if not isinstance(place, tuple) or isinstance(place, Site):
        return _number_by_value(task, operation)
    code, offset = place
    key = (task, id(kind), resource, id(code), offset)
    known = _quick_numbers.get(key)
    if known is None:
        known = _quick_numbers[key] = _number_by_value(task, operation), code
    return known[0]


def _number_by_value(task: TaskId, operation: Operation) -> int:
    point = point_of(operation)
    key = (task, operation.kind, operation.resource, point)
    number = _numbers.get(key)
    if number is None:
        number = _numbers[key] = next(_following)
        _doings[number] = Doing(task, operation, point, [])
    return number
