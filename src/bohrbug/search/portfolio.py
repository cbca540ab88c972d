"""Several strategies one after the other, each with a share of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
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


def part_of(number: int, share: float) -> int:
    """The part of a number that a share is, rounded up."""
    return min(number, -int(-number * share // 1))
