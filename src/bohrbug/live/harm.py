"""How close a fragment came to harm: what it did is measured, and fragments are ranked by that.

A failure is the worst.  Before that counts what is new: that a task reads what another wrote, at
two places that were no such pair before.  Then what wears a program's margins down: many tasks that
wait, a lock that is held for long, a queue that fills up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bohrbug.model.operation import ACQUIRE, GET, PUT, RELEASE, Operation

Pair = tuple[object, object]
"""Where something was written, and where another task read it, or wrote over it."""


class End(str, Enum):
    """How a fragment ended."""

    WINDOW = "reached the end of their window"
    FAILED = "failed"
    CRASHED = "crashed"
    OUTSIDE = "ended where they would have been seen outside"
    WAITS = "ended where they would have waited for the outside"
    DONE = "reached the end of the program"
    LONG = "took too long"
    LOST = "were lost"


HARMFUL = {End.CRASHED: 2, End.FAILED: 1}
"""The ends that are failures, the worst with the largest number."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """What a fragment did to the margins of a program.

    Parameters:
        pairs: who read what whom had written, by their places.
        waiting: tasks that waited at the same time, at most.
        held: steps that others did while a lock was held, at most.
        fullest: by how many entries a queue grew, at most.
    """

    pairs: frozenset[Pair] = frozenset()
    waiting: int = 0
    held: int = 0
    fullest: int = 0


NO_PRESSURE = Pressure()
"""What a fragment of which nothing is known did."""

Row = tuple[Any, ...]
"""Choice, task, operation, enabled tasks and more of a step."""


def pressure_of(rows: Iterable[Row], tasks: int, name: Callable[[Any], object]) -> Pressure:
    """Measure what some steps did.

    Parameters:
        rows: the steps.
        tasks: how many were alive.
        name: what a place is called in pairs.
    """
    writers: dict[str, tuple[str, object]] = {}
    taken: dict[str, tuple[str, int]] = {}
    entries: dict[str, int] = {}
    pairs: set[Pair] = set()
    held = fullest = 0
    fewest = tasks
    for number, row in enumerate(rows):
        task, operation = row[1], row[2]
        fewest = min(fewest, len(row[3]))
        if operation is None:
            continue
        kind, resource, place = operation
        here = name(place)
        before = writers.get(resource)
        if before is not None and before[0] != task:
            pairs.add((before[1], here))
        if kind.is_write:
            writers[resource] = (task, here)
        if kind is ACQUIRE:
            taken[resource] = (task, number)
        elif kind is RELEASE and resource in taken:
            held = max(held, number - taken.pop(resource)[1])
        elif kind is PUT or kind is GET:
            entries[resource] = entries.get(resource, 0) + (1 if kind is PUT else -1)
            fullest = max(fullest, entries[resource])
    return Pressure(frozenset(pairs), max(tasks - fewest, 0), held, fullest)


Score = tuple[int, int, int, int, int]
"""What fragments are ranked by, the more important first."""


NO_SCORE: Score = (-1, 0, 0, 0, 0)
"""Of what is not to be retired."""


def score(end: End, pressure: Pressure, known: Collection[Pair]) -> Score:
    """How bad a fragment was.

    Sizes count by their order of magnitude only: else chance alone would decide.

    Parameters:
        end: how it ended.
        pressure: what it did.
        known: the pairs that were seen before.
    """
    fresh = sum(pair not in known for pair in pressure.pairs)
    return (
        HARMFUL.get(end, 0),
        fresh,
        pressure.waiting.bit_length(),
        pressure.held.bit_length(),
        pressure.fullest.bit_length(),
    )


def worst(scores: Sequence[Score]) -> int:
    """Which of some fragments to retire, by its index.

    The first is what comes without any interference; another takes its place only if it is worse.
    Of those that are equally bad the first is taken.
    """
    return max(range(len(scores)), key=lambda index: (scores[index], -index))


def conflict(operations: Iterable[Operation | None]) -> bool:
    """Whether two of the operations that tasks are about to do are on one resource, and one writes.

    Where they are, what comes next depends on the order.
    """
    seen: dict[str, bool] = {}
    for operation in operations:
        if operation is None:
            continue
        kind, resource, _ = operation
        before = seen.get(resource)
        if before is not None and (before or kind.is_write):
            return True
        seen[resource] = bool(before) or kind.is_write
    return False
