"""What reads-from fuzzing goes on from: executions that showed something new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import Any

from bohrbug.model.numbering import tell_of_new_numbers
from bohrbug.model.operation import ResourceId
from bohrbug.model.plan import Constraint, ResourceEvent
from bohrbug.model.reads_from import dependences
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT
from bohrbug.search.plain import EventTable
from bohrbug.search.reads_from_draws import Draws, Pair, Readers, Sources, place_of

CONSTRAINTS = 6
"""The most constraints of a plan; few are enough for most bugs, and many exclude each other."""

CORPUS = 1_000
"""Executions that are kept to go on from."""

PAIRS = 1_000
"""Pairs of source and reader that are kept of an execution."""

SOURCES = 200
"""Events that are known as possible sources, for each resource."""

LARGEST_ENERGY = 32
"""Executions in a row that go on from the same one."""

ANY_SHARE = 0.5
"""The part of the plans that goes on from any execution that is kept, be it rare or not."""


@dataclass(slots=True)
class Seen:
    """What an execution showed of who reads from whom.

    Parameters:
        combination: a number for its combination of pairs, the same in every process.
        pairs: who read from whom; ``None`` if the combination is known where this goes.
        sources: events that others may read from, but those that are known there.
    """

    combination: int
    pairs: list[Pair] | None
    sources: list[ResourceEvent]

    def to_json(self, table: EventTable) -> list[Any]:
        """Plain data."""
        return [
            self.combination,
            None
            if self.pairs is None
            else [[table.number(source), table.number(reader)] for source, reader in self.pairs],
            [table.number(event) for event in self.sources],
        ]

    @classmethod
    def from_json(cls, data: list[Any], table: EventTable) -> Seen:
        """What :meth:`to_json` wrote."""
        combination, pairs, sources = data
        return cls(
            combination,
            None
            if pairs is None
            else [(table.event_if_any(source), table.event(reader)) for source, reader in pairs],
            [table.event(number) for number in sources],
        )


@dataclass(slots=True)
class Entry:
    """An execution to go on from.

    Parameters:
        constraints: of its plan.
        pairs: who read from whom in it, as far as tasks are in conflict about it.
        combination: see :class:`Seen`.
        turns: how often it was gone on from.
    """

    constraints: tuple[Constraint, ...]
    pairs: list[Pair]
    combination: int
    turns: int = 0
    _readers: Readers | None = None

    @property
    def readers(self) -> Readers:
        """The pairs by the places of the readers."""
        if self._readers is None:
            self._readers = Readers(self.pairs)
        return self._readers


@dataclass(slots=True, eq=False, weakref_slot=True)
class Knowledge:
    """The combinations of pairs that executions have shown, and what can be read from.

    Two events are the same in a combination if kind and place are, whatever task or turn
    of a loop they are of.

    Parameters:
        executions: by combination, how many showed it.
        sources: what others may read from.
    """

    executions: Counter[int] = field(default_factory=Counter)
    sources: Sources = field(default_factory=lambda: Sources(SOURCES))
    _numbers: dict[object, int] = field(default_factory=dict)
    # The same by the numbers of steps, which takes less time to look up; and what was found
    # among the sources.
    _known_pairs: dict[tuple[int, int], int] = field(default_factory=dict)
    _known_sources: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Numbers are remembered."""
        tell_of_new_numbers(self)

    def forget_numbers(self) -> None:
        """See :class:`~bohrbug.model.numbering.Dependent`."""
        self._known_pairs.clear()
        self._known_sources.clear()

    def look_at(self, trace: Trace, resources: Collection[ResourceId]) -> Seen:
        """What an execution shows beyond what is known; nothing is changed by it.

        Parameters:
            trace: the execution.
            resources: those about which tasks are known to be in conflict.
        """
        pairs: list[Pair] = []
        sources: dict[ResourceEvent, None] = {}
        numbers: set[int] = set()
        known_sources, known_pairs = self._known_sources, self._known_pairs
        for event, source, reads, writes, number, source_number in dependences(
            trace, BRANCHING_LIMIT, resources
        ):
            if writes and (number, event.occurrence) not in known_sources:
                if event in self.sources.of(event.resource):
                    known_sources.add((number, event.occurrence))
                elif not self.sources.is_full(event.resource):
                    sources[event] = None
            if reads and len(pairs) < PAIRS:
                pairs.append((source, event))
                pair = known_pairs.get((source_number, number))
                if pair is None:
                    pair = self._number((place_of(source), place_of(event)))
                    known_pairs[source_number, number] = pair
                numbers.add(pair)
        # Of whole numbers, so the same in every process.
        combination = hash(tuple(sorted(numbers)))
        return Seen(combination, None if combination in self.executions else pairs, list(sources))

    def _number(self, places: object) -> int:
        number = self._numbers.get(places)
        if number is None:
            digest = blake2b(repr(places).encode(), digest_size=7).digest()
            number = self._numbers[places] = int.from_bytes(digest)
        return number

    def merge(self, seen: Seen) -> bool:
        """Count an execution; whether no other has shown its combination."""
        for event in seen.sources:
            self.sources.add(event)
        is_new = seen.combination not in self.executions
        self.executions[seen.combination] += 1
        return is_new


def _joined(constraints: Sequence[Constraint], new: Constraint) -> list[Constraint]:
    """Constraints with a new one, and without those that it rules out: no event reads from two."""
    return [
        *(c for c in constraints if c.reader != new.reader or not (c.holds and new.holds)),
        new,
    ]


class Corpus:
    """Executions to go on from, and whose turn it is.

    Those whose combination is more frequent than the mean are passed over, others get twice
    as many executions each time (the cut-off exponential schedule of AFLFast: Böhme, Pham and
    Roychoudhury, CCS 2016).  What is rare need not lead anywhere, such as a task that gave up
    early: :data:`ANY_SHARE` of the plans goes on from any execution.
    """

    def __init__(self) -> None:
        self.knowledge = Knowledge()
        self._draws = Draws()
        self._entries: list[Entry] = []
        self._turn = 0
        self._current: Entry | None = None
        self._energy = 0

    def __bool__(self) -> bool:
        """Whether there is anything to go on from."""
        return bool(self._entries)

    def merge(self, seen: Seen, constraints: tuple[Constraint, ...]) -> bool:
        """Count an execution, and keep it if its combination is new; whether it is.

        Parameters:
            seen: what it showed.
            constraints: of its plan.
        """
        is_new = self.knowledge.merge(seen)
        if is_new:
            # Who left the pairs out has told of the same combination before.
            assert seen.pairs is not None
            self._keep(Entry(constraints, seen.pairs, seen.combination))
        return is_new

    def _keep(self, entry: Entry) -> None:
        if len(self._entries) < CORPUS:
            self._entries.append(entry)
            return
        executions = self.knowledge.executions
        commonest = max(
            range(CORPUS), key=lambda place: executions[self._entries[place].combination]
        )
        self._entries[commonest] = entry

    def mutant(self, random: Random) -> tuple[Constraint, ...]:
        """The constraints of a plan that goes on from the execution whose turn it is."""
        if random.random() < ANY_SHARE:
            return self._mutated(random.choice(self._entries), random)
        return self._mutated(self._next_entry(), random)

    def _next_entry(self) -> Entry:
        """The execution to go on from: the same again, or the next that is rare enough."""
        if self._current is not None and self._energy > 0:
            self._energy -= 1
            return self._current
        executions = self.knowledge.executions
        mean = executions.total() / len(executions)
        for _ in self._entries:
            entry = self._entries[self._turn % len(self._entries)]
            self._turn += 1
            if executions[entry.combination] <= mean:
                break
        else:
            entry = min(self._entries, key=lambda entry: executions[entry.combination])
        self._energy = min(1 << min(entry.turns, 30), LARGEST_ENERGY) - 1
        entry.turns += 1
        self._current = entry
        return entry

    def _mutated(self, entry: Entry, random: Random) -> tuple[Constraint, ...]:
        """Constraints like those of an entry: one more, one fewer, or one the other way round."""
        constraints = list(entry.constraints)
        dice = random.random()
        if constraints and dice < 0.15:
            del constraints[random.randrange(len(constraints))]
        elif constraints and dice < 0.3:
            old = constraints.pop(random.randrange(len(constraints)))
            constraints = _joined(constraints, old._replace(holds=not old.holds))
        elif entry.pairs:
            new = self._draws.new(entry.readers, self.knowledge.sources, random)
            constraints = _joined(constraints, new)
        return tuple(constraints[-CONSTRAINTS:])

    def to_json(self, table: EventTable) -> dict[str, Any]:
        """Plain data."""
        knowledge = self.knowledge
        current = next(
            (place for place, entry in enumerate(self._entries) if entry is self._current), None
        )
        return {
            "entries": [
                [
                    table.constraints_to_json(entry.constraints),
                    [
                        [table.number(source), table.number(reader)]
                        for source, reader in entry.pairs
                    ],
                    entry.combination,
                    entry.turns,
                ]
                for entry in self._entries
            ],
            "combinations": list(knowledge.executions),
            "executions": list(knowledge.executions.values()),
            "sources": [table.number(event) for event in knowledge.sources],
            "draws": self._draws.to_json(table),
            "turn": self._turn,
            "current": current,
            "energy": self._energy if current is not None else 0,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], table: EventTable) -> Corpus:
        """What :meth:`to_json` wrote."""
        corpus = cls()
        corpus._entries = [
            Entry(
                table.constraints_from_json(constraints),
                [(table.event_if_any(source), table.event(reader)) for source, reader in pairs],
                combination,
                turns,
            )
            for constraints, pairs, combination, turns in data["entries"]
        ]
        knowledge = corpus.knowledge
        knowledge.executions = Counter(
            dict(zip(data["combinations"], data["executions"], strict=True))
        )
        for number in data["sources"]:
            knowledge.sources.add(table.event(number))
        corpus._draws = Draws.from_json(data["draws"], table)
        corpus._turn = data["turn"]
        corpus._current = None if data["current"] is None else corpus._entries[data["current"]]
        corpus._energy = data["energy"]
        return corpus
