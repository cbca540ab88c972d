"""Several strategies one after the other, each with a share of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.search.divisible import VERSION, Divisible, Sharing, State, checked_state, is_divisible
from bohrbug.search.pct import PCT
from bohrbug.search.strategy import Strategy


class Searching(Strategy, Protocol):
    """A strategy that can tell whether there is nothing left for any other."""

    @property
    def complete(self) -> bool:
        """Whether every schedule at all was executed, and nothing was given up."""
        ...


@dataclass(slots=True)
class Stage:
    """One strategy of a portfolio.

    Parameters:
        strategy: the strategy.
        share: the part of the executions that are left when its turn comes, from
            0 to 1; the last stage takes all, whatever its share.
    """

    strategy: Searching
    share: float = 1.0


class Portfolio:
    """Takes the stages in turn; a stage ends with its share or when it is exhausted.

    When a stage has executed every schedule there is, the stages after it have
    nothing to add and the portfolio is exhausted.  A PCT stage learns the number
    of tasks and steps from the executions of the stages before it.

    Parameters:
        stages: at least one.
        executions: the executions to share out; ``None`` for no limit, and then
            each stage goes on until it is exhausted.
        name: the name of the portfolio.
    """

    def __init__(
        self, stages: Sequence[Stage], executions: int | None, name: str = "portfolio"
    ) -> None:
        if not stages:
            raise ValueError("a portfolio needs at least one stage")
        self.name = name
        self._stages = tuple(stages)
        self._remaining = executions
        self._begin()

    def _begin(self) -> None:
        self._turn = 0
        self._allowance = self._allowance_of(0)
        self._ended = False
        # A part of the turn of one stage, with a worker process; the next one begins elsewhere.
        self._is_piece = False

    def _allowance_of(self, turn: int) -> int | None:
        if self._remaining is None or turn == len(self._stages) - 1:
            return self._remaining
        return part_of(self._remaining, self._stages[turn].share)

    @property
    def current(self) -> Searching:
        """The strategy whose turn it is."""
        return self._stages[self._turn].strategy

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; what is left is shared out anew."""
        for stage in self._stages:
            stage.strategy.restart()
        self._begin()

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        while not self._ended:
            if self._allowance != 0:
                plan = self.current.next_plan()
                if plan is not None:
                    return plan
            if self._is_piece:
                break
            if self.current.complete or self._turn == len(self._stages) - 1:
                self._ended = True
            else:
                self._turn += 1
                self._allowance = self._allowance_of(self._turn)
        return None

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self.current.observe(trace)
        for stage in self._stages[self._turn + 1 :]:
            if isinstance(stage.strategy, PCT):
                stage.strategy.learn(trace)
        if self._allowance is not None:
            self._allowance -= 1
        if self._remaining is not None:
            self._remaining -= 1

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing left to execute within what the stages aim at."""
        last = self._turn == len(self._stages) - 1
        return self.complete or (last and self.current.exhausted)

    @property
    def complete(self) -> bool:
        """Whether a stage has executed every schedule there is."""
        return any(stage.strategy.complete for stage in self._stages[: self._turn + 1])

    def covered_by_stage(self) -> tuple[str, ...]:
        """One sentence for each stage that had its turn."""
        return tuple(stage.strategy.covered() for stage in self._stages[: self._turn + 1])

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return "; ".join(self.covered_by_stage())

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"{self.current.name}: {self.current.progress()}"

    # -- dividing ----------------------------------------------------------------------

    @property
    def divisible(self) -> bool:
        """Whether all stages are."""
        return all(is_divisible(stage.strategy) for stage in self._stages)

    def _divisible(self, turn: int) -> Divisible:
        strategy = self._stages[turn].strategy
        assert is_divisible(strategy)
        return strategy

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        turns = [self._turn] if self._is_piece else range(len(self._stages))
        stages = {str(turn): self._divisible(turn).state() for turn in turns}
        learned = {
            str(turn): stage.strategy.learned
            for turn, stage in enumerate(self._stages)
            if isinstance(stage.strategy, PCT)
        }
        return {
            **self._piece(stages, self._allowance),
            "is_piece": self._is_piece,
            "learned": learned,
            "remaining": self._remaining,
            "ended": self._ended,
        }

    def _piece(self, stages: dict[str, State], allowance: int | None) -> State:
        return {
            "strategy": self.name,
            "version": VERSION,
            "is_piece": True,
            "turn": self._turn,
            "stages": stages,
            "learned": {},
            "allowance": allowance,
            "remaining": allowance,
            "ended": False,
        }

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self._is_piece = state["is_piece"]
        self._turn = state["turn"]
        self._allowance = state["allowance"]
        self._remaining = state["remaining"]
        self._ended = state["ended"]
        for turn, stage in enumerate(self._stages):
            if str(turn) in state["stages"]:
                self._divisible(turn).restore(state["stages"][str(turn)])
            else:
                # Learns along; what it has learned comes back with the piece.
                stage.strategy.restart()

    def hand_out(self, most: int) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`; a piece is of the current stage."""
        if self._allowance is not None:
            most = min(most, self._allowance)
        if self._ended or most < 1:
            return None
        piece = self._divisible(self._turn).hand_out(most)
        if piece is None:
            return None
        if self._allowance is None or self._remaining is None:
            return self._piece({str(self._turn): piece}, None)
        self._allowance -= most
        self._remaining -= most
        return self._piece({str(self._turn): piece}, most)

    def split(self) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        if self._allowance is not None and self._allowance < 2:
            return None
        piece = self._divisible(self._turn).split()
        if piece is None:
            return None
        if self._allowance is None or self._remaining is None:
            return self._piece({str(self._turn): piece}, None)
        given = self._allowance // 2
        self._allowance -= given
        self._remaining -= given
        return self._piece({str(self._turn): piece}, given)

    def take_in(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        for turn, stage in state["stages"].items():
            self._divisible(int(turn)).take_in(stage)
        for turn, (tasks, steps) in state["learned"].items():
            strategy = self._stages[int(turn)].strategy
            if isinstance(strategy, PCT):
                strategy.take_learned(tasks, steps)
        if self._allowance is not None:
            self._allowance += state["allowance"]
        if self._remaining is not None:
            self._remaining += state["remaining"]

    def position(self) -> int | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return self._divisible(self._turn).position()

    def begin_sharing(self) -> None:
        """See :class:`~bohrbug.search.divisible.Sharing`."""
        for stage in self._stages:
            if isinstance(stage.strategy, Sharing):
                stage.strategy.begin_sharing()

    def lost_a_worker(self) -> None:
        """See :class:`~bohrbug.search.divisible.Sharing`."""
        for stage in self._stages:
            if isinstance(stage.strategy, Sharing):
                stage.strategy.lost_a_worker()


def part_of(number: int, share: float) -> int:
    """The part of a number that a share is, rounded up."""
    return min(number, -int(-number * share // 1))
