"""When the events of an execution happened, and which they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bohrbug.model.operation import CHOOSE, Operation, ResourceId, Site, TaskId
from bohrbug.model.ordering import Event, Ordering, What
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace


class Places:
    """Sites of operations, remembered by the identity of their code objects.

    The hash of a code object goes through all of its instructions, so that a
    dictionary of ``(code, offset)`` pairs would cost more than all the rest.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        # The code object is kept with its sites, so that its identity stays its own.
        self._known: dict[tuple[int, int], tuple[Any, Site | None]] = {}

    def where(self, operation: Operation) -> Site | ResourceId:
        """The site of an operation, or its resource if that is not known."""
        place = operation.place
        if isinstance(place, Site):
            return place
        if not isinstance(place, tuple):
            # Unknown, or of another runtime, where looking it up takes long.
            return operation.resource
        code, offset = place
        key = (id(code), offset)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (code, site_of(place))
        site = known[1]
        return operation.resource if site is None else site


@dataclass(frozen=True, slots=True)
class History:
    """When each event of an execution happened: for each :data:`What` its steps in order."""

    steps: dict[What, list[int]]

    def step_of(self, event: Event) -> int | None:
        """The step in which an event happened, or ``None``."""
        steps = self.steps.get(event.what)
        if steps is None or len(steps) < event.occurrence:
            return None
        return steps[event.occurrence - 1]

    def meets(self, ordering: Ordering) -> bool:
        """Whether an ordering was met."""
        first = self.step_of(ordering.first)
        if first is None:
            return False
        second = self.step_of(ordering.second)
        return second is None or first < second


def history_of(trace: Trace, places: Places | None = None) -> History:
    """When each event of an execution happened.

    Parameters:
        trace: the execution.
        places: what is known of sites already; share it between executions.
    """
    where = (places if places is not None else Places()).where
    steps: dict[What, list[int]] = {}
    timed = trace.timed
    for index, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        if operation.kind is CHOOSE:
            continue
        fired = bool(timed[index]) and task not in trace.enabled[index]
        what = (task, operation.kind, where(operation), fired)
        known = steps.get(what)
        if known is None:
            steps[what] = [index]
        else:
            known.append(index)
    return History(steps)


def events_of(trace: Trace, places: Places | None = None) -> list[Event | None]:
    """The event of each step; ``None`` for data choices.

    Parameters:
        trace: the execution.
        places: what is known of sites already; share it between executions.
    """
    where = (places if places is not None else Places()).where
    counts: dict[What, int] = {}
    events: list[Event | None] = []
    for index, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        if operation.kind is CHOOSE:
            events.append(None)
            continue
        fired = bool(trace.timed[index]) and task not in trace.enabled[index]
        place = where(operation)
        what = (task, operation.kind, place, fired)
        count = counts[what] = counts.get(what, 0) + 1
        site = place if isinstance(place, Site) else None
        events.append(Event(task, operation.kind, operation.resource, site, count, fired))
    return events


def pending_events(trace: Trace, places: Places | None = None) -> dict[TaskId, Event]:
    """What each task that did not end was about to do, as the event that it would have been."""
    where = (places if places is not None else Places()).where
    history = history_of(trace, places)
    found: dict[TaskId, Event] = {}
    for task, operation in trace.final_pending.items():
        place = where(operation)
        earlier = history.steps.get((task, operation.kind, place, False), ())
        site = place if isinstance(place, Site) else None
        found[task] = Event(task, operation.kind, operation.resource, site, len(earlier) + 1)
    return found


def data_choices(trace: Trace) -> tuple[tuple[TaskId, tuple[int, ...]], ...]:
    """The values of an execution's data choices, for each task that made any, in order."""
    values: dict[TaskId, list[int]] = {}
    for step in sorted(trace.arities):
        value = trace.choices[step]
        assert isinstance(value, int)
        values.setdefault(trace.tasks[step], []).append(value)
    return tuple((task, tuple(made)) for task, made in sorted(values.items()))


def in_order(orderings: Iterable[Ordering], history: History) -> tuple[Ordering, ...]:
    """Orderings sorted by when they were met, in the order in which a person would tell them."""
    end = float("inf")

    def when(ordering: Ordering) -> tuple[float, float]:
        first = history.step_of(ordering.first)
        second = history.step_of(ordering.second)
        return (end if first is None else first, end if second is None else second)

    return tuple(sorted(orderings, key=when))
