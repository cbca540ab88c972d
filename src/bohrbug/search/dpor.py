"""One execution for each happens-before graph: optimal dynamic partial-order reduction."""

from __future__ import annotations

from bohrbug.model.operation import ResourceId
from bohrbug.model.plan import Choice, NonPreemptive, Plan, Sleeper, Sleeping
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted
from bohrbug.search.estimates import Estimate, share_of_tree, size_from_share
from bohrbug.search.footprint import EVERYTHING, Event, Footprint, is_weak_initial
from bohrbug.search.races_of_trace import RaceFinder, Reversal
from bohrbug.search.wakeup_tree import Branch, insert

WAITING_LIMIT = 5_000_000
"""Events in all wakeup trees together, at some 100 bytes each."""

LONG = 2_000
"""From executions with so many steps only the necessary part of a reversal is kept."""

PUT_OFF = 8
"""Reversals of one step that wait until they are inserted into its wakeup tree."""

Asleep = tuple[Event, ...]


class _Node:
    """A prefix of the last execution at which something is or was to be explored.

    Parameters (one per slot):
        done: the first events of the branches that are explored.
        branches: the wakeup tree.
        reversals: found, but not yet inserted into the tree.
    """

    __slots__ = ("branches", "done", "reversals")

    def __init__(self) -> None:
        self.done: list[Event] = []
        self.branches: list[Branch] = []
        self.reversals: list[Reversal] = []


class OptimalReduction:
    """Optimal DPOR: one execution for each happens-before graph, none of them in vain.

    Abdulla, Aronis, Jonsson and Sagonas, *Optimal dynamic partial order reduction*, POPL
    2014, algorithm 2; *Source sets: a foundation for optimal dynamic partial order
    reduction*, JACM 2017.  After each execution, each race whose second step is new is
    reversed: the events that do not depend on the first step, and then the second, are
    put into the wakeup tree of the node before the first, unless a task that sleeps there
    could begin something equivalent.  Nodes are explored depth first, so that memory is
    taken for one path and its wakeup trees.

    A sleeping task stays asleep behind the prefix, by the policy
    :class:`~bohrbug.model.plan.Sleeping`.

    What conflicts with what is defined by the happens-before graph
    (:mod:`bohrbug.model.happens_before`), with the additions that
    :mod:`bohrbug.search.races_of_trace` names.  The premise is that of CHESS: what is not
    in the graph must not matter.

    Reversals are inserted when the search comes back to their node, or when there are
    several; until then they are pairs of indices, so that the work for one execution is
    linear in its steps.  Of executions with :data:`LONG` steps and more, only the part of a
    reversal that its last event depends on is kept.  That loses no graph, but some may then
    be executed more than once.

    *Sharing the work.*  All that is known of a subtree is the prefix of its node, who
    sleeps there (inherited, and the branches that are done), and its wakeup tree; these three
    are plain data, and another worker can explore the subtree with them.  A race that it finds
    has to be inserted at the node before the race's first step
    (:attr:`~bohrbug.search.races_of_trace.Reversal.step`): if that is less than the length of the
    prefix, it belongs to whoever holds the node of that depth, and
    :meth:`~bohrbug.search.races_of_trace.Reversal.sequence` is what to send there.  Nothing else
    connects two subtrees.

    Parameters:
        steps: reverse the first ``steps`` steps of an execution only.
        waiting_limit: events to keep in wakeup trees; what is beyond it is dropped, and said.
    """

    name = "dpor"

    def __init__(self, steps: int = BRANCHING_LIMIT, waiting_limit: int = WAITING_LIMIT) -> None:
        if steps < 0:
            raise ValueError(f"the number of steps to branch at can't be {steps}; give 0 or more")
        self._limit = steps
        self._waiting_limit = waiting_limit
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._tally = Tally()
        self._races = RaceFinder(self._limit)
        self._nodes: list[_Node | None] = []
        # The tasks that sleep at each node before anything was explored there.
        self._asleep: list[Asleep] = []
        self._plan: Plan | None = Plan()
        self._start = 0
        self._wanted: Choice | None = None
        # Wakeup trees for the nodes on the way that the plan takes.
        self._on_the_way: list[tuple[int, list[Branch]]] = []
        self._waiting = 0
        self._held = 0
        self._dropped = 0
        self._redundant = 0
        self._names: dict[Footprint, tuple[tuple[ResourceId, ...], tuple[ResourceId, ...]]] = {}

    # -- the next plan ---------------------------------------------------------------

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None:
            self._plan = self._next_plan()
        return self._plan

    def _next_plan(self) -> Plan | None:
        nodes = self._nodes
        recorded = self._races.recorded
        while nodes:
            node = nodes[-1]
            if node is None:
                nodes.pop()
                continue
            index = len(nodes) - 1
            self._insert_reversals(index, node)
            if node.branches:
                event = recorded.event(index)
                if all(event.choice != done.choice for done in node.done):
                    node.done.append(event)
            while node.branches:
                branch = node.branches.pop(0)
                first = branch.events[0]
                if all(first.choice != done.choice for done in node.done):
                    return self._plan_along(index, node, branch)
                self._forget(branch)
            nodes.pop()
        return None

    def _plan_along(self, index: int, node: _Node, branch: Branch) -> Plan:
        """The plan that takes the first leaf of a branch of a node."""
        way: list[Event] = []
        self._on_the_way = []
        while True:
            way += branch.events
            if not branch.branches:
                break
            first, *others = branch.branches
            if others:
                self._on_the_way.append((index + len(way), others))
            branch = first
        self._waiting -= 1
        self._held -= branch.weight
        self._wanted = way.pop().choice if branch.uncertain else None
        self._start = index
        asleep: Asleep = (*self._asleep[index], *node.done)
        for event in way:
            if not asleep:
                break
            asleep = still_asleep(asleep, event)
        prefix = (*self._races.recorded.choices[:index], *[event.choice for event in way])
        if not asleep and self._wanted is None:
            return Plan(prefix, NonPreemptive())
        wanted = self._wanted if isinstance(self._wanted, str) else None
        return Plan(prefix, Sleeping(self._sleepers(asleep), wanted))

    def _sleepers(self, asleep: Asleep) -> tuple[Sleeper, ...]:
        sleepers = []
        for _, choice, footprint in asleep:
            if isinstance(choice, int):
                continue
            if footprint is EVERYTHING:
                sleepers.append(Sleeper(choice, wakes_at_once=True))
                continue
            names = self._names.get(footprint)
            if names is None:
                names = self._names[footprint] = (
                    self._races.resources(footprint.reads),
                    self._races.resources(footprint.writes),
                )
            sleepers.append(Sleeper(choice, *names))
        return tuple(sleepers)

    def _forget(self, branch: Branch) -> None:
        for leaf in branch.leaves():
            self._waiting -= 1
            self._held -= leaf.weight

    # -- taking in a trace -----------------------------------------------------------

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        plan, self._plan = self._plan, None
        prefix = len(plan.prefix) if plan is not None else 0
        start = self._start
        self._tally.count(trace, self._limit)
        end = len(trace)
        if trace.divergence is not None:
            end = min(end, trace.divergence.step)
            if end < prefix or end <= start:
                # The branch is given up: what is on its way is not known to exist.
                for _, branches in self._on_the_way:
                    for branch in branches:
                        self._forget(branch)
                return
        reversals = self._races.take(trace, start, end)
        self._follow_sleepers(start, end)
        for index, branches in self._on_the_way:
            if index < end:
                self._node(index).branches = branches
        self._on_the_way = []
        short = len(trace) < LONG
        for reversal in reversals:
            step = reversal.step
            node = self._node(step)
            node.reversals.append(reversal)
            if short or len(node.reversals) > PUT_OFF:
                self._insert_reversals(step, node)

    def _follow_sleepers(self, start: int, end: int) -> None:
        """Who sleeps at each node of the new part of the path."""
        nodes, asleep = self._nodes, self._asleep
        if nodes:
            node = nodes[start]
            assert node is not None
            sleeping = (*asleep[start], *node.done)
            del asleep[start + 1 :]
        else:
            sleeping = ()
            nodes.append(None)
            asleep.append(())
        recorded = self._races.recorded
        in_vain = False
        step = start
        while sleeping and step < end:
            event = recorded.event(step)
            if not in_vain:
                in_vain = any(event.choice == other.choice for other in sleeping)
            sleeping = still_asleep(sleeping, event)
            step += 1
            asleep.append(sleeping)
        self._redundant += in_vain
        asleep += [()] * (end - step)
        nodes += [None] * (end + 1 - len(nodes))

    def _node(self, index: int) -> _Node:
        node = self._nodes[index]
        if node is None:
            node = self._nodes[index] = _Node()
        return node

    def _insert_reversals(self, index: int, node: _Node) -> None:
        """Put the reversals of a node into its wakeup tree, if they lead to something new."""
        if not node.reversals:
            return
        sleeping = (*self._asleep[index], *node.done)
        for reversal in node.reversals:
            sequence = reversal.sequence()
            if any(is_weak_initial(event, sequence) is not None for event in sleeping):
                continue
            if len(reversal.recorded) >= LONG:
                sequence = reversal.necessary_sequence()
            sequence = self._races.widened(reversal, sequence)
            if self._held + len(sequence) > self._waiting_limit:
                self._dropped += 1
            elif insert(node.branches, sequence, reversal.uncertain):
                self._waiting += 1
                self._held += len(sequence)
        node.reversals = []

    # -- what to say -----------------------------------------------------------------

    @property
    def redundant(self) -> int:
        """Executions so far whose happens-before graph had been executed before."""
        return self._redundant

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to explore."""
        return self.next_plan() is None and not self._dropped

    @property
    def complete(self) -> bool:
        """Whether a schedule for every happens-before graph was executed."""
        return self.exhausted and self._tally.is_whole

    @property
    def estimate(self) -> Estimate | None:
        """How many executions it takes in all, from the explored part of the tree.

        Races that are still to be found add branches, so it begins too low and grows.
        """
        levels = [
            (len(node.done), len(node.done) + 1 + len(node.branches) + len(node.reversals))
            for node in self._nodes
            if node is not None
        ]
        return size_from_share(self._tally.executions, share_of_tree(levels), "executions")

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
        if self._dropped:
            text += f"; {self._dropped:,} branches were dropped to save memory"
        return text

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"partial-order reduction, {self._waiting:,} waiting"


def still_asleep(asleep: Asleep, event: Event) -> Asleep:
    """Who of the sleeping is not woken by an event."""
    task, _, (reads, writes) = event
    both = reads | writes
    return tuple(
        [
            other
            for other in asleep
            if other[0] != task and not (writes & (other[2][0] | other[2][1]) or both & other[2][1])
        ]
    )
