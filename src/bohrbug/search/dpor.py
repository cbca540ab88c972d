"""One execution for each happens-before graph: optimal dynamic partial-order reduction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from bohrbug.model.operation import BEGIN, TaskId
from bohrbug.model.plan import Choice
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

MOST_DIFFERENT = 32
"""Different things that a task has left to do, up to which those in conflict are counted."""


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
        if self._is_divided:
            return self.estimate_found()
        others, executed = self._others_at_steps(), self._tally.executions
        found = size_of_growing_tree(executed, self._share_done(others, False), "executions")
        if found is None or not others:
            return found
        share = self._share_done(others, True)
        foreseen = size_of_growing_tree(executed, share, "executions", FORESEEN)
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
            # Whose branches are how large takes long to tell.
            self._share = self._share_done({}, False)
            self._share_at = self._tally.executions
        return size_of_growing_tree(self._share_at, self._share, "executions")

    @property
    def _is_divided(self) -> bool:
        """Whether parts of the tree are, or were, with other processes."""
        trunk = self._trunk
        return trunk is not None and bool(trunk.segments or trunk.pieces.keys() - {self._piece})

    def _share_done(self, others: Mapping[int, Mapping[Choice, float]], foresees: bool) -> float:
        """How much of the tree is done.

        Parameters:
            others: see :meth:`_others_at_steps`.
            foresees: whether what they could do counts that is no branch yet.
        """
        levels: list[tuple[float, float]] = []
        opened = 0
        operations = self._last.operations if self._last is not None else ()
        for index, node in enumerate(self._nodes):
            weights: Mapping[Choice, float] = others.get(index, {})
            # Races are with what a task does later; its branch may begin here all the same.
            begins = index < len(operations) and operations[index].kind is BEGIN
            foresees_here = foresees and not begins
            if node is None:
                if foresees_here and weights:
                    levels.append((0.0, 1.0 + sum(weights.values())))
                continue
            current = self._event(index)
            done = {
                event.choice
                for event in node.done
                if current is None or event.choice != current.choice
            }
            behind = sum((weights.get(choice, 1.0) for choice in done), 0.0)
            left = [weight for task, weight in weights.items() if task not in done]
            waiting = len(node.branches) + len(node.reversals)
            ahead = waiting * (sum(left) / len(left) if left else 1.0)
            if foresees_here:
                ahead = max(ahead, sum(left))
            levels.append((behind, behind + 1.0 + ahead))
            if waiting:
                opened = len(levels)
        # What is below the last node with something to explore is done.
        del levels[opened:]
        if levels:
            behind, branches = levels[-1]
            levels[-1] = (behind + 1.0, branches)
        return share_of_tree(levels)

    def _others_at_steps(self) -> dict[int, dict[Choice, float]]:
        """For steps of the path, the tasks that could do something there that conflicts with it.

        A node gets a branch when an execution shows a race there.  Of tasks that all could take
        one lock now, the first executions show only the last race: fifty times the same lock in
        three tasks made 6,000 executions of 10^69.  What a task does next it would do here.

        With each task comes how large its branch is, as a multiple of that of the step: where
        one task has ``n`` things left to do and another one ``r`` that conflict with them, their
        orders are those in which the first begins as ``n`` to ``r``.  A single write among
        twenty reads has 21 places, and not 2^20.
        """
        trace, recorded = self._last, self._races.recorded
        if trace is None:
            return {}
        others_at: dict[int, dict[Choice, float]] = {}
        following: dict[TaskId, Footprint] = {}
        left: dict[TaskId, Counter[Footprint]] = {}
        for index in range(min(len(trace), len(recorded)) - 1, -1, -1):
            task, footprint = trace.tasks[index], recorded.footprints[index]
            operation = trace.operations[index]
            # One that has not begun would begin first, and that conflicts with nothing: what it
            # does then stands for it.
            begins = operation.kind is BEGIN
            if begins:
                footprint = following.get(task, footprint)
            else:
                left.setdefault(task, Counter())[footprint] += 1
            # What waits for a release can't come before it.
            if not operation.is_release and task in left:
                found = {
                    other: following[other]
                    for other in trace.enabled[index]
                    if other != task
                    and other in left
                    and footprint.conflicts_with(following[other])
                }
                if found:
                    others_at[index] = {
                        other: _in_conflict(left[other], footprint)
                        / _in_conflict(left[task], next_one)
                        for other, next_one in found.items()
                    }
            following[task] = footprint
        return others_at

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


def _in_conflict(left: Counter[Footprint], footprint: Footprint) -> int:
    """How many of the things that a task has left to do conflict with a step: one at least does."""
    if len(left) > MOST_DIFFERENT:
        return 1
    reads, writes = footprint
    both = reads | writes
    return sum(times for (_, written), times in left.items() if written & both) + sum(
        times for (read, written), times in left.items() if not written & both and read & writes
    )
