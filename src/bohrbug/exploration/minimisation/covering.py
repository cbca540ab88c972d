"""The fewest sets that cover all there is: which orderings rule out all passing executions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import combinations
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

EXACT_UP_TO = 3
"""Covers of up to so many sets are the smallest there are; larger ones are found greedily."""

MOST_COMBINATIONS = 50_000
"""Combinations looked at for the smallest cover before the greedy one is taken."""


def smallest_cover(
    sets: Mapping[T, int],
    everything: int,
    largest: int,
    cost: Callable[[tuple[T, ...]], int] = len,
) -> list[T] | None:
    """The fewest of some sets whose union is everything.

    Parameters:
        sets: the sets as bits, the preferred ones first.
        everything: what has to be covered, as bits.
        largest: the largest number of sets that is of use.
        cost: of two covers with equally many sets the one that costs less is preferred,
            then the one whose sets come first.

    Returns:
        The chosen ones; ``None`` if there are none.
    """
    if not everything:
        return []
    useful = _undominated({name: bits & everything for name, bits in sets.items()})
    names = list(useful)
    place = {name: number for number, name in enumerate(names)}
    tried = 0
    for size in range(1, min(largest, EXACT_UP_TO) + 1):
        best: tuple[int, int, tuple[T, ...]] | None = None
        for chosen in combinations(names, size):
            tried += 1
            union = 0
            for name in chosen:
                union |= useful[name]
            if union == everything:
                found = (cost(chosen), sum(place[name] for name in chosen), chosen)
                if best is None or found[:2] < best[:2]:
                    best = found
            if tried > MOST_COMBINATIONS:
                break
        if best is not None:
            return list(best[2])
    chosen_ones, covered = greedy_cover(useful, everything, largest)
    return chosen_ones if covered == everything else None


def greedy_cover(sets: Mapping[T, int], everything: int, largest: int) -> tuple[list[T], int]:
    """Sets that cover as much as possible, each the one that adds most, and what they cover."""
    chosen: list[T] = []
    covered = 0
    while covered != everything and len(chosen) < largest:
        best = max(sets, key=lambda name: (sets[name] & ~covered).bit_count(), default=None)
        if best is None or not sets[best] & everything & ~covered:
            break
        chosen.append(best)
        covered |= sets[best] & everything
    # What came early may have become needless.
    for name in list(chosen):
        rest = 0
        for other in chosen:
            if other != name:
                rest |= sets[other] & everything
        if rest == covered:
            chosen.remove(name)
    return chosen, covered


def _undominated(sets: Mapping[T, int]) -> dict[T, int]:
    """Of equal sets the first one, and no set that is part of another."""
    first: dict[int, T] = {}
    for name, bits in sets.items():
        if bits:
            first.setdefault(bits, name)
    return {
        name: bits
        for bits, name in first.items()
        if not any(bits != other and bits & other == bits for other in first)
    }
