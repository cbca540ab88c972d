"""One execution for each happens-before graph: optimal dynamic partial-order reduction."""

from __future__ import annotations

from typing import Any

from bohrbug.search.branching import Tally, counted
from bohrbug.search.divisible import VERSION, State, checked_state
from bohrbug.search.dpor_parts import (
    Insertion,
    Node,
    Part,
    PathFacts,
    insertion_from_json,
    insertion_to_json,
    part_from_json,
    part_to_json,
    segment_from_json,
    segment_to_json,
)
from bohrbug.search.dpor_path import ReductionPath
from bohrbug.search.dpor_trunk import ReductionTrunk
from bohrbug.search.estimates import Estimate, share_of_tree, size_of_growing_tree
from bohrbug.search.event_codec import EventReader, EventWriter
from bohrbug.search.footprint import Asleep, Event
from bohrbug.search.reversals import Reversal
from bohrbug.search.trunk import AttachPoint, Place, hanging_from_json, hanging_to_json

TOLD_TOGETHER = 32
"""Reversals for nodes of another process that wait until it is told of them."""


class OptimalReduction(ReductionPath):
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
    linear in its steps.  Of executions with :data:`~bohrbug.search.dpor_path.LONG` steps and
    more, only the part of a reversal that its last event depends on is kept.  That loses no
    graph, but some may then be executed more than once.

    *Several processes.*  All that is known of a subtree is the prefix of its node, who sleeps
    there, and its wakeup tree; these are plain data, and another process explores the subtree
    with them.  A race that it finds may have to be inserted at a node above the subtree: such
    nodes belong to the first process (:mod:`bohrbug.search.trunk`), which is told the sequence.
    Whoever has a subtree gives its upper nodes to the first process when others have nothing to
    do.  The order of exploration is free, and nothing is executed twice, because:

    1. What counts is the order in which the branches of a node are *begun*, however long each
       takes.  What has begun before sleeps in what is begun later, and an insertion that a
       branch begun before could begin with is covered by that.
    2. An insertion that a branch begun *later* could begin with belongs into that one's wakeup
       tree, as if it had been found before.  So of a branch only a leaf is handed out:
       the nodes on the way to it, where somebody may still sleep, stay in the trunk and take
       such insertions.  Behind the leaf everything is explored that there is, and nothing
       need be inserted from outside.
    3. The event that stands for a begun branch is the one that was executed; until the
       process that has it has told it, nothing else is begun at the node or inserted there.

    Parameters:
        steps: reverse the first ``steps`` steps of an execution only.
        waiting_limit: events to keep in wakeup trees; what is beyond it is dropped, and said.
    """

    name = "dpor"

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        # The part of the tree that was done, and executions, when it was looked at last.
        self._share = 0.0
        self._share_at = 0
        # The nodes above all that is with other processes; only the first process has it.
        self._trunk: ReductionTrunk | None = ReductionTrunk(self._waiting)
        self._piece = self._trunk.new_name()
        self._trunk.attach(self._piece, None)

    def _clear_path(self) -> None:
        super()._clear_path()
        # Where the path hangs, and what the owner of that place has to know.
        self._hanging: AttachPoint | None = None
        self._splits = 0
        self._guards: dict[int, Asleep] = {}
        self._told: set[tuple[object, ...]] = set()
        self._insertions: list[Insertion] = []
        self._began: list[Event] | None = None

    # -- what to say -----------------------------------------------------------------

    @property
    def redundant(self) -> int:
        """Executions so far whose happens-before graph had been executed before."""
        return self._redundant

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to explore, here or elsewhere."""
        if self._waiting.dropped or self.next_plan() is not None:
            return False
        return self._trunk is None or not self._trunk.pieces

    @property
    def given_up(self) -> int:
        """See :class:`~bohrbug.search.strategy.GivingUp`."""
        return self._tally.diverged

    @property
    def complete(self) -> bool:
        """Whether a schedule for every happens-before graph was executed."""
        return self.exhausted and self._tally.is_whole

    @property
    def estimate(self) -> Estimate | None:
        """How many executions it takes in all, from the explored part of the tree."""
        trunk = self._trunk
        if trunk is not None and (trunk.segments or trunk.pieces.keys() - {self._piece}):
            root = next((name for name, each in trunk.segments.items() if each.above is None), None)
            if root is not None:
                self._share = trunk.share_behind(root)
                self._share_at = self._tally.executions
            # Else all is with another process, and what was known last has to do.
            return size_of_growing_tree(self._share_at, self._share, "executions")
        levels: list[tuple[int, int]] = []
        opened = 0
        for index, node in enumerate(self._nodes):
            if node is None:
                continue
            waiting = len(node.branches) + len(node.reversals)
            current = self._event(index)
            done = sum(current is None or event.choice != current.choice for event in node.done)
            levels.append((done, done + 1 + waiting))
            if waiting:
                opened = len(levels)
        # What is below the last node with something to explore is done.
        del levels[opened:]
        if levels:
            done, branches = levels[-1]
            levels[-1] = (done + 1, branches)
        self._share, self._share_at = share_of_tree(levels), self._tally.executions
        return size_of_growing_tree(self._share_at, self._share, "executions")

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

    # -- dividing: what belongs to others ------------------------------------------------

    @property
    def _base(self) -> int:
        """The depth of the first node of the path that is its own."""
        return 0 if self._hanging is None else self._hanging.place.depth + 1

    def _tell(self, reversal: Reversal) -> None:
        """A reversal belongs to a node above the path."""
        depth = reversal.step
        sequence = self._new_sequence(reversal, self._guards.get(depth, ()))
        if sequence is None:
            return
        insertion = Insertion(depth, sequence, reversal.uncertain)
        if self._trunk is not None:
            assert self._hanging is not None
            self._trunk.insert_from(self._hanging, insertion)
            return
        # Whether one covers another depends on what the owner has; only the same is the same.
        known = (depth, reversal.uncertain, tuple(sequence))
        if known not in self._told:
            self._told.add(known)
            self._insertions.append(insertion)

    def _note_begun(self, start: int, end: int) -> None:
        """Tell the first events of the branch that a piece is for; none: it is given up."""
        if start >= self._base:
            return
        assert self._hanging is not None
        began = [self._races.recorded.event(step) for step in range(start, min(self._base, end))]
        if len(began) == self._base - start:
            self._hanging = AttachPoint(self._hanging.place, began[-1].choice)
        if self._trunk is not None:
            self._trunk.unlock(self._piece, began)
        else:
            self._began = began

    # -- dividing: paths and parts -------------------------------------------------------

    def _open_nodes(self) -> list[int]:
        """Where something is left to explore, with all reversals inserted."""
        self._put_back()
        opened = []
        for index, node in enumerate(self._nodes):
            if node is not None:
                self._insert_reversals(index, node)
                if node.branches:
                    opened.append(index)
        return opened

    def _part(self) -> Part | None:
        """The path and its open nodes; ``None`` if there are none.  Nothing is changed by it."""
        opened = self._open_nodes()
        if not opened:
            return None
        return self._part_between(min(self._base, opened[0]), opened[-1])

    def _part_between(self, first: int, last: int) -> Part:
        lore = PathFacts()
        nodes: dict[int, Node] = {}
        for index in range(first, last + 1):
            if self._asleep[index]:
                lore.asleep[index] = self._asleep[index]
            node = self._nodes[index]
            if node is not None and (node.done or node.branches):
                nodes[index] = Node(list(node.done), node.branches)
            event = self._event(index)
            if event is not None and index >= self._base:
                lore.events[index] = event
                if index in nodes:
                    nodes[index].finish(event)
        known = self._known_choices if self._is_cold else self._races.recorded.choices
        return Part(
            self._piece,
            self._hanging,
            list(known[:last]),
            nodes,
            lore,
            self._guards,
            self._splits,
        )

    def _load(self, part: Part) -> None:
        """Go on with a part, whatever the path was before."""
        self._clear_path()
        top = max(part.nodes, default=-1)
        self._nodes = [part.nodes.get(depth) for depth in range(top + 1)]
        self._asleep = [part.lore.asleep.get(depth, ()) for depth in range(top + 1)]
        self._is_cold = True
        self._known_choices = part.choices
        self._known_events = part.lore.events
        self._piece = part.name
        self._hanging = part.hanging
        self._guards = part.guards
        self._splits = part.splits

    # -- dividing: the trunk -------------------------------------------------------------

    def _go_on_elsewhere(self) -> bool:
        """The path is at its end: go on with what is left elsewhere in the tree."""
        trunk = self._trunk
        if trunk is None:
            return False
        trunk.detach(self._piece)
        part = trunk.next_part(guarded=False)
        if part is None:
            self._clear_path()
            return False
        self._load(part)
        return True

    def _stash(self, trunk: ReductionTrunk) -> None:
        """Make what is left of the path a part of the trunk."""
        part = self._part()
        if part is not None:
            trunk.give_back(part, None)
        else:
            trunk.detach(self._piece)
        self._clear_path()

    # -- dividing: between processes -----------------------------------------------------

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        writer = EventWriter(self._races)
        part = self._part()
        trunk = self._trunk
        state = {
            **self._head(),
            "fresh": self._is_fresh,
            "tally": self._tally.to_json(),
            "dropped": self._waiting.dropped,
            "redundant": self._redundant,
            "piece": self._piece,
            "hanging": hanging_to_json(self._hanging),
            "part": None if part is None else part_to_json(writer, part),
            "insertions": [insertion_to_json(writer, each) for each in self._insertions],
            "began": None if self._began is None else writer.events(self._began),
            "trunk": None
            if trunk is None
            else {
                "named": trunk.named,
                "pieces": [
                    [name, hanging_to_json(hanging)]
                    for name, hanging in trunk.pieces.items()
                    if name != self._piece
                ],
                "segments": [
                    [name, segment_to_json(writer, segment)]
                    for name, segment in trunk.segments.items()
                ],
            },
        }
        state["footprints"] = writer.footprints
        return state

    def _head(self) -> State:
        return {"strategy": self.name, "version": VERSION}

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self.restart()
        self._tally = Tally.from_json(state["tally"])
        self._waiting.dropped, self._redundant = state["dropped"], state["redundant"]
        if state["fresh"]:
            return
        reader = EventReader(self._races, state["footprints"])
        self._is_fresh = False
        self._trunk = None if state["trunk"] is None else self._read_trunk(reader, state["trunk"])
        if state["part"] is not None:
            part = part_from_json(reader, state["part"])
            self._load(part)
            self._waiting.count(part.nodes, 1)
        else:
            self._clear_path()
            self._piece, self._hanging = state["piece"], hanging_from_json(state["hanging"])
        if self._trunk is not None and state["part"] is not None:
            self._trunk.attach(self._piece, self._hanging)
        self._insertions = [insertion_from_json(reader, each) for each in state["insertions"]]
        self._began = None if state["began"] is None else reader.events(state["began"])

    def _read_trunk(self, reader: EventReader, data: dict[str, Any]) -> ReductionTrunk:
        trunk = ReductionTrunk(self._waiting, data["named"])
        segments = [(name, segment_from_json(reader, row)) for name, row in data["segments"]]
        # Those nearer to the root first, for what hangs at another needs that one.
        for name, segment in sorted(segments, key=lambda each: each[1].first):
            trunk.add(name, segment)
            self._waiting.count(segment.nodes, 1)
        for name, hanging in data["pieces"]:
            trunk.attach(name, hanging_from_json(hanging))
        return trunk

    def take_piece(self, most: int) -> State | None:  # noqa: ARG002
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        trunk = self._trunk
        if trunk is None or self._is_fresh:
            return None
        if self._piece in trunk.pieces:
            self._stash(trunk)
        part = trunk.next_part()
        if part is None:
            return None
        self._waiting.count(part.nodes, -1)
        writer = EventWriter(self._races)
        return {
            **self._head(),
            "fresh": False,
            "tally": Tally().to_json(),
            "dropped": 0,
            "redundant": 0,
            "piece": part.name,
            "hanging": hanging_to_json(part.hanging),
            "part": part_to_json(writer, part),
            "insertions": [],
            "began": None,
            "trunk": None,
            "footprints": writer.footprints,
        }

    def split(self) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`: see :meth:`report` instead."""
        return None

    def report(self, wanted: bool) -> State | None:
        """See :class:`~bohrbug.search.divisible.Reporting`."""
        if self._trunk is not None:
            return None
        writer = EventWriter(self._races)
        segment = self._give_up(writer) if wanted else None
        is_urgent = wanted or self._began is not None or len(self._insertions) >= TOLD_TOGETHER
        if segment is None and not (is_urgent and (self._insertions or self._began is not None)):
            return None
        told = {
            **self._head(),
            "news_of": self._piece,
            "began": None if self._began is None else writer.events(self._began),
            "insertions": [insertion_to_json(writer, each) for each in self._insertions],
            "segment": segment,
            "footprints": writer.footprints,
        }
        self._began, self._insertions = None, []
        return told

    def _give_up(self, writer: EventWriter) -> list[Any] | None:
        """Part with the upper nodes of the path, down to the first with something to explore."""
        if self._is_cold:
            return None
        opened = self._open_nodes()
        if len(opened) < 2 or opened[0] < self._base:
            return None
        last = opened[0]
        part = self._part_between(self._base, last)
        self._waiting.count(part.nodes, -1)
        name = f"{self._piece}.{self._splits}"
        self._splits += 1
        for depth in range(self._base, last + 1):
            node = part.nodes.get(depth)
            done = node.done if node is not None else [part.lore.events[depth]]
            self._guards[depth] = (*part.lore.asleep.get(depth, ()), *done)
            self._nodes[depth] = None
        event = self._event(last)
        assert event is not None
        self._hanging = AttachPoint(Place(name, last), event.choice)
        return [name, event.choice, segment_to_json(writer, part.segment())]

    def merge(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        trunk = self._trunk
        assert trunk is not None, "only who knows the whole takes something in"
        reader = EventReader(self._races, state["footprints"])
        piece = state["news_of"] if "news_of" in state else state["piece"]
        began = None if state["began"] is None else reader.events(state["began"])
        if piece not in trunk.pieces:
            # It was given up.
            return
        if began is not None:
            trunk.unlock(piece, began)
        for row in state["insertions"]:
            hanging = trunk.pieces[piece]
            assert hanging is not None
            trunk.insert_from(hanging, insertion_from_json(reader, row))
        if "news_of" in state:
            if state["segment"] is not None:
                name, choice, row = state["segment"]
                segment = segment_from_json(reader, row)
                self._waiting.count(segment.nodes, 1)
                trunk.add(name, segment)
                trunk.detach(piece)
                trunk.attach(piece, AttachPoint(Place(name, segment.last), choice))
            return
        self._tally.add(Tally.from_json(state["tally"]))
        self._waiting.dropped += state["dropped"]
        self._redundant += state["redundant"]
        if state["part"] is None:
            trunk.detach(piece)
        else:
            part = part_from_json(reader, state["part"])
            self._waiting.count(part.nodes, 1)
            trunk.give_back(part, began)

    def position(self) -> None:
        """A tree has no such sequence: see :class:`~bohrbug.search.divisible.Divisible`."""
        return
