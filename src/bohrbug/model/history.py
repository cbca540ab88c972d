"""When the events of an execution happened, and which they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bohrbug.model.operation import CHOOSE, Site, TaskId
from bohrbug.model.ordering import Event, Ordering, What
from bohrbug.model.site import point_of
from bohrbug.model.trace import Trace


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

    def meets_turned(self, ordering: Ordering) -> bool:
        """Whether both events of an ordering happened, the second one first."""
        first = self.step_of(ordering.first)
        second = self.step_of(ordering.second)
        return first is not None and second is not None and second < first


def history_of(trace: Trace) -> History:
    """When each event of an execution happened.

    Parameters:
        trace: the execution.
    """
    steps: dict[What, list[int]] = {}
    for index, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        if operation.kind is CHOOSE:
            continue
        what = (task, operation.kind, point_of(operation), trace.has_fired(index))
        known = steps.get(what)
        if known is None:
            steps[what] = [index]
        else:
            known.append(index)
    return History(steps)


def events_of(trace: Trace) -> list[Event | None]:
    """The event of each step; ``None`` for data choices.

    Parameters:
        trace: the execution.
    """
    counts: dict[What, int] = {}
    events: list[Event | None] = []
    for index, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        if operation.kind is CHOOSE:
            events.append(None)
            continue
        fired = trace.has_fired(index)
        place = point_of(operation)
        what = (task, operation.kind, place, fired)
        count = counts[what] = counts.get(what, 0) + 1
        site = place if isinstance(place, Site) else None
        events.append(Event(task, operation.kind, operation.resource, site, count, fired))
    return events


def pending_events(trace: Trace) -> dict[TaskId, Event]:
    """What each task that did not end was about to do, as the event that it would have been."""
    history = history_of(trace)
    found: dict[TaskId, Event] = {}
    for task, operation in trace.final_pending.items():
        place = point_of(operation)
        earlier = history.steps.get((task, operation.kind, place, False), ())
        site = place if isinstance(place, Site) else None
        found[task] = Event(task, operation.kind, operation.resource, site, len(earlier) + 1)
    return found


def with_places(orderings: Iterable[Ordering], trace: Trace) -> tuple[Ordering, ...]:
    """Orderings of events of a native program, with the places that were looked up since.

    While it is explored its events are counted by what they act on, as addresses say nothing of
    the source; its trace, once read back, has files and lines.

    Parameters:
        orderings: met by the execution.
        trace: the execution.
    """
    events = [each for each in (*events_of(trace), *pending_events(trace).values()) if each]
    by_resource: dict[What, list[Event]] = {}
    for event in events:
        what = (event.task, event.kind, event.resource, event.fired)
        by_resource.setdefault(what, []).append(event)
    as_they_are = set(events)

    def placed(event: Event) -> Event:
        alike = by_resource.get(event.what, ())
        if event in as_they_are or len(alike) < event.occurrence:
            return event
        return alike[event.occurrence - 1]

    return tuple(Ordering(placed(each.first), placed(each.second)) for each in orderings)


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
