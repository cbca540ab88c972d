"""A piece of the work of ``auto``, which is one of a member, and what came of it in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.divisible import State
from bohrbug.search.estimates import log_weight
from bohrbug.search.novelty import Novelty, pair_to_json
from bohrbug.search.portfolio import Member
from bohrbug.search.strategy import Foresighted
from bohrbug.search.surw import SelectivelyUniform


@dataclass(slots=True)
class Piece:
    """A piece of one member, in the process that has it.

    Parameters:
        member: its number.
        charged: executions that the member was charged with when the piece was handed out.
        made: executions.
        seen: of each execution its class, if it was drawn at random or is to be compared with
            those that were, and the conflict pairs that were new to the process.
        weights: of random walks, for the number of schedules.
        lessons: see :class:`~bohrbug.search.strategy.Taught`.
        tasks, steps: the most that an execution had.
    """

    member: int
    charged: int
    made: int = 0
    seen: list[Any] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    lessons: list[State] = field(default_factory=list)
    tasks: int = 0
    steps: int = 0

    def to_json(self, state: State) -> State:
        """Plain data.

        Parameters:
            state: of the member.
        """
        return {
            "piece": self.member,
            "charged": self.charged,
            "made": self.made,
            "seen": self.seen,
            "weights": self.weights,
            "lessons": self.lessons,
            "state": state,
        }

    @classmethod
    def from_json(cls, state: State) -> Piece:
        """The piece that :meth:`to_json` wrote."""
        names = ("piece", "charged", "made", "seen", "weights", "lessons")
        return cls(*(state[name] for name in names))

    def learn(self, lessons: State) -> None:
        """Add lessons; the numbers are kept once."""
        if self.lessons and "touches" not in lessons:
            self.lessons[-1] |= lessons
        else:
            self.lessons.append({"touches": [], "counts": [], **lessons})


class PieceWork:
    """What a worker does: a piece of one member, and notes for the first process.

    Parameters:
        piece: the piece.
        member: that it is of.
        is_random: whether that is a randomised one.
        is_compared: or the one whose classes are compared with those met at random.
        novelty: what the worker has seen, in this piece and those before.
        pupil: learns from all executions of the worker, whichever member has planned them.
    """

    def __init__(
        self,
        piece: Piece,
        member: Member,
        is_random: bool,
        is_compared: bool,
        novelty: Novelty,
        pupil: SelectivelyUniform,
    ) -> None:
        self._piece = piece
        self._member = member
        strategy = self._strategy = member.strategy
        # Asked once, as whether a class follows a protocol takes long to find out.
        self._foresighted = strategy if isinstance(strategy, Foresighted) else None
        self._is_random = is_random
        self._tells_class = is_random or is_compared
        self._novelty = novelty
        self._pupil = pupil

    def next_plan(self) -> Plan | None:
        """The next plan; its turns end with what it was charged with, the rest goes back."""
        piece = self._piece
        return None if piece.made >= piece.charged else self._strategy.next_plan()

    def lookahead_plans(self, most: int) -> Sequence[Plan]:
        """See :class:`~bohrbug.search.strategy.Foresighted`."""
        return () if self._foresighted is None else self._foresighted.lookahead_plans(most)

    def observe(self, trace: Trace) -> None:
        """Let the member see an execution, and note what the first process has to know of it."""
        self._strategy.observe(trace)
        piece = self._piece
        piece.made += 1
        self._learn(trace)
        tells_class = self._tells_class
        pairs = [pair_to_json(pair) for pair in self._novelty.new_pairs(trace)]
        if tells_class or pairs:
            piece.seen.append([self._novelty.class_of(trace) if tells_class else None, pairs])
        plan = trace.plan
        if self._is_random and not plan.prefix and isinstance(plan.policy, UniformRandom):
            piece.weights.append(log_weight(trace))

    def _learn(self, trace: Trace) -> None:
        piece, pupil = self._piece, self._pupil
        if not trace.outcome.is_endless:
            piece.steps = max(piece.steps, len(trace))
        piece.tasks = max(piece.tasks, trace.task_count)
        known = pupil.known
        pupil.learn(trace)
        lessons: State = {"tasks": piece.tasks, "steps": piece.steps}
        if pupil.known > known or not piece.lessons:
            lessons |= pupil.lessons()
        piece.learn(lessons)

    def to_json(self) -> State:
        """What is left of the piece, and what came of it so far."""
        return self._piece.to_json(self._member.divisible.state())
