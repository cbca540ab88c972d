"""What strategies know, as plain data for their states."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from bohrbug.model.operation import Point, Site
from bohrbug.model.plan import Constraint, ResourceEvent


def point_to_json(point: Point | None) -> Any:
    """A point, or a site that may not be known."""
    return list(point) if isinstance(point, Site) else point


def point_from_json(data: Any) -> Any:
    """What :func:`point_to_json` wrote."""
    return Site(*data) if isinstance(data, list) else data


def random_to_json(random: Random) -> list[Any]:
    """Where a generator of random numbers is."""
    version, numbers, gauss = random.getstate()
    return [version, list(numbers), gauss]


def random_from_json(data: list[Any]) -> Random:
    """The generator that :func:`random_to_json` wrote."""
    version, numbers, gauss = data
    random = Random()
    random.setstate((version, tuple(numbers), gauss))
    return random


class EventTable:
    """Events by number: many things share few of them.

    Parameters:
        rows: what another table has as its :attr:`rows`.
    """

    def __init__(self, rows: Iterable[list[Any]] = ()) -> None:
        self.rows: list[list[Any]] = list(rows)
        self._events = [
            ResourceEvent(task, kind, resource, point_from_json(site), occurrence)
            for task, kind, resource, site, occurrence in self.rows
        ]
        self._numbers = {event: number for number, event in enumerate(self._events)}

    def number(self, event: ResourceEvent | None) -> int | None:
        """The number of an event, which may be a new one."""
        if event is None:
            return None
        number = self._numbers.get(event)
        if number is None:
            number = self._numbers[event] = len(self._events)
            self._events.append(event)
            self.rows.append(
                [
                    event.task,
                    event.kind,
                    event.resource,
                    point_to_json(event.site),
                    event.occurrence,
                ]
            )
        return number

    def event(self, number: int) -> ResourceEvent:
        """The event with a number."""
        return self._events[number]

    def event_if_any(self, number: int | None) -> ResourceEvent | None:
        """The event with a number, ``None`` for none."""
        return None if number is None else self._events[number]

    def constraints_to_json(self, constraints: Iterable[Constraint]) -> list[Any]:
        """Constraints as rows."""
        return [
            [self.number(each.source), self.number(each.reader), each.holds] for each in constraints
        ]

    def constraints_from_json(self, rows: Iterable[list[Any]]) -> tuple[Constraint, ...]:
        """What :meth:`constraints_to_json` wrote."""
        return tuple(
            Constraint(self.event_if_any(source), self.event(reader), holds)
            for source, reader, holds in rows
        )
