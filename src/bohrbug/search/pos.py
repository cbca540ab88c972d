"""Partial order sampling."""

from __future__ import annotations

from bohrbug.model.operation import Point
from bohrbug.model.plan import PartialOrder, Policy
from bohrbug.search.sampling import ConflictSampler


class PartialOrderSampling(ConflictSampler):
    """POS (Yuan, Yang and Gu, *Partial order aware concurrency sampling*, CAV 2018).

    Each event gets a random priority, and the pending event with the highest is executed; the
    pending ones that conflict with it draw again.  Unlike a random walk it
    does not prefer the partial orders that have many linear ones.  Operations that
    never conflicted are no decisions (Morpheus, Yuan and Yang, ASPLOS 2020).

    Guarantee: see :class:`~bohrbug.search.sampling.ConflictSampler`.  There is none for
    each bug of a given depth, as PCT has: the probability of a single partial
    order falls exponentially with the number of its conflicting events.
    """

    name = "pos"
    title = "POS"

    def policy(self, seed: int, points: frozenset[Point] | None) -> Policy:
        """See :class:`~bohrbug.search.sampling.ConflictSampler`."""
        return PartialOrder(seed, points)
