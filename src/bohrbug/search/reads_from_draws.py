"""Which constraint a plan of reads-from fuzzing gets next: what was asked the least often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any

from bohrbug.model.operation import ACQUIRE, RELEASE, ResourceId
from bohrbug.model.plan import Constraint, ResourceEvent
from bohrbug.search.own_code import is_in_own_code, own_or_all
from bohrbug.search.plain import EventTable

READERS = 16
"""Places of readers that a draw chooses among, as looking at all could take long."""

POSITIVE_SHARE = 0.75
"""The part of the new constraints that say from what an event reads, not from what it does not."""

Pair = tuple[ResourceEvent | None, ResourceEvent]

Question = tuple[object, object, bool]
"""A constraint by its places, those of the source and of the reader, and whether it is to hold."""


def place_of(event: ResourceEvent | None) -> object:
    """What is the same for events that differ only in task, resource or turn of a loop."""
    return None if event is None else (event.kind, event.site or event.resource)


class Readers:
    """Who read from whom in an execution, by the places of the readers.

    Parameters:
        pairs: who read from whom.
    """

    __slots__ = ("_given_by", "by_place", "own_places", "places")

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.by_place: dict[object, list[Pair]] = {}
        # What an acquisition reads from: what gave back, also where several may have it at once.
        self._given_by = {RELEASE.name}
        for source, reader in pairs:
            self.by_place.setdefault(place_of(reader), []).append((source, reader))
            if source is not None and reader.kind == ACQUIRE.name:
                self._given_by.add(source.kind)
        self.places = list(self.by_place)
        self.own_places = [
            place for place, found in self.by_place.items() if is_in_own_code(found[0][1].site)
        ]

    def may_read(
        self, reader: ResourceEvent, other: ResourceEvent | None, source: ResourceEvent | None
    ) -> bool:
        """Whether a reader may read from another source than it did, as far as is known."""
        if other == source:
            return False
        if other is None:
            return True
        # What is taken has to be given back first.
        return other.task != reader.task and (
            reader.kind != ACQUIRE.name or other.kind in self._given_by
        )


class Sources:
    """What can be read from, by resource and place.

    Parameters:
        most: events that are kept for each resource.
    """

    __slots__ = ("_by_resource", "_most", "_places")

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_resource: dict[ResourceId, dict[ResourceEvent, None]] = {}
        self._places: dict[ResourceId, dict[object, list[ResourceEvent]]] = {}

    def of(self, resource: ResourceId) -> Collection[ResourceEvent]:
        """Those of a resource, in the order in which they were seen."""
        return self._by_resource.get(resource, {}).keys()

    def is_full(self, resource: ResourceId) -> bool:
        """Whether no more are kept."""
        return len(self.of(resource)) >= self._most

    def add(self, event: ResourceEvent) -> None:
        """Keep one, as long as there is room."""
        events = self._by_resource.setdefault(event.resource, {})
        if event not in events and len(events) < self._most:
            events[event] = None
            places = self._places.setdefault(event.resource, {})
            places.setdefault(place_of(event), []).append(event)

    def places_of(
        self, resource: ResourceId
    ) -> Iterator[tuple[object, Sequence[ResourceEvent | None]]]:
        """The places of a resource's, each with the events there; the first is before all."""
        yield None, (None,)
        yield from self._places.get(resource, {}).items()

    def __iter__(self) -> Iterator[ResourceEvent]:
        """All, those of a resource together."""
        return (event for events in self._by_resource.values() for event in events)


class Draws:
    """New constraints for executions that are gone on from.

    The paper's mutations choose among pairs of places, so that what one task does is not lost
    among what a hundred others do.  Of the questions that an execution leaves open (may this
    reader read from there; may it not read from where it did) one is drawn that was asked the
    least often until now, whichever execution it was asked of.  Of ``n`` questions each has been
    asked after ``n`` draws; independent draws would leave out more than a third of them.
    Half of them are about readers in the program's own code (:mod:`~bohrbug.search.own_code`).
    """

    def __init__(self) -> None:
        self._asked: Counter[Question] = Counter()
        # A constraint of each question, for whoever writes them down.
        self._examples: dict[Question, Constraint] = {}

    def new(self, readers: Readers, sources: Sources, random: Random) -> Constraint:
        """A constraint that an execution did not meet.

        Parameters:
            readers: who read from whom in it; at least one did.
            sources: what is known that can be read from.
            random: decides between questions that were asked equally often, and which
                events of the places are taken.
        """
        places = own_or_all(readers.own_places, readers.places, random)
        if len(places) > READERS:
            places = random.sample(places, READERS)
        pairs = {place: random.choice(readers.by_place[place]) for place in places}
        questions = [
            question
            for place, pair in pairs.items()
            for question in _questions(place, pair, readers, sources)
        ]
        wanted = random.random() < POSITIVE_SHARE
        questions = [question for question in questions if question[2] is wanted] or questions
        least = min(self._asked[question] for question in questions)
        question = random.choice([each for each in questions if self._asked[each] == least])
        source, reader = pairs[question[1]]
        if question[2]:
            events = dict(sources.places_of(reader.resource))[question[0]]
            others = [other for other in events if readers.may_read(reader, other, source)]
            constraint = Constraint(random.choice(others), reader)
        else:
            constraint = Constraint(source, reader, False)
        self._asked[question] += 1
        self._examples.setdefault(question, constraint)
        return constraint

    def to_json(self, table: EventTable) -> list[Any]:
        """Plain data."""
        return [
            [*table.constraints_to_json([constraint])[0], self._asked[question]]
            for question, constraint in self._examples.items()
        ]

    @classmethod
    def from_json(cls, rows: Iterable[list[Any]], table: EventTable) -> Draws:
        """What :meth:`to_json` wrote."""
        draws = cls()
        for *row, asked in rows:
            [constraint] = table.constraints_from_json([row])
            question = place_of(constraint.source), place_of(constraint.reader), constraint.holds
            draws._examples[question] = constraint
            draws._asked[question] = asked
        return draws


def _questions(place: object, pair: Pair, readers: Readers, sources: Sources) -> Iterator[Question]:
    """What can be asked about the reader of a pair, which is at that place."""
    source, reader = pair
    for other, events in sources.places_of(reader.resource):
        if any(readers.may_read(reader, event, source) for event in events):
            yield other, place, True
    yield place_of(source), place, False
