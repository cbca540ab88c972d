"""All schedules, depth first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from bohrbug.model.plan import Choice, Plan
from bohrbug.model.trace import Trace
from bohrbug.search.branching import (
    alternatives,
    counted,
    last_branching_step,
)
from bohrbug.search.divisible import State
from bohrbug.search.estimates import Estimate, share_of_tree, size_from_share
from bohrbug.search.systematic import PrefixSearch
from bohrbug.search.tree import Subtrees


class DepthFirst(PrefixSearch):
    """Every schedule once: stateless depth-first search (Godefroid, POPL 1997, VeriSoft).

    Takes memory for one path only and executes no choice sequence twice.  The
    number of schedules grows exponentially with the steps; for small tests.

    Parameters:
        steps: branch at the first ``steps`` steps only; what follows them is
            executed without preemptions.
    """

    name = "dfs"

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        # Then the tree is in pieces, of which no share can be told.
        self._was_divided = False

    def lookahead_plans(self, most: int) -> Sequence[Plan]:
        """See :class:`~bohrbug.search.strategy.Foresighted`."""
        return [Plan(prefix) for prefix in islice(self._subtrees.next_ones(), most)]

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        start = len(self._prefix or ())
        self._prefix = None
        self._tally.count(trace, self._limit)
        end = last_branching_step(trace, self._limit)
        all_enabled = trace.enabled
        all_timed = trace.timed
        arities = trace.arities
        branches: list[tuple[int, list[Choice]]] = []
        for step in range(start, end):
            if len(all_enabled[step]) + len(all_timed[step]) == 1 and step not in arities:
                continue
            free, costly = alternatives(trace, step)
            if free or costly:
                branches.append((step, costly[::-1] + free[::-1]))
        if branches:
            self._subtrees.extend(trace.choices, branches)

    @property
    def exhausted(self) -> bool:
        """Whether every schedule was executed, up to the given number of steps."""
        return self._prefix is None and not self._subtrees

    @property
    def complete(self) -> bool:
        """Whether every schedule was executed, and nothing was given up."""
        return self.exhausted and self._tally.is_whole

    @property
    def estimate(self) -> Estimate | None:
        """How many schedules there are, from the explored part of the tree."""
        if self.exhausted or self._was_divided:
            return None
        share = share_of_tree(self._subtrees.levels())
        return size_from_share(self._tally.executions, share, "schedules")

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "execution")
        if self.exhausted:
            return self._tally.sentence(f"all schedules ({executions})", self._limit)
        return self._tally.sentence(f"{executions} of a depth-first search", self._limit)

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"depth first, {self._subtrees.waiting:,} waiting"

    # -- dividing ----------------------------------------------------------------------

    def can_be_cut(self) -> bool:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return self._subtrees.waiting > 1

    def _all(self) -> State:
        return {"subtrees": self._subtrees.to_json()}

    def _become(self, state: State) -> None:
        self.restart()
        self._subtrees = Subtrees()
        self._was_divided = True
        self._add(state)

    def _cut(self, most: int, wanted: int) -> State | None:  # noqa: ARG002
        self._was_divided = True
        part = self._subtrees.part(wanted)
        return None if part is None else {"subtrees": part}

    def _add(self, state: State) -> None:
        self._subtrees.merge(state["subtrees"])
