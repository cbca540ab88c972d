"""A random walk: at each scheduling point any option with the same probability."""

from __future__ import annotations

from random import Random

from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted


class RandomWalk:
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
        self._random = Random(seed)
        self._remaining = executions
        self._plan: Plan | None = None
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._tally = Tally()

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and self._remaining != 0:
            self._plan = Plan((), UniformRandom(self._random.getrandbits(32)))
        return self._plan

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._plan = None
        if self._remaining is not None:
            self._remaining -= 1
        self._tally.count(trace, BRANCHING_LIMIT)

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "random execution")
        points = counted(self._tally.points, "scheduling point")
        return f"{executions}, at up to {points}"

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return counted(self._tally.executions, "random execution")
