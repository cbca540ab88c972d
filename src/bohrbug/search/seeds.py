"""One sequence of seeds for all plans of a randomised strategy, however they are divided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

KEPT = 256
"""Seeds that are at hand before the last one asked for, at least."""


class Seeds:
    """The seeds of all plans: number ``i`` is the same in every process.

    Parameters:
        seed: determines them all.
    """

    __slots__ = ("_first", "_random", "_recent", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._begin()

    def _begin(self) -> None:
        self._random = Random(self._seed)
        self._first = 0
        self._recent: list[int] = []

    def at(self, index: int) -> int:
        """The seed with a number from 0; near the last one asked for it is cheapest."""
        if index < self._first:
            self._begin()
        recent = self._recent
        while index - self._first >= len(recent):
            if len(recent) == 2 * KEPT:
                del recent[:KEPT]
                self._first += KEPT
            recent.append(self._random.getrandbits(32))
        return recent[index - self._first]


def _or_0(start: int | None) -> int:
    return start or 0


class Indices:
    """Which numbers of the one sequence of plans are left to do.

    Parameters:
        ranges: ``[first, after the last]``, in any order; ``None`` for no end.
    """

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Iterable[Sequence[int | None]] = ((0, None),)) -> None:
        self._ranges: list[list[Any]] = sorted(
            [start, end] for start, end in ranges if end is None or _or_0(start) < end
        )

    @property
    def first(self) -> int | None:
        """The least number that is left."""
        return self._ranges[0][0] if self._ranges else None

    def first_ones(self, most: int) -> range:
        """The least numbers that are left and follow each other, at most so many."""
        if not self._ranges:
            return range(0)
        start, end = self._ranges[0]
        return range(start, start + most if end is None else min(start + most, end))

    def ranges(self) -> list[list[Any]]:
        """Plain data that :class:`Indices` takes."""
        return [list(each) for each in self._ranges]

    def advance(self) -> None:
        """The first one is done."""
        first = self._ranges[0]
        first[0] += 1
        if first[0] == first[1]:
            self._ranges.pop(0)

    def take(self, most: int) -> list[int] | None:
        """Part with the first numbers that follow each other, at most so many: ``[from, to]``."""
        if most < 1 or not self._ranges:
            return None
        start, end = self._ranges[0]
        if end is not None and end - start <= most:
            self._ranges.pop(0)
            return [start, end]
        self._ranges[0][0] = start + most
        return [start, start + most]

    def merge(self, ranges: Iterable[Sequence[int | None]]) -> None:
        """Add numbers that are not among those that are left."""
        merged: list[list[Any]] = []
        for start, end in sorted([*self._ranges, *(list(each) for each in ranges)]):
            if merged and merged[-1][1] == start:
                merged[-1][1] = end
            elif end is None or start < end:
                merged.append([start, end])
        self._ranges = merged

    def forget_gaps(self) -> None:
        """Leave out what is left before the last range: where all begins anew, in one stretch."""
        del self._ranges[:-1]
