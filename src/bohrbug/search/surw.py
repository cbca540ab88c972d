"""Selectively uniform random walks."""

from __future__ import annotations

from collections import Counter

from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Point, Policy, WeightedRandom
from bohrbug.model.site import point_of
from bohrbug.model.trace import Trace
from bohrbug.search.sampling import ConflictSampler

ALL_SHARE = 0.5
"""The part of the executions that select all conflicting operations."""


class SelectivelyUniform(ConflictSampler):
    """SURW (Zhao, Wolff, Mathur and Roychoudhury, *Selectively uniform concurrency testing*).

    ASPLOS 2025.  Each interleaving of some *selected* events gets the same
    probability: who does the next one is drawn in proportion to the selected events that the
    tasks have left.  How many they have is counted in a profiling execution: the first, and
    after a new conflict the execution that showed it.  With
    probability :data:`ALL_SHARE` all conflicting operations are selected, else
    those at the points where one resource, drawn at random, is conflicted about.

    Guarantee: see :class:`~bohrbug.search.sampling.ConflictSampler`.  If no task blocks and
    the numbers of events are always those counted, then among the executions that select the
    same events each interleaving of those has the same probability; with ``L`` of them,
    ``N`` such executions miss a given one with probability ``(1 - 1 / L)**N``.
    """

    name = "surw"
    title = "SURW"

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        self._profile: Counter[tuple[TaskId, Point]] = Counter()

    def learn(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.sampling.ConflictSampler`."""
        new = self._conflicts.learn(trace)
        if new:
            self._steady = 0
        # An execution that did not end by itself says nothing of how many events there are.
        endless = trace.outcome.kind in (OutcomeKind.LIVELOCK, OutcomeKind.STEP_LIMIT)
        if not self._profile or (new and not endless):
            pairs = zip(trace.tasks, trace.operations, strict=True)
            self._profile = Counter([(task, point_of(operation)) for task, operation in pairs])

    def policy(self, seed: int, points: frozenset[Point] | None) -> Policy:
        """See :class:`~bohrbug.search.sampling.ConflictSampler`."""
        resources = self._conflicts.resources
        selected = self._conflicts.points
        if resources and self._random.random() >= ALL_SHARE:
            selected = self._conflicts.points_of(self._random.choice(resources))
        weights: Counter[TaskId] = Counter()
        for (task, point), events in self._profile.items():
            if point in selected:
                weights[task] += events
        return WeightedRandom(seed, tuple(sorted(weights.items())), selected, points)
