"""A random walk: at each scheduling point any option with the same probability."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted
from bohrbug.search.divisible import Dividing, State
from bohrbug.search.seeds import Indices, Seeds


class RandomWalk(Dividing):
    """The naive random scheduler that randomised testing is measured against.

    Burckhardt et al. (ASPLOS 2010, section 1) on its weakness: a schedule that
    keeps one task back for ``k`` steps has a probability of about ``2**-k``.  It
    finds what needs many small switches, which PCT seldom makes.

    Parameters:
        seed: determines the seeds of all plans.
        executions: stop after so many, or never if ``None``.
    """

    name = "random"
    exhausted = False
    """Never: another execution may always show another schedule."""
    complete = False

    def __init__(self, seed: int = 0, executions: int | None = None) -> None:
        self._seeds = Seeds(seed)
        self._left = Indices([(0, executions)])
        self._plan: Plan | None = None
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._tally = Tally()

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        index = self._left.first
        if self._plan is None and index is not None:
            self._plan = self._plan_at(index)
        return self._plan

    def _plan_at(self, index: int) -> Plan:
        return Plan((), UniformRandom(self._seeds.at(index)))

    def lookahead_plans(self, most: int) -> Sequence[Plan]:
        """See :class:`~bohrbug.search.strategy.Foresighted`."""
        return [self._plan_at(index) for index in self._left.first_ones(most)]

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._plan = None
        self._left.advance()
        self._tally.count(trace, BRANCHING_LIMIT)

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "random execution")
        points = counted(self._tally.points, "scheduling point")
        return f"{executions}, at up to {points}"

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return counted(self._tally.executions, "random execution")

    # -- dividing ----------------------------------------------------------------------

    def _put_back(self) -> None:
        self._plan = None

    def _all(self) -> State:
        return {"left": self._left.ranges()}

    def _become(self, state: State) -> None:
        self._plan = None
        self._left = Indices(state["left"])
        self._tally = Tally()

    def _cut(self, most: int, wanted: int) -> State | None:  # noqa: ARG002
        taken = self._left.take(most)
        return None if taken is None else {"left": [taken]}

    def _add(self, state: State) -> None:
        self._left.merge(state["left"])

    def position(self) -> int | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return self._left.first
