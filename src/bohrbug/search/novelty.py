"""What an execution shows that none before it has shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bohrbug.model.happens_before import state_hashes
from bohrbug.model.numbering import Doing, new_neighbours, tell_of_new_numbers
from bohrbug.model.operation import Point
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT
from bohrbug.search.estimates import ClassCounts
from bohrbug.search.plain import point_from_json, point_to_json

Pair = tuple[Point, Point]
"""Two places of which one came directly before the other."""


class Novelty:
    """Tells how new the behaviour of an execution is, compared with those before it.

    Two measures.  The *happens-before class* tells any two executions apart that differ in
    more than the order of independent operations; in a large space every execution is of a new
    class.  A *conflict pair*, two places of which one came directly before the other on some
    resource, in different tasks, is a coarser measure, which stays informative there
    (Wolff, Shi, Duck, Mathur and Roychoudhury, ASPLOS 2024, use pairs of a write and a read).

    Parameters:
        limit: look at so many steps of an execution.
    """

    def __init__(self, limit: int = BRANCHING_LIMIT) -> None:
        self._limit = limit
        self.classes = ClassCounts()
        self._pairs: set[Pair] = set()
        # Two steps that came one directly after the other on a resource, whether that makes
        # a conflict pair or not; see :mod:`~bohrbug.model.numbering`.
        self._known: set[tuple[int, int]] = set()
        tell_of_new_numbers(self)

    def forget_numbers(self) -> None:
        """See :class:`~bohrbug.model.numbering.Dependent`."""
        self._known.clear()

    def of(self, trace: Trace, has_new_pair: bool) -> float:
        """How new the behaviour of the next randomised execution is.

        Parameters:
            trace: the execution.
            has_new_pair: what :meth:`has_new_pair` said of it.

        Returns:
            1.0 if it has a new conflict pair, 0.5 if it is at least of a new class, else 0.0.
        """
        return self.count(self.class_of(trace), has_new_pair)

    def class_of(self, trace: Trace) -> int:
        """What is the same for two executions of one class, in every process."""
        return state_hashes(trace, self._limit)[-1]

    def count(self, known_by: int, has_new_pair: bool) -> float:
        """The same as :meth:`of`, for an execution of another process."""
        is_new_class = self.classes.add(known_by)
        return 1.0 if has_new_pair else 0.5 if is_new_class else 0.0

    def has_new_pair(self, trace: Trace) -> bool:
        """Whether an execution, whoever planned it, shows a conflict pair that none before did."""
        return bool(self.new_pairs(trace))

    def new_pairs(self, trace: Trace) -> list[Pair]:
        """The conflict pairs of an execution that none before it has shown."""
        new: list[Pair] = []
        for before, after in new_neighbours(trace, self._limit, self._known):
            pair = _conflict_pair(before, after)
            if pair is not None and pair not in self._pairs:
                self._pairs.add(pair)
                new.append(pair)
        return new

    def add_pairs(self, pairs: Iterable[Pair]) -> bool:
        """Take in the pairs of an execution of another process; whether one is new."""
        known = len(self._pairs)
        self._pairs.update(pairs)
        return len(self._pairs) > known

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "classes": self.classes.to_json(),
            "pairs": [pair_to_json(pair) for pair in self._pairs],
        }

    def merge(self, data: dict[str, Any]) -> None:
        """Become what :meth:`to_json` wrote."""
        self.classes.merge(data["classes"])
        self._pairs = {pair_from_json(pair) for pair in data["pairs"]}
        self._known.clear()


def _conflict_pair(before: Doing, after: Doing) -> Pair | None:
    is_write = before.operation.kind.is_write or after.operation.kind.is_write
    return (before.point, after.point) if before.task != after.task and is_write else None


def pair_to_json(pair: Pair) -> list[Any]:
    """A conflict pair as a row."""
    return [point_to_json(point) for point in pair]


def pair_from_json(row: list[Any]) -> Pair:
    """The conflict pair that :func:`pair_to_json` wrote."""
    return point_from_json(row[0]), point_from_json(row[1])
