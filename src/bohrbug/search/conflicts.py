"""Which operations conflict with another task's, learnt from executions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from bohrbug.model.operation import BEGIN, END, JOIN, SPAWN, Operation, Point, ResourceId, TaskId
from bohrbug.model.site import point_of
from bohrbug.model.trace import Trace
from bohrbug.search.plain import point_from_json, point_to_json

RESOURCES = 100_000
"""Resources that are told apart; whatever touches another counts as conflicting."""

TOUCHES = 500
"""Different touches of a resource that are compared; any more count as conflicting."""

_LIFE = frozenset({SPAWN, BEGIN, END, JOIN})


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

    def conflicts_with(self, other: _Touch) -> bool:
        return (
            self.task != other.task
            and (self.is_write or other.is_write)
            and not (self.is_life and other.is_life)
        )


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
        # The same in the order in which they came.
        self._log: list[tuple[ResourceId, _Touch]] = []
        self._points: set[Point] = set()
        self._by_resource: dict[ResourceId, set[Point]] = {}
        self._frozen: frozenset[Point] = frozenset()

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
        return self._take(_distinct_touches(trace))

    def take_in(self, rows: Iterable[list[Any]]) -> bool:
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
            for other in touches:
                if touch.conflicts_with(other):
                    self._add(resource, touch.point)
                    self._add(resource, other.point)
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


_Touches = tuple[tuple[ResourceId, _Touch], ...]

_latest: tuple[Trace | None, _Touches] = (None, ())


def _distinct_touches(trace: Trace) -> _Touches:
    """Each touch of an execution once, in the order of their first.

    Several strategies may learn from one execution, one directly after the other: the result
    for the latest is kept.
    """
    global _latest
    known, touches = _latest
    if known is not trace:
        touches = tuple(dict.fromkeys(_touches(trace)))
        _latest = (trace, touches)
    return touches


def _touches(trace: Trace) -> Iterator[tuple[ResourceId, _Touch]]:
    operations: list[Operation] = trace.operations
    # Most steps repeat others; telling that by identities costs less than making a touch. All
    # these objects live as long as the trace, so that no two have one address.
    seen = set()
    for task, operation in zip(trace.tasks, operations, strict=True):
        kind, resource, place = operation
        if type(place) is tuple:
            code, offset = place
            key = (task, id(kind), resource, id(code), offset)
            if key in seen:
                continue
            seen.add(key)
        yield resource, _touch(task, operation)
    # What a deadlocked task waited for it could have had, if others had run later.
    for task, operation in trace.final_pending.items():
        yield operation.resource, _touch(task, operation)
    for step, task, resource, is_write in trace.effects:
        yield resource, _Touch(task, point_of(operations[step]), is_write, False)
