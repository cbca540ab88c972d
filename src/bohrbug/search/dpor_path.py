"""Optimal dynamic partial-order reduction along one path of the tree of executions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bohrbug.model.operation import ResourceId
from bohrbug.model.plan import Choice, NonPreemptive, Plan, Sleeper, Sleeping
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT
from bohrbug.search.divided_path import DividedPath
from bohrbug.search.dpor_parts import Insertion, Node, Waiting
from bohrbug.search.dpor_trunk import ReductionTrunk
from bohrbug.search.footprint import (
    EVERYTHING,
    Asleep,
    Event,
    Footprint,
    first_initial,
    still_asleep,
)
from bohrbug.search.races_of_trace import RaceFinder
from bohrbug.search.reversals import Reversal, sleepers_along
from bohrbug.search.tree_parts import AttachPoint, PathFacts
from bohrbug.search.wakeup_tree import Branch

WAITING_LIMIT = 5_000_000
"""Events in all wakeup trees together, at about 100 bytes each."""

LONG = 2_000
"""In executions with so many steps, only the necessary part of a reversal is kept."""

PUT_OFF = 8
"""Reversals of one step that wait until they are inserted into its wakeup tree."""


class ReductionPath(DividedPath[Node, Insertion]):
    """The algorithm of :class:`~bohrbug.search.dpor.OptimalReduction` along one path.

    It explores depth first what is below its nodes.

    Parameters:
        steps: reverse the first ``steps`` steps of an execution only.
        waiting_limit: events to keep in wakeup trees; the rest is dropped, and reported.
    """

    def __init__(self, steps: int = BRANCHING_LIMIT, waiting_limit: int = WAITING_LIMIT) -> None:
        self._waiting_limit = waiting_limit
        super().__init__(steps)

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        self._races = RaceFinder(self._limit)
        self._names: dict[Footprint, tuple[tuple[ResourceId, ...], tuple[ResourceId, ...]]] = {}
        self._waiting = Waiting(self._waiting_limit)
        self._redundant = 0
        self._begin_whole()

    def _clear_path(self) -> None:
        super()._clear_path()
        # The tasks that sleep at each node before anything was explored there.
        self._asleep: list[Asleep] = []
        self._start = 0
        self._wanted: Choice | None = None
        # The execution that the path is of; unknown of one that was taken over.
        self._last: Trace | None = None
        # Wakeup trees for the nodes on the way that the plan takes.
        self._on_the_way: list[tuple[int, list[Branch]]] = []
        # The branch that the plan is for, and its node.
        self._taken: tuple[int, Node, Branch] | None = None
        # Until the first execution of a path that was taken over: what is known of it.
        self._is_cold = False
        self._cold_choices: Sequence[Choice] = ()
        self._cold_events: dict[int, Event] = {}

    # -- the next plan ---------------------------------------------------------------

    def _plan_at(self, depth: int, node: Node) -> Plan | None:
        self._insert_reversals(depth, node)
        if node.branches and not self._is_cold:
            node.finish(self._races.recorded.event(depth))
        while node.branches:
            branch = node.branches.pop(0)
            if self._waiting.is_new(node, branch):
                return self._plan_along(depth, node, branch)
        return None

    def _plan_along(self, index: int, node: Node, branch: Branch) -> Plan:
        """The plan that takes the first leaf of a branch of a node."""
        way: list[Event] = []
        self._on_the_way = []
        self._taken = (index, node, branch)
        while True:
            way += branch.events
            if not branch.branches:
                break
            first, *others = branch.branches
            if others:
                self._on_the_way.append((index + len(way), others))
            branch = first
        self._waiting.add(branch, -1)
        self._wanted = way.pop().choice if branch.uncertain else None
        self._start = index
        asleep: Asleep = (*self._asleep[index], *node.done)
        for event in way:
            if not asleep:
                break
            asleep = still_asleep(asleep, event)
        prefix = (*self._known_choices()[:index], *[event.choice for event in way])
        if not asleep and self._wanted is None:
            return Plan(prefix, NonPreemptive(), index)
        wanted = self._wanted if isinstance(self._wanted, str) else None
        return Plan(prefix, Sleeping(self._sleepers(asleep), wanted), index)

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

    # -- observing a trace -----------------------------------------------------------

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        plan, self._plan = self._plan, None
        self._taken = None
        self._is_fresh = False
        prefix = len(plan.prefix) if plan is not None else 0
        start = self._start
        self._tally.count(trace, self._limit)
        end = len(trace)
        if trace.divergence is not None:
            end = min(end, trace.divergence.step)
        if end < prefix or (trace.divergence is not None and end <= start):
            # The branch is given up: the steps on its way are not known to exist.
            self._last = None
            for _, branches in self._on_the_way:
                for branch in branches:
                    self._waiting.forget(branch)
            self._note_begun(start, start)
            return
        self._last = trace
        if self._is_cold:
            # Others know the races of the part that was taken over.
            self._races.take(trace, 0, end)
            self._is_cold = False
        reversals = self._races.take(trace, start, end)
        self._note_begun(start, end)
        self._follow_sleepers(start, end)
        for index, branches in self._on_the_way:
            for place, those in _by_place(trace, index, branches):
                if place < end:
                    self._node(place).branches += those
        self._on_the_way = []
        short = len(trace) < LONG
        base = self._base
        for reversal in reversals:
            step = reversal.step
            if step < base:
                self._tell_of(reversal)
                continue
            node = self._node(step)
            node.reversals.append(reversal)
            if short or len(node.reversals) > PUT_OFF:
                self._insert_reversals(step, node)

    def _follow_sleepers(self, start: int, end: int) -> None:
        """Determine the tasks that sleep at each node of the new part of the path."""
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
        if sleeping:
            recorded = self._races.recorded
            along, in_vain = sleepers_along(
                recorded.tasks, recorded.choices, recorded.footprints, sleeping, start, end
            )
            self._redundant += in_vain
            asleep += along
        asleep += [()] * (end + 1 - len(asleep))
        nodes += [None] * (end + 1 - len(nodes))

    def _node(self, index: int) -> Node:
        node = self._nodes[index]
        if node is None:
            node = self._nodes[index] = Node()
        return node

    def _insert_reversals(self, index: int, node: Node) -> None:
        """Insert the reversals of a node into its wakeup tree, if they lead to something new."""
        if not node.reversals:
            return
        sleeping = (*self._asleep[index], *node.done)
        for reversal in node.reversals:
            sequence = self._new_sequence(reversal, sleeping)
            if sequence is not None:
                self._waiting.insert(node, sequence, reversal.uncertain)
        node.reversals = []

    def _new_sequence(self, reversal: Reversal, sleeping: Asleep) -> list[Event] | None:
        """The sequence of a reversal, if no sleeping task could begin something equivalent."""
        sequence = reversal.sequence()
        if isinstance(reversal.event.choice, int):
            # Sleeping tasks were explored first, but an execution may fail before it gets there.
            sleeping = tuple([each for each in sleeping if each.task == reversal.event.task])
        if first_initial(sleeping, sequence) is not None:
            return None
        if len(reversal.recorded) >= LONG:
            sequence = reversal.necessary_sequence()
        return self._races.widened(reversal, sequence)

    def _put_back(self) -> None:
        if self._taken is None:
            return
        index, node, branch = self._taken
        node.branches.insert(0, branch)
        self._waiting.add(next(branch.leaves()), 1)
        while len(self._nodes) <= index:
            self._nodes.append(None)
        self._nodes[index] = node
        self._taken = None
        self._plan = None
        self._on_the_way = []

    def _event(self, index: int) -> Event | None:
        """The event with which the path continues at a node."""
        if self._is_cold:
            return self._cold_events.get(index)
        return self._races.recorded.event(index)

    # -- dividing ----------------------------------------------------------------------

    _node_type = Node
    _insertion_type = Insertion

    def _new_trunk(self) -> ReductionTrunk:
        return ReductionTrunk(self._waiting)

    def _count(self, nodes: dict[int, Node], sign: int) -> None:
        self._waiting.count(nodes, sign)

    def _opened(self) -> list[int]:
        self._put_back()
        opened = []
        for index, node in enumerate(self._nodes):
            if node is not None:
                self._insert_reversals(index, node)
                if node.branches:
                    opened.append(index)
        return opened

    def _known_choices(self) -> Sequence[Choice]:
        return self._cold_choices if self._is_cold else self._races.recorded.choices

    def _known(self, first: int, last: int) -> tuple[dict[int, Node], PathFacts]:
        facts = PathFacts()
        nodes: dict[int, Node] = {}
        for index in range(first, last + 1):
            if self._asleep[index]:
                facts.asleep[index] = self._asleep[index]
            node = self._nodes[index]
            if node is not None and (node.done or node.branches):
                nodes[index] = Node(list(node.done), node.branches)
            event = self._event(index)
            if event is not None and index >= self._base:
                facts.events[index] = event
                if index in nodes:
                    nodes[index].finish(event)
        return nodes, facts

    def _take_over(self, choices: list[Choice], facts: PathFacts) -> None:
        self._asleep = [facts.asleep.get(depth, ()) for depth in range(len(self._nodes))]
        self._is_cold = True
        self._cold_choices = choices
        self._cold_events = facts.events

    def _tell_of(self, reversal: Reversal) -> None:
        """A reversal belongs to a node above the path."""
        depth = reversal.step
        sequence = self._new_sequence(reversal, self._guards.get(depth, ()))
        if sequence is not None:
            self._tell(Insertion(depth, sequence, reversal.uncertain))

    def _note_begun(self, start: int, end: int) -> None:
        """Report the first events of the branch that a piece is for; none: it is given up."""
        if start >= self._base:
            return
        assert self._hanging is not None
        began = [self._races.recorded.event(step) for step in range(start, min(self._base, end))]
        if len(began) == self._base - start:
            self._hanging = AttachPoint(self._hanging.place, began[-1].choice)
        self._began = began


def _by_place(
    trace: Trace, index: int, branches: list[Branch]
) -> Iterator[tuple[int, list[Branch]]]:
    """Where in an execution branches belong that were meant for ``index``.

    A data choice there, which was not known, comes first for those that do not make it.
    """
    if index not in trace.arities:
        yield index, branches
        return
    behind = index
    while behind in trace.arities:
        behind += 1
    yield index, [each for each in branches if isinstance(each.events[0].choice, int)]
    yield behind, [each for each in branches if not isinstance(each.events[0].choice, int)]
