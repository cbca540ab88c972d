"""Selectively uniform random walks."""

from __future__ import annotations

from collections import Counter

from bohrbug.model.numbering import doing, numbers_of, tell_of_new_numbers
from bohrbug.model.operation import Point, TaskId
from bohrbug.model.plan import Policy, WeightedRandom
from bohrbug.model.trace import Trace
from bohrbug.search.divisible import State
from bohrbug.search.own_code import is_in_own_code, own_or_all
from bohrbug.search.plain import point_from_json, point_to_json
from bohrbug.search.sampling import ConflictSampler

ALL_SHARE = 0.5
"""The part of the executions that select all conflicting operations."""


class SelectivelyUniform(ConflictSampler):
    """SURW (Zhao, Wolff, Mathur and Roychoudhury, *Selectively uniform concurrency testing*).

    ASPLOS 2025.  Each interleaving of some *selected* events gets the same
    probability: who does the next one is drawn in proportion to the selected events that the
    tasks have left.  How many they have is counted in a profiling execution: the first that
    shows the task at the place.  With
    probability :data:`ALL_SHARE` all conflicting operations are selected, else
    those at the points where one resource, drawn at random, is conflicted about: half the time
    one that the program's own code is in conflict about (:mod:`~bohrbug.search.own_code`).

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
        # How many events there are, and the place of the execution that they were counted in.
        self._counts: dict[tuple[TaskId, Point], tuple[int, int]] = {}
        # Numbers of steps that were counted in an execution that is not of the sequence.
        self._settled: set[int] = set()
        tell_of_new_numbers(self)
        # What is in effect.
        self._profile: list[tuple[TaskId, Point, int]] = []
        self._resources: list[frozenset[Point]] = []
        self._own_resources: list[frozenset[Point]] = []

    def forget_numbers(self) -> None:
        """See :class:`~bohrbug.model.numbering.Dependent`."""
        self._settled.clear()

    def _learn_at(self, trace: Trace, position: int) -> None:
        super()._learn_at(trace, position)
        # An execution that did not end by itself says nothing of how many events there are.
        if trace.outcome.is_endless and self._counts:
            return
        numbers = Counter(numbers_of(trace))
        if numbers.keys() <= self._settled:
            # No execution comes before those that are not of the sequence.
            return
        counts: Counter[tuple[TaskId, Point]] = Counter()
        for number, count in numbers.items():
            step = doing(number)
            counts[step.task, step.point] += count
        for key, count in counts.items():
            self._count(key, position, count)
        if position < 0:
            self._settled |= numbers.keys()

    def _count(self, key: tuple[TaskId, Point], position: int, count: int) -> None:
        known = self._counts.get(key)
        if known is None or position < known[0]:
            self._counts[key] = (position, count)

    def _take_effect(self) -> None:
        super()._take_effect()
        self._profile = [(task, point, count) for (task, point), (_, count) in self._counts.items()]
        # In an order that does not depend on which execution was seen first.
        conflicts = self._conflicts
        self._take_resources([conflicts.points_of(each) for each in sorted(conflicts.resources)])

    def _take_resources(self, points: list[frozenset[Point]]) -> None:
        self._resources = points
        self._own_resources = [each for each in points if any(map(is_in_own_code, each))]

    def policy(self, seed: int, points: frozenset[Point] | None) -> Policy:
        """See :class:`~bohrbug.search.sampling.ConflictSampler`."""
        selected = self._points
        if self._resources and self._random.random() >= ALL_SHARE:
            candidates = own_or_all(self._own_resources, self._resources, self._random)
            selected = self._random.choice(candidates)
        weights: Counter[TaskId] = Counter()
        for task, point, events in self._profile:
            if point in selected:
                weights[task] += events
        return WeightedRandom(seed, tuple(sorted(weights.items())), selected, points)

    # -- dividing ----------------------------------------------------------------------

    def _effective(self) -> State:
        return {
            **super()._effective(),
            "profile": [[task, point_to_json(point), n] for task, point, n in self._profile],
            "resources": [[point_to_json(point) for point in each] for each in self._resources],
        }

    def _make_effective(self, data: State) -> None:
        super()._make_effective(data)
        self._profile = [(task, point_from_json(point), n) for task, point, n in data["profile"]]
        self._take_resources(
            [frozenset([point_from_json(point) for point in each]) for each in data["resources"]]
        )

    def _learned(self) -> State:
        since = self._generations.begin if self._is_piece else -1
        return {
            **super()._learned(),
            "counts": [
                [task, point_to_json(point), position, count]
                for (task, point), (position, count) in self._counts.items()
                if position >= since
            ],
        }

    def _take_learned(self, data: State) -> None:
        super()._take_learned(data)
        for task, point, position, count in data["counts"]:
            self._count((task, point_from_json(point)), position, count)

    def _become(self, state: State) -> None:
        if not state["is_piece"]:
            self._counts = {}
            self._settled.clear()
        super()._become(state)
