"""What an exploration counts, in a form that can be added up and saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from bohrbug.model.conditions import PlaceKey, place_key
from bohrbug.model.operation import Site
from bohrbug.model.outcome import Race
from bohrbug.model.trace import Trace
from bohrbug.runtime.protocol import Executed

Signature = tuple[object, ...]
"""What :meth:`bohrbug.model.outcome.Outcome.signature` gives."""

RaceKey = tuple[Any, ...]
"""The two places of a data race as plain data, sorted; or three, of one over an await."""


def race_key(race: Race) -> RaceKey:
    """What makes two data races the same one, in every process."""
    if race.stale is not None:
        # What it rests on is part of it.
        places = race.first, race.second, race.stale.access
        return _key_of(*(access.operation.place for access in places))
    return _key_of(race.first.operation.place, race.second.operation.place)


@lru_cache(maxsize=1 << 12)
def _key_of(*places: Any) -> RaceKey:
    # Most races are seen again and again.  A trace from a file has sites in place of places.
    keys = {tuple(place) if isinstance(place, Site) else _key(place) for place in places}
    return tuple(sorted(keys, key=repr))


def _key(place: Any) -> PlaceKey | None:
    return None if place is None else place_key(place)


@dataclass(slots=True)
class Figures:
    """Figures of some executions.

    Parameters:
        executions: how many.
        points: scheduling points in the longest one.
        tasks: tasks in the one with most of them.
        diverged: how many could not follow their plan.
        first_divergence: about the first of these, for people.
        longest_passed: steps of the longest one that passed.
        uncontrolled: what ran outside our control, with how often.
        occurrences: failures by signature, with how often.
        races: data races, with how often they were seen.
    """

    executions: int = 0
    points: int = 0
    tasks: int = 0
    diverged: int = 0
    first_divergence: str = ""
    longest_passed: int = 0
    uncontrolled: dict[str, int] = field(default_factory=dict)
    occurrences: dict[Signature, int] = field(default_factory=dict)
    races: dict[RaceKey, int] = field(default_factory=dict)

    def count(self, executed: Executed) -> None:
        """Count one execution; what failed and raced is counted by whoever looks at it."""
        trace = executed.trace
        self.executions += 1
        self.points = max(self.points, len(trace))
        self.tasks = max(self.tasks, executed.tasks)
        if trace.divergence is not None and not executed.nudged:
            self.diverged += 1
            self.first_divergence = self.first_divergence or divergence_words(trace)
        for what, count in trace.uncontrolled.counts.items():
            self.uncontrolled[what] = self.uncontrolled.get(what, 0) + count


def step_limit(longest_passed: int) -> int:
    """Steps after which an execution is far longer than any that ended (CHESS: "abnormally").

    Parameters:
        longest_passed: steps of the longest execution that passed.
    """
    return max(20_000, 20 * longest_passed)


def divergence_words(trace: Trace) -> str:
    """One sentence about a divergence."""
    where = trace.divergence
    assert where is not None
    return (
        f"the test is not deterministic: at step {where.step} of an execution the plan "
        f"asks for {where.expected}, but there is {where.found}"
    )


def counts_to_json(counts: dict[Any, int]) -> list[list[Any]]:
    """Counts with keys that are no strings."""
    return [[_plain(key), count] for key, count in counts.items()]


def _plain(key: Any) -> Any:
    return [_plain(part) for part in key] if isinstance(key, tuple) else key


def tuples(value: Any) -> Any:
    """Undo what JSON makes of tuples."""
    return tuple(tuples(part) for part in value) if isinstance(value, list) else value


def counts_from_json(data: Iterable[list[Any]]) -> dict[Any, int]:
    """What :func:`counts_to_json` wrote."""
    return {tuples(key): count for key, count in data}
