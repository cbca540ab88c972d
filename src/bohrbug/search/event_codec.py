"""Events as plain data: what a process calls by number is called by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bohrbug.search.footprint import EVERYTHING, Event, Footprint
from bohrbug.search.races_of_trace import RaceFinder
from bohrbug.search.wakeup_tree import Branch

_NAMED_LATE = re.compile(r"before:(?:\d+|resumed)\.\d")
"""An object older than the execution that one process came to after it was forked.

Another one may call it otherwise, so that nothing can be said of what conflicts with it.
"""


class EventWriter:
    """Turns events into rows that share a table of footprints.

    Parameters:
        races: knows the names.
    """

    def __init__(self, races: RaceFinder) -> None:
        self._races = races
        self._numbers: dict[Footprint, int] = {}
        self.footprints: list[list[list[str]] | None] = []
        """The table: the resources read and written, ``None`` for all."""

    def event(self, event: Event) -> list[Any]:
        """One event."""
        task, choice, footprint = event
        return [self._races.name(task), choice, self._number(footprint)]

    def events(self, events: Iterable[Event]) -> list[list[Any]]:
        """Several events."""
        return [self.event(event) for event in events]

    def _number(self, footprint: Footprint) -> int:
        number = self._numbers.get(footprint)
        if number is None:
            number = self._numbers[footprint] = len(self.footprints)
            self.footprints.append(self._names(footprint))
        return number

    def _names(self, footprint: Footprint) -> list[list[str]] | None:
        if footprint is EVERYTHING:
            return None
        reads, writes = [list(self._races.resources(mask)) for mask in footprint]
        if any(_NAMED_LATE.match(name) for name in (*reads, *writes)):
            return None
        return [reads, writes]

    def branches(self, branches: Iterable[Branch]) -> list[list[Any]]:
        """Wakeup trees."""
        return [
            [
                self.events(branch.events),
                branch.uncertain,
                branch.weight,
                self.branches(branch.branches),
            ]
            for branch in branches
        ]


class EventReader:
    """Turns rows into events again.

    Parameters:
        races: gives names their numbers.
        footprints: the table that an :class:`EventWriter` has made.
    """

    def __init__(self, races: RaceFinder, footprints: list[list[list[str]] | None]) -> None:
        self._races = races
        self._footprints = [
            EVERYTHING if names is None else races.footprint(*names) for names in footprints
        ]

    def event(self, row: list[Any]) -> Event:
        """One event."""
        task, choice, number = row
        return Event(self._races.number(task), choice, self._footprints[number])

    def events(self, rows: Iterable[list[Any]]) -> list[Event]:
        """Several events."""
        return [self.event(row) for row in rows]

    def branches(self, rows: Iterable[list[Any]]) -> list[Branch]:
        """Wakeup trees."""
        return [
            Branch(self.events(events), uncertain, weight, self.branches(branches))
            for events, uncertain, weight, branches in rows
        ]
