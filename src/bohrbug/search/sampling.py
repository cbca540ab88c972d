"""What the strategies share that draw each execution anew from one distribution."""

from __future__ import annotations

from random import Random

from bohrbug.model.plan import Plan, Point, Policy
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted
from bohrbug.search.conflicts import Conflicts
from bohrbug.search.divisible import VERSION, State, checked_state
from bohrbug.search.plain import point_from_json, point_to_json
from bohrbug.search.seeds import Indices, Seeds, generation_of

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


def rounded_up(probability: float) -> str:
    """Two significant digits, never less than the number itself."""
    text = f"{probability:.1e}"
    if float(text) < probability:
        mantissa, _, exponent = text.partition("e")
        text = f"{float(mantissa) + 0.1:.1f}e{exponent}"
    number = min(float(text), 1.0)
    return f"{number:.12f}".rstrip("0").rstrip(".") if number >= 1e-9 else f"{number:.1e}"


class ConflictSampler:
    """Samples executions with a policy that skips operations which never conflict.

    The first execution is non-preemptive, to learn from.  Later ones learn too: an operation
    is a decision from the generation on that follows the one in which it was seen to
    conflict (:func:`~bohrbug.search.seeds.generation_of`), so that the executions of a
    generation can be made in any order, by several processes.  In
    :data:`UNFILTERED_SHARE` of the executions every operation is a decision, so that no
    schedule has probability 0.

    Guarantee: the executions since the policy's data last changed are independent and
    have one distribution, so :func:`unseen_probability` holds for them.

    Parameters:
        seed: determines all plans.
        executions: stop after so many, the first one included, or never if ``None``.
        generation: the most executions after which what was learned takes effect, a power of 2.
    """

    name: str
    title: str
    """What its executions are called in sentences, such as ``POS``."""
    learns_slowly = False
    exhausted = False
    """Never: another execution may always show another schedule."""
    complete = False

    def __init__(
        self, seed: int = 0, executions: int | None = None, generation: int = GENERATION
    ) -> None:
        self._seeds = Seeds(seed)
        self._left = Indices([(0, None)])
        # Counts down in ``observe``; what is handed out counts as made.
        self._remaining = executions
        self._longest = generation
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._plan: Plan | None = None
        self._tally = Tally()
        self._left.forget_gaps()
        self._first = self._left.first or 0
        self._turn = 0
        self._learned_at = -1
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
        """A generation begins: what was learned takes effect."""
        self._points = self._conflicts.points

    def _begin_generation(self, turn: int) -> None:
        begin, _ = generation_of(turn, self._longest)
        if begin != self._learned_at:
            self._learned_at = begin
            if self._points != self._conflicts.points:
                self._steady = 0
            self._take_effect()

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and self._remaining != 0:
            index = self._left.first
            if not self._has_learned:
                self._plan = Plan()
            elif index is not None:
                self._begin_generation(index - self._first)
                self._random = Random(self._seeds.at(index))
                seed = self._random.getrandbits(32)
                everywhere = self._random.random() < UNFILTERED_SHARE
                points = None if everywhere else self._points
                self._plan = Plan((), self.policy(seed, points))
        return self._plan

    @property
    def _has_learned(self) -> bool:
        """Whether the first execution was made; a piece is only handed out after it."""
        return self._tally.executions > 0 or self._learned_at >= 0

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._plan = None
        if self._remaining is not None:
            self._remaining -= 1
        position = -1
        if self._has_learned:
            position = self._left.first or 0
            self._steady += 1
            self._turn += 1
            self._left.advance()
        self._tally.count(trace, BRANCHING_LIMIT)
        self._learn_at(trace, position)

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

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return {
            **self._piece(self._left.ranges()),
            "is_piece": self._is_piece,
            "remaining": self._remaining,
            "turn": self._turn,
            "steady": self._steady,
            "tally": self._tally.to_json(),
            "learned": self._learned(),
        }

    _is_piece = False

    def _piece(self, ranges: list[list[int]]) -> State:
        return {
            "strategy": self.name,
            "version": VERSION,
            "is_piece": True,
            "left": ranges,
            "first": self._first,
            "learned_at": self._learned_at,
            "effective": self._effective(),
            "remaining": None,
            "turn": 0,
            "steady": 0,
            "tally": Tally().to_json(),
            "learned": None,
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
        self._conflicts.take_in(data["touches"])

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

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`.

        A worker keeps what it knows of conflicts from one piece to the next.
        """
        state = checked_state(state, self.name)
        self._plan = None
        self._is_piece = state["is_piece"]
        if not self._is_piece:
            self._conflicts = Conflicts()
        self._mark = self._conflicts.known if self._is_piece else 0
        self._left = Indices(state["left"])
        self._first = state["first"]
        self._learned_at = state["learned_at"]
        self._make_effective(state["effective"])
        self._remaining = state["remaining"]
        self._turn, self._steady = state["turn"], state["steady"]
        self._tally = Tally.from_json(state["tally"])
        if state["learned"] is not None:
            self._take_learned(state["learned"])

    def hand_out(self, most: int) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`.

        No piece reaches into the next generation, and that one begins only when all of
        this one has come back.  Near its end pieces are small, so that nobody waits for long.
        """
        self._plan = None
        first = self._left.first
        if first is None or not self._has_learned:
            return None
        turn = first - self._first
        begin, end = generation_of(turn, self._longest)
        if begin != self._learned_at:
            if self._turn < turn:
                return None
            self._begin_generation(turn)
        most = min(most, max((end - turn) // 4, 4), end - turn)
        if self._remaining is not None:
            most = min(most, self._remaining)
        taken = self._left.take(most)
        if taken is None:
            return None
        if self._remaining is not None:
            self._remaining -= taken[1] - taken[0]
        return self._piece([taken])

    def split(self) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        self._plan = None
        taken = self._left.halve()
        return None if taken is None else self._piece([taken])

    def take_in(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self._plan = None
        self._left.take_in(state["left"])
        if self._remaining is not None:
            self._remaining += sum(end - start for start, end in state["left"])
        self._turn += state["turn"]
        self._steady += state["steady"]
        self._tally.add(Tally.from_json(state["tally"]))
        if state["learned"] is not None:
            self._take_learned(state["learned"])

    def position(self) -> int | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return self._left.first if self._has_learned else None
