"""Who reads from whom in an execution.

An event *reads* if what it does or gives depends on its resource: all but plain writes to
variables.  It reads *from* the last event before it that changed the resource: a read
from a write, an acquire from the release before it (a hand-over), a get from a put.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from bohrbug.model.numbering import doing, numbers_of
from bohrbug.model.operation import (
    BEGIN,
    CHOOSE,
    CONTINUE,
    END,
    JOIN,
    RELEASE,
    SLEEP,
    SPAWN,
    WRITE,
    YIELD,
    Kind,
    Operation,
    ResourceId,
    TaskId,
)
from bohrbug.model.plan import ResourceEvent
from bohrbug.model.site import point_of, quick_site_of
from bohrbug.model.trace import Trace

_READ_NOTHING: frozenset[Kind] = frozenset(
    # Who begins, ends or releases has no choice of whom it follows, and to go on after that is to
    # do nothing.
    {SPAWN, BEGIN, END, JOIN, RELEASE, CONTINUE, WRITE, CHOOSE, SLEEP, YIELD}
)


class EventCounter:
    """Names the events of one execution in its order."""

    def __init__(self) -> None:
        self._counts: dict[tuple[TaskId, str, ResourceId, object], int] = {}

    def executed(self, task: TaskId, operation: Operation) -> ResourceEvent:
        """The event of an operation that is executed now."""
        key = (task, operation.kind.name, operation.resource, point_of(operation))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return ResourceEvent(*key[:3], quick_site_of(operation.place), count)

    def pending(self, task: TaskId, operation: Operation) -> ResourceEvent:
        """The event that an operation will be."""
        key = (task, operation.kind.name, operation.resource, point_of(operation))
        return ResourceEvent(*key[:3], quick_site_of(operation.place), self._counts.get(key, 0) + 1)


class Dependence(NamedTuple):
    """One step, and what it comes after.

    Parameters:
        event: the step.
        source: the last event before it that changed its resource; ``None`` if none did.
        reads: what the step does or gives depends on the source.
        writes: the step changes its resource.
        number: of the step, see :mod:`~bohrbug.model.numbering`.
        source_number: of the source; -1 if there is none.
    """

    event: ResourceEvent
    source: ResourceEvent | None
    reads: bool
    writes: bool
    number: int
    source_number: int


def dependences(
    trace: Trace, limit: int, resources: Container[ResourceId] | None = None
) -> Iterator[Dependence]:
    """Who reads from whom in an execution, step by step.

    Parameters:
        trace: the execution.
        limit: look at the first so many steps only.
        resources: look only at steps on these; ``None``: at all.
    """
    counts: dict[int, int] = {}
    last: dict[ResourceId, tuple[ResourceEvent | None, int]] = {}
    nothing = (None, -1)
    for number in numbers_of(trace)[:limit]:
        step = doing(number)
        kind, resource, _ = step.operation
        if resources is not None and resource not in resources:
            continue
        count = counts[number] = counts.get(number, 0) + 1
        event = step.event(count)
        source, source_number = last.get(resource, nothing)
        yield Dependence(
            event, source, kind not in _READ_NOTHING, kind.is_write, number, source_number
        )
        if kind.is_write:
            last[resource] = event, number
