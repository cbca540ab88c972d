"""What systematic searches share: a limit of steps, and prefixes whose turn it is."""

from __future__ import annotations

from bohrbug.model.plan import Choice, Plan
from bohrbug.search.branching import BRANCHING_LIMIT, Tally
from bohrbug.search.divisible import Dividing
from bohrbug.search.tree import Subtrees


class Systematic(Dividing):
    """A search that branches off executions, and comes to an end.

    Parameters:
        steps: branch at the first ``steps`` steps of an execution only.
    """

    def __init__(self, steps: int = BRANCHING_LIMIT) -> None:
        if steps < 0:
            raise ValueError(f"the number of steps to branch at can't be {steps}; give 0 or more")
        self._limit = steps
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._tally = Tally()

    @property
    def given_up(self) -> int:
        """See :class:`~bohrbug.search.strategy.GivingUp`."""
        return self._tally.diverged


class PrefixSearch(Systematic):
    """A systematic search whose plans are prefixes, in a tree that is walked depth first."""

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        self._subtrees = Subtrees([()])
        self._prefix: tuple[Choice, ...] | None = None

    def _next_prefix(self) -> tuple[Choice, ...] | None:
        """The prefix of the next plan; takes it."""
        return self._subtrees.take()

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._prefix is None:
            self._prefix = self._next_prefix()
        return None if self._prefix is None else Plan(self._prefix)

    def _put_back(self) -> None:
        if self._prefix is not None:
            self._subtrees.add(self._prefix)
            self._prefix = None
