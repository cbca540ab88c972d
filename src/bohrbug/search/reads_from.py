"""Greybox search by who reads from whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from bohrbug.model.operation import ResourceId
from bohrbug.model.plan import Constraint, Plan, ReadsFrom, ResourceEvent
from bohrbug.model.plan_json import plan_from_json, plan_to_json
from bohrbug.model.reads_from import dependences
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted
from bohrbug.search.conflicts import Conflicts
from bohrbug.search.divisible import VERSION, AsAWhole, State, checked_state
from bohrbug.search.plain import (
    EventTable,
    point_from_json,
    point_to_json,
    random_from_json,
    random_to_json,
)
from bohrbug.search.sampling import UNFILTERED_SHARE

CONSTRAINTS = 6
"""The most constraints of a plan; few are enough for most bugs, and many exclude each other."""

UNCONSTRAINED_SHARE = 0.1
"""The part of the executions without constraints, as POS."""

CORPUS = 1_000
"""Executions that are kept to go on from."""

PAIRS = 1_000
"""Pairs of source and reader that are kept of an execution."""

SOURCES = 200
"""Events that are known as possible sources, for each resource."""

LARGEST_ENERGY = 32
"""Executions in a row that go on from the same one."""

Pair = tuple[ResourceEvent | None, ResourceEvent]


@dataclass(slots=True)
class _Entry:
    """An execution to go on from.

    Parameters:
        constraints: of its plan.
        pairs: who read from whom in it, as far as tasks are in conflict about it.
        combination: the number of its combination of pairs.
        turns: how often it was gone on from.
    """

    constraints: tuple[Constraint, ...]
    pairs: list[Pair]
    combination: int
    turns: int = 0


@dataclass(slots=True)
class _Coverage:
    """The pairs and combinations of pairs that executions have shown.

    Two events are the same here if kind and place are, whatever task or turn
    of a loop they are of.
    """

    pairs: dict[object, int] = field(default_factory=dict)
    combinations: dict[int, int] = field(default_factory=dict)
    executions: Counter[int] = field(default_factory=Counter)

    def count(self, pairs: list[Pair]) -> tuple[int, bool]:
        """The number of a combination, and whether it is new."""
        numbers = {
            self.pairs.setdefault((_place(source), _place(reader)), len(self.pairs))
            for source, reader in pairs
        }
        # Of whole numbers, so the same in every process.
        digest = hash(tuple(sorted(numbers)))
        new = digest not in self.combinations
        number = self.combinations.setdefault(digest, len(self.combinations))
        self.executions[number] += 1
        return number, new


def _place(event: ResourceEvent | None) -> object:
    return None if event is None else (event.kind, event.site or event.resource)


class ReadsFromFuzzing(AsAWhole):
    """RFF (Wolff, Shi, Duck, Mathur and Roychoudhury, *Greybox fuzzing for concurrency testing*).

    ASPLOS 2024.  What is mutated is no schedule but a set of constraints, each of
    which says that one event reads from another, or not; the policy
    :class:`~bohrbug.model.plan.ReadsFrom` meets them as far as it can and leaves the rest to
    POS.  An execution with a combination of pairs that no other had is kept to go on from.
    Those whose combination is more frequent than the mean are passed over, others get twice
    as many executions each time (the cut-off exponential schedule of AFLFast: Böhme, Pham and
    Roychoudhury, CCS 2016).

    A hand-over of a lock is a pair like that of a write and a read, and so is what
    happens between the operations of queues, events and conditions.  Constraints are on what
    tasks have been in conflict about; in :data:`UNFILTERED_SHARE` of the executions
    every operation is a decision.

    Guarantee: none; the search goes where it has found something new.

    Parameters:
        seed: determines all plans.
        executions: stop after so many, or never if ``None``.
    """

    name = "rff"
    learns_slowly = True
    exhausted = False
    """Never: another execution may always show another schedule."""
    complete = False

    def __init__(self, seed: int = 0, executions: int | None = None) -> None:
        self._random = Random(seed)
        self._remaining = executions
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self.is_out = False
        self._plan: Plan | None = None
        self._tally = Tally()
        self._conflicts = Conflicts()
        self._coverage = _Coverage()
        self._corpus: list[_Entry] = []
        self._sources: dict[ResourceId, dict[ResourceEvent, None]] = {}
        self._turn = 0
        self._current: _Entry | None = None
        self._energy = 0
        self._since_new = 0

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and self._remaining != 0 and not self.is_out:
            self._plan = Plan((), self._policy()) if self._corpus else Plan()
        return self._plan

    def _policy(self) -> ReadsFrom:
        random = self._random
        constraints: tuple[Constraint, ...] = ()
        if random.random() >= UNCONSTRAINED_SHARE:
            constraints = self._mutated(self._entry())
        everywhere = random.random() < UNFILTERED_SHARE
        points = None if everywhere else self._conflicts.points
        return ReadsFrom(random.getrandbits(32), constraints, points)

    def _entry(self) -> _Entry:
        """The execution to go on from: the same again, or the next that is rare enough."""
        if self._current is not None and self._energy > 0:
            self._energy -= 1
            return self._current
        executions = self._coverage.executions
        mean = executions.total() / len(executions)
        for _ in self._corpus:
            entry = self._corpus[self._turn % len(self._corpus)]
            self._turn += 1
            if executions[entry.combination] <= mean:
                break
        else:
            entry = min(self._corpus, key=lambda entry: executions[entry.combination])
        self._energy = min(1 << min(entry.turns, 30), LARGEST_ENERGY) - 1
        entry.turns += 1
        self._current = entry
        return entry

    def _mutated(self, entry: _Entry) -> tuple[Constraint, ...]:
        """Constraints like those of an entry: one more, one fewer, or one the other way round."""
        random = self._random
        constraints = list(entry.constraints)
        dice = random.random()
        if constraints and dice < 0.15:
            del constraints[random.randrange(len(constraints))]
        elif constraints and dice < 0.3:
            place = random.randrange(len(constraints))
            constraints[place] = replace(constraints[place], holds=not constraints[place].holds)
        elif entry.pairs:
            new = self._new_constraint(entry)
            # One event can't read from two.
            constraints = [
                each
                for each in constraints
                if each.reader != new.reader or not (each.holds and new.holds)
            ]
            constraints.append(new)
        return tuple(constraints[-CONSTRAINTS:])

    def _new_constraint(self, entry: _Entry) -> Constraint:
        """That an event of an entry reads from another event than it did."""
        random = self._random
        source, reader = random.choice(entry.pairs)
        others = [
            other
            for other in (None, *self._sources.get(reader.resource, ()))
            if other != source and (other is None or other.task != reader.task)
        ]
        if others and random.random() < 0.6:
            return Constraint(random.choice(others), reader)
        return Constraint(source, reader, False)

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        policy = self._plan.policy if self._plan is not None else None
        self._plan = None
        if self._remaining is not None:
            self._remaining -= 1
        self._tally.count(trace, BRANCHING_LIMIT)
        new = self._take_in(trace, policy.constraints if isinstance(policy, ReadsFrom) else ())
        self._since_new = 0 if new else self._since_new + 1

    def learn(self, trace: Trace) -> None:
        """Take in an execution that another strategy has planned; it may be gone on from."""
        self._take_in(trace, ())

    def learn_from(self, lessons: State) -> None:
        """See :class:`~bohrbug.search.strategy.Taught`: only where tasks conflict."""
        self._conflicts.take_in(lessons["touches"])

    def _take_in(self, trace: Trace, constraints: tuple[Constraint, ...]) -> bool:
        """Whether an execution shows a combination that no other did; then it is kept."""
        self._conflicts.learn(trace)
        pairs = self._pairs(trace)
        combination, new = self._coverage.count(pairs)
        if new:
            self._keep(_Entry(constraints, pairs, combination))
        return new

    def _pairs(self, trace: Trace) -> list[Pair]:
        """Who read from whom about what tasks are in conflict; the sources become known."""
        conflicted = set(self._conflicts.resources)
        pairs: list[Pair] = []
        for event, source, reads, writes in dependences(trace, BRANCHING_LIMIT):
            if event.resource not in conflicted:
                continue
            if writes:
                sources = self._sources.setdefault(event.resource, {})
                if len(sources) < SOURCES:
                    sources[event] = None
            if reads and len(pairs) < PAIRS:
                pairs.append((source, event))
        return pairs

    def _keep(self, entry: _Entry) -> None:
        if len(self._corpus) < CORPUS:
            self._corpus.append(entry)
            return
        executions = self._coverage.executions
        commonest = max(
            range(CORPUS), key=lambda place: executions[self._corpus[place].combination]
        )
        self._corpus[commonest] = entry

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        text = counted(self._tally.executions, "execution") + " guided by reads-from"
        if not self._tally.executions:
            return text
        text += f", with {counted(len(self._coverage.combinations), 'combination')} of reads-from"
        if self._since_new:
            text += f", none of them new in the last {self._since_new:,}"
        return f"{text}; no bound holds for what they missed"

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"{counted(len(self._coverage.combinations), 'combination')} of reads-from"

    # -- saving ------------------------------------------------------------------------

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        table = EventTable()
        corpus = [
            [
                table.constraints_to_json(entry.constraints),
                [[table.number(source), table.number(reader)] for source, reader in entry.pairs],
                entry.combination,
                entry.turns,
            ]
            for entry in self._corpus
        ]
        current = next(
            (place for place, entry in enumerate(self._corpus) if entry is self._current), None
        )
        coverage = self._coverage
        state = {
            "strategy": self.name,
            "version": VERSION,
            "is_out": self.is_out,
            "random": random_to_json(self._random),
            "remaining": self._remaining,
            "tally": self._tally.to_json(),
            "touches": self._conflicts.since(),
            "corpus": corpus,
            "pairs": [_pair_to_json(pair) for pair in coverage.pairs],
            "combinations": list(coverage.combinations),
            "executions": [coverage.executions[n] for n in coverage.combinations.values()],
            "sources": [
                [table.number(event) for event in events] for events in self._sources.values()
            ],
            "turn": self._turn,
            "current": current,
            "energy": self._energy if current is not None else 0,
            "since_new": self._since_new,
            "plan": None if self._plan is None else plan_to_json(self._plan),
        }
        state["events"] = table.rows
        return state

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self.restart()
        self.is_out = state["is_out"]
        self._random = random_from_json(state["random"])
        self._remaining = state["remaining"]
        self._tally = Tally.from_json(state["tally"])
        self._conflicts.take_in(state["touches"])
        table = EventTable(state["events"])
        self._corpus = [
            _Entry(
                table.constraints_from_json(constraints),
                [(table.event_if_any(source), table.event(reader)) for source, reader in pairs],
                combination,
                turns,
            )
            for constraints, pairs, combination, turns in state["corpus"]
        ]
        coverage = self._coverage
        for pair in state["pairs"]:
            coverage.pairs[_pair_from_json(pair)] = len(coverage.pairs)
        for number, digest in enumerate(state["combinations"]):
            coverage.combinations[digest] = number
            coverage.executions[number] = state["executions"][number]
        for numbers in state["sources"]:
            events = [table.event(number) for number in numbers]
            if events:
                self._sources[events[0].resource] = dict.fromkeys(events)
        self._turn = state["turn"]
        self._current = None if state["current"] is None else self._corpus[state["current"]]
        self._energy = state["energy"]
        self._since_new = state["since_new"]
        self._plan = None if state["plan"] is None else plan_from_json(state["plan"])


def _pair_to_json(pair: Any) -> list[Any]:
    return [None if place is None else [place[0], point_to_json(place[1])] for place in pair]


def _pair_from_json(data: list[Any]) -> Any:
    return tuple(None if row is None else (row[0], point_from_json(row[1])) for row in data)
