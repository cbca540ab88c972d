"""One execution for each happens-before graph: optimal dynamic partial-order reduction."""

from __future__ import annotations

from collections.abc import Mapping

from bohrbug.model.operation import BEGIN, TaskId
from bohrbug.search.branching import counted
from bohrbug.search.divisible import State
from bohrbug.search.dpor_path import ReductionPath
from bohrbug.search.dpor_trunk import ReductionTrunk
from bohrbug.search.estimates import (
    FORESEEN,
    Estimate,
    share_of_tree,
    size_of_growing_tree,
)
from bohrbug.search.footprint import Footprint


class OptimalReduction(ReductionPath):
    """Optimal DPOR: one execution for each happens-before graph, none of them redundant.

    Abdulla, Aronis, Jonsson and Sagonas, *Optimal dynamic partial order reduction*, POPL
    2014, algorithm 2; *Source sets: a foundation for optimal dynamic partial order
    reduction*, JACM 2017.  After each execution, each race whose second step is new is
    reversed: the events that do not depend on the first step, and then the second, are
    inserted into the wakeup tree of the node before the first, unless a task that sleeps there
    could begin something equivalent.  Nodes are explored depth first, so that only one path
    and its wakeup trees are in memory.

    A sleeping task stays asleep after the prefix, by the policy
    :class:`~bohrbug.model.plan.Sleeping`.

    The happens-before graph defines what conflicts with what
    (:mod:`bohrbug.model.happens_before`), with the additions that
    :mod:`bohrbug.search.races_of_trace` names.  The premise is that of CHESS: what is not
    in the graph must not matter.

    Reversals are inserted when the search comes back to their node, or when there are
    several; until then they are pairs of indices, so that the work for one execution is
    linear in its steps.  Of executions with :data:`~bohrbug.search.dpor_path.LONG` steps and
    more, only the part of a reversal that its last event depends on is kept.  That loses no
    graph, but some may then be executed more than once.

    *Several processes.*  Everything known of a subtree is the prefix of its node, the tasks that
    sleep there, and its wakeup tree; these are plain data, and another process explores the subtree
    with them.  A race that it finds may have to be inserted at a node above the subtree: such
    nodes belong to the first process (:mod:`bohrbug.search.trunk`), where the sequence is inserted
    when the subtree, or what is left of it, comes back.  The order of exploration is free, and
    nothing is executed twice, because:

    1. What counts is the order in which the branches of a node are *begun*, however long each
       takes.  Branches begun before sleep in those begun later, and an insertion that a
       branch begun before could begin with is covered by that branch.
    2. An insertion that a branch begun *later* could begin with belongs into that one's wakeup
       tree, as if it had been found before.  So of a branch only a leaf is handed out:
       the nodes on the way to it, where tasks may still sleep, stay in the trunk and take
       such insertions.  Below the leaf everything is explored, and nothing
       need be inserted from outside.
    3. The event that stands for a begun branch is the one that was executed; until the branch
       comes back, nothing else is begun at the node or inserted there.

    Parameters:
        steps: reverse the first ``steps`` steps of an execution only.
        waiting_limit: events to keep in wakeup trees; the rest is dropped, and reported.
    """

    name = "dpor"

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        # The part of the tree that was done, and executions, when they were last measured.
        self._share = 0.0
        self._share_at = 0

    # -- reporting -------------------------------------------------------------------

    @property
    def redundant(self) -> int:
        """Executions so far whose happens-before graph had been executed before."""
        return self._redundant

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to explore, here or elsewhere."""
        return not self._waiting.dropped and super().exhausted

    @property
    def complete(self) -> bool:
        """Whether a schedule for every happens-before graph was executed."""
        return self.exhausted and self._tally.is_whole

    @property
    def estimate(self) -> Estimate | None:
        """How many executions it takes in all, from the explored part of the tree."""
        found = self.estimate_found()
        expected = {} if self._is_divided else self._branches_to_come()
        if found is None or not expected:
            return found
        share = self._share_done(expected)
        foreseen = size_of_growing_tree(self._share_at, share, "executions", FORESEEN)
        if foreseen is None or foreseen.log_size <= found.log_size:
            return found
        return foreseen

    def estimate_found(self) -> Estimate | None:
        """See :class:`~bohrbug.search.strategy.Foreseeing`."""
        if self._is_divided:
            trunk = self._trunk
            assert isinstance(trunk, ReductionTrunk)
            root = next((name for name, each in trunk.segments.items() if each.above is None), None)
            if root is not None:
                self._share = trunk.share_behind(root)
                self._share_at = self._tally.executions
            # Otherwise everything is with another process; use what was known last.
        else:
            self._share, self._share_at = self._share_done({}), self._tally.executions
        return size_of_growing_tree(self._share_at, self._share, "executions")

    @property
    def _is_divided(self) -> bool:
        """Whether parts of the tree are, or were, with other processes."""
        trunk = self._trunk
        return trunk is not None and bool(trunk.segments or trunk.pieces.keys() - {self._piece})

    def _share_done(self, expected: Mapping[int, int]) -> float:
        """How much of the tree is done, where nodes have at least so many branches."""
        levels: list[tuple[int, int]] = []
        opened = 0
        for index, node in enumerate(self._nodes):
            to_come = expected.get(index, 1)
            if node is None:
                if to_come > 1:
                    levels.append((0, to_come))
                continue
            waiting = len(node.branches) + len(node.reversals)
            current = self._event(index)
            done = sum(current is None or event.choice != current.choice for event in node.done)
            levels.append((done, max(done + 1 + waiting, to_come)))
            if waiting:
                opened = len(levels)
        # What is below the last node with something to explore is done.
        del levels[opened:]
        if levels:
            done, branches = levels[-1]
            levels[-1] = (done + 1, branches)
        return share_of_tree(levels)

    def _branches_to_come(self) -> dict[int, int]:
        """How many branches nodes of the path will have at least, where these are several.

        A node gets a branch when an execution shows a race there.  Of tasks that all could take
        one lock now, the first executions show only the last race: fifty times the same lock in
        three tasks made 6,000 executions of 10^69.  What a task does next it would do here.
        """
        trace, recorded = self._last, self._races.recorded
        if trace is None:
            return {}
        to_come: dict[int, int] = {}
        following: dict[TaskId, Footprint] = {}
        for index in range(min(len(trace), len(recorded)) - 1, -1, -1):
            task, footprint = trace.tasks[index], recorded.footprints[index]
            operation = trace.operations[index]
            # What waits for a release can't come before it.
            if not operation.is_release:
                others = (following.get(other) for other in trace.enabled[index] if other != task)
                number = 1 + sum(
                    other is not None and footprint.conflicts_with(other) for other in others
                )
                if number > 1:
                    to_come[index] = number
            # One that has not begun would begin first, and that conflicts with nothing.
            if operation.kind is not BEGIN:
                following[task] = footprint
        return to_come

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "execution")
        if self.exhausted:
            what = f"all schedules up to the order of independent operations ({executions})"
        else:
            what = f"{executions} that differ in more than the order of independent operations"
        text = self._tally.sentence(what, self._limit)
        if self._redundant:
            text += f"; {self._redundant:,} of them repeated another"
        if self._waiting.dropped:
            text += f"; {self._waiting.dropped:,} branches were dropped to save memory"
        return text

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"partial-order reduction, {self._waiting.leaves:,} waiting"

    # -- figures of pieces ---------------------------------------------------------------

    def _figures(self) -> State:
        redundant = self._redundant
        return {**super()._figures(), "dropped": self._waiting.dropped, "redundant": redundant}

    def _add_figures(self, figures: State) -> None:
        super()._add_figures(figures)
        self._waiting.dropped += figures["dropped"]
        self._redundant += figures["redundant"]
