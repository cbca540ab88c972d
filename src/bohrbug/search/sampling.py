"""What the strategies share that draw each execution anew from one distribution."""

from __future__ import annotations

from random import Random

from bohrbug.model.operation import Point
from bohrbug.model.plan import Plan, Policy
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted
from bohrbug.search.conflicts import Conflicts
from bohrbug.search.divisible import State
from bohrbug.search.drawn import DrawnInGenerations
from bohrbug.search.estimates import rounded_up
from bohrbug.search.generations import SMALLEST_PIECE, Generations
from bohrbug.search.plain import point_from_json, point_to_json
from bohrbug.search.seeds import Seeds

CONFIDENCE = 0.95
"""Of the statements about what was not seen."""

UNFILTERED_SHARE = 0.1
"""The part of the executions in which every operation is a decision."""

GENERATION = 512
"""Executions after which what was learned takes effect, at the latest."""


def unseen_probability(executions: int) -> float:
    """What fails more often than this was seen, with :data:`CONFIDENCE`.

    Of ``n`` independent executions none shows what each shows with probability ``p``
    with probability ``(1 - p)**n``; solved for ``p``.  About ``3 / n``.

    Parameters:
        executions: ``n``; with 0 nothing is known and the result is 1.
    """
    return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / executions) if executions else 1.0


class ConflictSampler(DrawnInGenerations):
    """Samples executions with a policy that skips operations which never conflict.

    The first execution is non-preemptive, to learn from.  Later ones learn too: an operation
    is a decision from the generation on that follows the one in which it was seen to
    conflict (:mod:`bohrbug.search.generations`), so that the executions of a
    generation can be made in any order, by several processes.  In
    :data:`UNFILTERED_SHARE` of the executions every operation is a decision, so that no
    schedule has probability 0.

    Guarantee: the executions since the policy's data last changed are independent and
    have one distribution, so :func:`unseen_probability` holds for them.

    Parameters:
        seed: determines all plans.
        executions: stop after so many, the first one included, or never if ``None``.
        generation: the most executions after which what was learned takes effect, a power of 2.
        smallest_piece: see :class:`~bohrbug.search.generations.Generations`.
    """

    name: str
    title: str
    """What its executions are called in sentences, such as ``POS``."""

    def __init__(
        self,
        seed: int = 0,
        executions: int | None = None,
        generation: int = GENERATION,
        smallest_piece: int = SMALLEST_PIECE,
    ) -> None:
        self._seeds = Seeds(seed)
        self._generations = Generations(executions, generation, smallest_piece=smallest_piece)
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._plan: Plan | None = None
        self._tally = Tally()
        self._generations.restart()
        self._conflicts = Conflicts()
        self._steady = 0
        # What is in effect in this generation.
        self._points: frozenset[Point] = frozenset()
        self._random = Random(0)
        # How much of the conflicts the first process knows, in a worker.
        self._mark = 0

    def policy(self, seed: int, points: frozenset[Point] | None) -> Policy:
        """The policy of the next execution.

        Parameters:
            seed: of the policy.
            points: those that are decisions, or ``None`` for all.
        """
        raise NotImplementedError

    def learn(self, trace: Trace) -> None:
        """Take in an execution, whoever planned it."""
        self._learn_at(trace, -1)

    def _learn_at(self, trace: Trace, position: int) -> None:  # noqa: ARG002
        """Take in an execution by its place in the sequence; -1 if it is not of the sequence."""
        self._conflicts.learn(trace)

    def _take_effect(self) -> None:
        if self._points != self._conflicts.points:
            self._steady = 0
            self._points = self._conflicts.points

    def _plan_at(self, index: int) -> Plan:
        self._random = Random(self._seeds.at(index))
        seed = self._random.getrandbits(32)
        everywhere = self._random.random() < UNFILTERED_SHARE
        points = None if everywhere else self._points
        return Plan((), self.policy(seed, points))

    @property
    def _has_learned(self) -> bool:
        return self._tally.executions > 0 or self._generations.has_begun

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._plan = None
        position = self.position()
        self._generations.count(position is not None)
        if position is not None:
            self._steady += 1
        self._tally.count(trace, BRANCHING_LIMIT)
        self._learn_at(trace, -1 if position is None else position)

    @property
    def unseen_probability(self) -> float:
        """What one execution shows with a higher probability was seen (95 % confidence)."""
        return unseen_probability(self._since_change)

    @property
    def _since_change(self) -> int:
        return self._steady if self._points == self._conflicts.points else 0

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = max(self._tally.executions - 1, 0)
        text = counted(executions, f"{self.title} execution")
        if steady := self._since_change:
            text += (
                f", {steady:,} of them since the last new conflict: a failure that one shows"
                f" with probability {rounded_up(self.unseen_probability)} or more would have been"
                f" seen ({CONFIDENCE:.0%} confidence)"
            )
        return text

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        points = counted(len(self._conflicts.points), "conflicting place")
        executions = max(self._tally.executions - 1, 0)
        return f"{counted(executions, f'{self.title} execution')}, {points}"

    # -- dividing ----------------------------------------------------------------------

    def _all(self) -> State:
        return {**super()._all(), "is_piece": self._is_piece}

    _is_piece = False

    def _piece(self, generations: State) -> State:
        return {
            **generations,
            "is_piece": True,
            "effective": self._effective(),
        }

    def _effective(self) -> State:
        """What is in effect in this generation, as plain data."""
        return {"points": [point_to_json(point) for point in self._points]}

    def _make_effective(self, data: State) -> None:
        """Let what :meth:`_effective` gave be in effect."""
        self._points = frozenset([point_from_json(point) for point in data["points"]])

    def _learned(self) -> State:
        """What was learned: all, or in a worker what the first process does not know."""
        return {"touches": self._conflicts.since(self._mark)}

    def _take_learned(self, data: State) -> None:
        """Take in what :meth:`_learned` gave."""
        self._conflicts.merge(data["touches"])

    @property
    def known(self) -> int:
        """How much it has learned of conflicts; more when there is something new."""
        return self._conflicts.known

    def lessons(self) -> State:
        """See :class:`~bohrbug.search.strategy.Taught`: what was learned since the last time."""
        lessons = self._learned()
        self._mark = self._conflicts.known
        return lessons

    def learn_from(self, lessons: State) -> None:
        """See :class:`~bohrbug.search.strategy.Taught`."""
        self._take_learned(lessons)

    def _become(self, state: State) -> None:
        self._plan = None
        self._is_piece = state["is_piece"]
        if not self._is_piece:
            # A worker keeps what it knows of conflicts from one piece to the next.
            self._conflicts = Conflicts()
        self._mark = self._conflicts.known if self._is_piece else 0
        self._generations.restore(state)
        self._make_effective(state["effective"])
        self._steady = 0
        self._tally = Tally()

    def _figures(self) -> State:
        return {**super()._figures(), "steady": self._steady, "learned": self._learned()}

    def _add_figures(self, figures: State) -> None:
        super()._add_figures(figures)
        self._steady += figures["steady"]
        self._take_learned(figures["learned"])
