"""Parts of the tree of :mod:`bohrbug.search.dpor`, as they go from one process to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bohrbug.model.plan import Choice
from bohrbug.search.event_codec import EventReader, EventWriter
from bohrbug.search.footprint import Asleep, Event
from bohrbug.search.reversals import Reversal
from bohrbug.search.trunk import (
    AttachPoint,
    Segment,
    hanging_from_json,
    hanging_to_json,
    place_from_json,
    place_to_json,
)
from bohrbug.search.wakeup_tree import Branch, insert


class Node:
    """A prefix at which something is or was to be explored.

    Parameters (one per slot):
        done: the first events of the branches that are explored, or that others explore.
        branches: the wakeup tree.
        reversals: found, but not yet inserted into the tree.
        held: the branch that a piece is for whose first event is not known yet, because nobody has
            executed it; until then nothing else is begun here, for it has to sleep in what is
            begun later.
        held_by: the name of that piece.
        late: what is to be inserted when that event is known.
    """

    __slots__ = ("branches", "done", "held", "held_by", "late", "reversals")

    def __init__(
        self, done: list[Event] | None = None, branches: list[Branch] | None = None
    ) -> None:
        self.done: list[Event] = [] if done is None else done
        self.branches: list[Branch] = [] if branches is None else branches
        self.reversals: list[Reversal] = []
        self.held: Branch | None = None
        self.held_by: str | None = None
        self.late: list[Insertion] = []

    @property
    def waiting(self) -> int:
        """See :class:`~bohrbug.search.trunk.TrunkNode`."""
        return 0 if self.held_by is not None else len(self.branches)

    def finish(self, event: Event) -> None:
        """A branch that begins with this event is explored, or another process explores it."""
        if all(event.choice != done.choice for done in self.done):
            self.done.append(event)


@dataclass(slots=True)
class Insertion:
    """A sequence that belongs into the wakeup tree of a node that somebody else has.

    Parameters:
        depth: the number of steps that lead to the node.
        sequence: the events.
        uncertain: see :func:`~bohrbug.search.wakeup_tree.insert`.
        began: how many branches of the node had begun, in their order, when that one began in
            which it was found; those that began later have to take it in.
    """

    depth: int
    sequence: list[Event]
    uncertain: bool
    began: int = 0


class Waiting:
    """The leaves of all wakeup trees of a process, and how many events are held for them.

    Parameters:
        limit: of the events; what is beyond it is dropped.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.leaves = 0
        self.held = 0
        self.dropped = 0

    def insert(self, node: Node, sequence: list[Event], uncertain: bool) -> None:
        """Insert a sequence into the wakeup tree of a node."""
        if self.held + len(sequence) > self._limit:
            self.dropped += 1
        elif insert(node.branches, sequence, uncertain):
            self.leaves += 1
            self.held += len(sequence)

    def add(self, leaf: Branch, sign: int) -> None:
        """Count a leaf that comes, 1, or goes, -1."""
        self.leaves += sign
        self.held += sign * leaf.weight

    def forget(self, branch: Branch) -> None:
        """A branch is not to be explored any more."""
        for leaf in branch.leaves():
            self.add(leaf, -1)

    def is_new(self, node: Node, branch: Branch) -> bool:
        """Whether nobody has begun with the first event of a branch; else it is forgotten."""
        first = branch.events[0]
        if all(first.choice != done.choice for done in node.done):
            return True
        self.forget(branch)
        return False

    def count(self, nodes: dict[int, Node], sign: int) -> None:
        """Count the leaves of nodes that come, 1, or go, -1."""
        for node in nodes.values():
            for branch in node.branches:
                for leaf in branch.leaves():
                    self.add(leaf, sign)


@dataclass(slots=True)
class PathFacts:
    """Of a path: what a node has to know where there is none yet.

    Parameters:
        asleep: by depth, the events that sleep there before anything was explored; only where
            there are some.
        events: by depth, what the path goes on with.
    """

    asleep: dict[int, Asleep] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)


@dataclass(slots=True)
class Part:
    """A path with its open nodes: a piece of the work, or what is left of one.

    Parameters:
        name: of the piece.
        hanging: where it hangs; ``None``: it is the whole tree.
        choices: of the steps from the root to the last open node.
        nodes: by depth.  A node above those that it owns has the branch that the piece is for.
        lore: of the nodes that it owns, and of that one.
        guards: by depth, events that sleep at nodes that others have: what begins with one of
            them need not be told.
        splits: segments that it has parted with.
    """

    name: str
    hanging: AttachPoint | None
    choices: list[Choice]
    nodes: dict[int, Node]
    lore: PathFacts
    guards: dict[int, Asleep] = field(default_factory=dict)
    splits: int = 0

    @property
    def base(self) -> int:
        """The depth of the first node that it owns."""
        return 0 if self.hanging is None else self.hanging.place.depth + 1

    def segment(self) -> Segment[Node, PathFacts]:
        """Its own nodes as a segment that hangs where it hangs."""
        hanging = self.hanging
        nodes = {depth: node for depth, node in self.nodes.items() if depth >= self.base}
        if hanging is None:
            return Segment(None, self.choices, nodes, self.lore)
        own = [hanging.choice, *self.choices[self.base :]]
        return Segment(hanging.place, own, nodes, self.lore)


def nodes_to_json(writer: EventWriter, nodes: dict[int, Node]) -> list[Any]:
    """Nodes by depth, as rows."""
    return [
        [
            depth,
            writer.events(node.done),
            writer.branches(node.branches),
            node.held_by,
            None if node.held is None else writer.branches([node.held]),
            [insertion_to_json(writer, each) for each in node.late],
        ]
        for depth, node in nodes.items()
    ]


def nodes_from_json(reader: EventReader, rows: list[Any]) -> dict[int, Node]:
    """The nodes that :func:`nodes_to_json` wrote."""
    nodes = {}
    for depth, done, branches, held_by, held, late in rows:
        node = nodes[depth] = Node(reader.events(done), reader.branches(branches))
        node.held_by = held_by
        node.held = None if held is None else reader.branches(held)[0]
        node.late = [insertion_from_json(reader, each) for each in late]
    return nodes


def insertion_to_json(writer: EventWriter, insertion: Insertion) -> list[Any]:
    """An insertion as a row."""
    sequence = writer.events(insertion.sequence)
    return [insertion.depth, sequence, insertion.uncertain, insertion.began]


def insertion_from_json(reader: EventReader, row: list[Any]) -> Insertion:
    """The insertion that :func:`insertion_to_json` wrote."""
    depth, sequence, uncertain, began = row
    return Insertion(depth, reader.events(sequence), uncertain, began)


def _asleep_to_json(writer: EventWriter, asleep: dict[int, Asleep]) -> list[Any]:
    return [[depth, writer.events(events)] for depth, events in asleep.items()]


def _asleep_from_json(reader: EventReader, rows: list[Any]) -> dict[int, Asleep]:
    return {depth: tuple(reader.events(events)) for depth, events in rows}


def _lore_to_json(writer: EventWriter, lore: PathFacts) -> list[Any]:
    events = [[depth, writer.event(event)] for depth, event in lore.events.items()]
    return [_asleep_to_json(writer, lore.asleep), events]


def _lore_from_json(reader: EventReader, data: list[Any]) -> PathFacts:
    asleep, events = data
    return PathFacts(
        _asleep_from_json(reader, asleep), {depth: reader.event(event) for depth, event in events}
    )


def part_to_json(writer: EventWriter, part: Part) -> list[Any]:
    """A part as plain data."""
    return [
        part.name,
        hanging_to_json(part.hanging),
        list(part.choices),
        nodes_to_json(writer, part.nodes),
        _lore_to_json(writer, part.lore),
        _asleep_to_json(writer, part.guards),
        part.splits,
    ]


def part_from_json(reader: EventReader, data: list[Any]) -> Part:
    """The part that :func:`part_to_json` wrote."""
    name, hanging, choices, nodes, lore, guards, splits = data
    return Part(
        name,
        hanging_from_json(hanging),
        choices,
        nodes_from_json(reader, nodes),
        _lore_from_json(reader, lore),
        _asleep_from_json(reader, guards),
        splits,
    )


def segment_to_json(writer: EventWriter, segment: Segment[Node, PathFacts]) -> list[Any]:
    """A segment as plain data."""
    return [
        place_to_json(segment.above),
        list(segment.choices),
        nodes_to_json(writer, segment.nodes),
        _lore_to_json(writer, segment.lore),
        segment.stays,
        segment.is_idle,
    ]


def segment_from_json(reader: EventReader, data: list[Any]) -> Segment[Node, PathFacts]:
    """The segment that :func:`segment_to_json` wrote; its users are counted anew."""
    above, choices, nodes, lore, stays, is_idle = data
    return Segment(
        place_from_json(above),
        choices,
        nodes_from_json(reader, nodes),
        _lore_from_json(reader, lore),
        stays,
        is_idle=is_idle,
    )
