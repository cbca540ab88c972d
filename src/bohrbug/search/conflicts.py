"""Which operations conflict with another task's, learnt from executions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from bohrbug.model.numbering import doing, numbers_of, tell_of_new_numbers
from bohrbug.model.operation import BEGIN, END, JOIN, SPAWN, Operation, Point, ResourceId, TaskId
from bohrbug.model.site import point_of
from bohrbug.model.trace import Trace
from bohrbug.search.plain import point_from_json, point_to_json

RESOURCES = 100_000
"""Resources that are told apart; whatever touches another counts as conflicting."""

TOUCHES = 500
"""Different touches of a resource that are compared; any more count as conflicting."""

_LIFE = frozenset({SPAWN, BEGIN, END, JOIN})


_Sort = tuple[Point, bool, bool]


class _Touch(NamedTuple):
    """How a resource was touched.

    Parameters:
        task: by whom.
        point: where.
        is_write: whether its state was changed.
        is_life: a thread was created, began, ended or was joined; among
            themselves these have only one order.
    """

    task: TaskId
    point: Point
    is_write: bool
    is_life: bool

    @property
    def sort(self) -> _Sort:
        """What is the same for tasks that do the same."""
        return self.point, self.is_write, self.is_life


class Conflicts:
    """The points whose operations have conflicted with another task's in any execution.

    Two operations conflict if they are of different tasks, on the same resource,
    and at least one changes it.  They need not follow each other, nor be of one execution: that
    both were seen is enough, as is what a blocked task was about to do at the end.  So whatever
    was met once and could matter is known, and memory that runs out
    makes more points conflict, never fewer.
    """

    def __init__(self) -> None:
        self._touches: dict[ResourceId, dict[_Touch, None]] = {}
        # By resource and sort the task that such touches are of, ``None`` for several: a hundred
        # tasks that do the same are compared as one.
        self._sorts: dict[ResourceId, dict[_Sort, TaskId | None]] = {}
        # All touches in the order in which they came.
        self._log: list[tuple[ResourceId, _Touch]] = []
        self._points: set[Point] = set()
        self._by_resource: dict[ResourceId, set[Point]] = {}
        self._frozen: frozenset[Point] = frozenset()
        # Of steps that were taken in, see :mod:`~bohrbug.model.numbering`.
        self._numbers: set[int] = set()
        tell_of_new_numbers(self)

    def forget_numbers(self) -> None:
        """See :class:`~bohrbug.model.numbering.Dependent`."""
        self._numbers.clear()

    @property
    def points(self) -> frozenset[Point]:
        """The points, for a policy."""
        if len(self._frozen) != len(self._points):
            self._frozen = frozenset(self._points)
        return self._frozen

    @property
    def resources(self) -> list[ResourceId]:
        """The resources that are conflicted about, in the order in which that was seen."""
        return list(self._by_resource)

    def points_of(self, resource: ResourceId) -> frozenset[Point]:
        """Where a resource is touched in conflict with another task."""
        return frozenset(self._by_resource[resource])

    def learn(self, trace: Trace) -> bool:
        """Take in an execution, whoever planned it.

        Returns:
            whether a point was new.
        """
        new = dict.fromkeys(numbers_of(trace)).keys() - self._numbers
        if not (new or trace.final_pending or trace.effects):
            return False
        self._numbers |= new
        return self._take(_touches(trace, new))

    def merge(self, rows: Iterable[list[Any]]) -> bool:
        """Take in what :meth:`since` gave in another process, or in an earlier one.

        Returns:
            whether a point was new.
        """
        return self._take(
            (resource, _Touch(task, point_from_json(point), is_write, is_life))
            for resource, task, point, is_write, is_life in rows
        )

    def since(self, mark: int = 0) -> list[list[Any]]:
        """The touches that were new since so many were :attr:`known`, as plain data."""
        return [
            [resource, touch.task, point_to_json(touch.point), touch.is_write, touch.is_life]
            for resource, touch in self._log[mark:]
        ]

    @property
    def known(self) -> int:
        """How many different touches were seen."""
        return len(self._log)

    def _take(self, found: Iterable[tuple[ResourceId, _Touch]]) -> bool:
        known = len(self._points)
        everything = self._touches
        for resource, touch in found:
            touches = everything.get(resource)
            if touches is None:
                if len(everything) >= RESOURCES:
                    self._add(resource, touch.point)
                    continue
                touches = everything[resource] = {}
            if touch in touches:
                continue
            if len(touches) >= TOUCHES:
                self._add(resource, touch.point)
                continue
            sorts = self._sorts.setdefault(resource, {})
            for (point, is_write, is_life), task in sorts.items():
                is_ordered = is_life and touch.is_life
                if task != touch.task and (is_write or touch.is_write) and not is_ordered:
                    self._add(resource, touch.point)
                    self._add(resource, point)
            if sorts.setdefault(touch.sort, touch.task) != touch.task:
                sorts[touch.sort] = None
            touches[touch] = None
            self._log.append((resource, touch))
        return len(self._points) != known

    def _add(self, resource: ResourceId, point: Point) -> None:
        self._points.add(point)
        if resource in self._by_resource or len(self._by_resource) < RESOURCES:
            self._by_resource.setdefault(resource, set()).add(point)


def _touch(task: TaskId, operation: Operation) -> _Touch:
    kind = operation.kind
    return _Touch(task, point_of(operation), kind.is_write, kind in _LIFE)


def _touches(trace: Trace, new: AbstractSet[int]) -> Iterator[tuple[ResourceId, _Touch]]:
    """How resources were touched in steps with these numbers, and otherwise than in steps."""
    operations: list[Operation] = trace.operations
    for number in dict.fromkeys(numbers_of(trace)) if new else ():
        if number in new:
            task, operation, *_ = doing(number)
            yield operation.resource, _touch(task, operation)
    # What a deadlocked task waited for it could have had, if others had run later.
    for task, operation in trace.final_pending.items():
        yield operation.resource, _touch(task, operation)
    for step, task, resource, is_write in trace.effects:
        yield resource, _Touch(task, point_of(operations[step]), is_write, False)
