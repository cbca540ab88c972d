"""Parts of a tree that several processes explore: nodes by depth along a path, and where it hangs.

All of them can be written as plain data, since they go from one process to another and into files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from bohrbug.model.plan import Choice
from bohrbug.search.event_codec import EventReader, EventWriter
from bohrbug.search.footprint import Asleep, Event


class TrunkNode(Protocol):
    """What is known of a node at which something is or was to be explored."""

    @property
    def waiting(self) -> int:
        """How many branches there are that can be handed out now."""
        ...

    def to_json(self, writer: EventWriter) -> list[Any]:
        """It as a row."""
        ...

    @classmethod
    def from_json(cls, reader: EventReader, row: list[Any]) -> Self:
        """What :meth:`to_json` wrote."""
        ...


Node = TypeVar("Node", bound=TrunkNode)


class Inserted(Protocol):
    """What a piece has found for a node above it."""

    @property
    def key(self) -> object:
        """The same for two that say the same."""
        ...

    def to_json(self, writer: EventWriter) -> list[Any]:
        """It as a row."""
        ...

    @classmethod
    def from_json(cls, reader: EventReader, row: list[Any]) -> Self:
        """What :meth:`to_json` wrote."""
        ...


Insertion = TypeVar("Insertion", bound=Inserted)


@dataclass(frozen=True, slots=True)
class Place:
    """A node of the trunk.

    Parameters:
        segment: the name of the segment that it is on.
        depth: the number of steps that lead to it.
    """

    segment: str
    depth: int


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

    def cut(self, depth: int) -> PathFacts:
        """Part with what is of nodes below a depth."""
        gone = PathFacts(below(self.asleep, depth), below(self.events, depth))
        self.asleep = {each: self.asleep[each] for each in self.asleep if each <= depth}
        self.events = {each: self.events[each] for each in self.events if each <= depth}
        return gone

    def to_json(self, writer: EventWriter) -> list[Any]:
        """Plain data."""
        events = [[depth, writer.event(event)] for depth, event in self.events.items()]
        return [asleep_to_json(writer, self.asleep), events]

    @classmethod
    def from_json(cls, reader: EventReader, data: list[Any]) -> PathFacts:
        """What :meth:`to_json` wrote."""
        asleep, events = data
        return cls(
            asleep_from_json(reader, asleep),
            {depth: reader.event(event) for depth, event in events},
        )


Value = TypeVar("Value")


def below(by_depth: dict[int, Value], depth: int) -> dict[int, Value]:
    """What is of nodes below a depth."""
    return {each: value for each, value in by_depth.items() if each > depth}


@dataclass(slots=True)
class Segment(Generic[Node]):
    """A stretch of one path.

    Parameters:
        above: the node below which it begins; ``None`` for that which begins at the root.
        choices: of the steps that lead from there to its last node.
        nodes: by depth, where there is something to know.
        facts: what is needed to make a node where there is none yet.
        stays: what is below is not its owner's alone: others may still insert something here
            when all that hangs here has come to its end; and it can't be handed out as a whole.
        users: pieces and segments with something to do that hang at one of its nodes.
        is_idle: it has come to its end, and stays.
    """

    above: Place | None
    choices: list[Choice]
    nodes: dict[int, Node]
    facts: PathFacts = field(default_factory=PathFacts)
    stays: bool = False
    users: int = 0
    is_idle: bool = False

    @property
    def begin(self) -> int:
        """The index of its first step."""
        return 0 if self.above is None else self.above.depth

    @property
    def first(self) -> int:
        """The depth of its first node."""
        return 0 if self.above is None else self.above.depth + 1

    @property
    def last(self) -> int:
        """The depth of its last node."""
        return len(self.choices) + self.begin

    @property
    def shallowest(self) -> int | None:
        """The depth of the first node with something to hand out."""
        return min((depth for depth, node in self.nodes.items() if node.waiting), default=None)


@dataclass(frozen=True, slots=True)
class AttachPoint:
    """Where a piece hangs: everything behind a step that leaves a node of the trunk.

    Parameters:
        place: the node.
        choice: of the step.
    """

    place: Place
    choice: Choice


@dataclass(slots=True)
class Part(Generic[Node]):
    """A path with its open nodes: a piece of the work, or what is left of one.

    Parameters:
        name: of the piece.
        hanging: where it hangs; ``None``: it is the whole tree.
        choices: of the steps from the root to the last open node.
        nodes: by depth.  A node above those that it owns has the branch that the piece is for.
        facts: of the nodes that it owns, and of that one.
        guards: by depth, events that sleep at nodes that others have: what begins with one of
            them need not be told.
    """

    name: str
    hanging: AttachPoint | None
    choices: list[Choice]
    nodes: dict[int, Node]
    facts: PathFacts = field(default_factory=PathFacts)
    guards: dict[int, Asleep] = field(default_factory=dict)

    @property
    def base(self) -> int:
        """The depth of the first node that it owns."""
        return 0 if self.hanging is None else self.hanging.place.depth + 1

    @property
    def has_begun(self) -> bool:
        """Whether the branch that it is for was executed; of a whole path, always."""
        return all(depth >= self.base for depth in self.nodes)

    def segment(self) -> Segment[Node]:
        """Its own nodes as a segment that hangs where it hangs."""
        hanging = self.hanging
        nodes = {depth: node for depth, node in self.nodes.items() if depth >= self.base}
        if hanging is None:
            return Segment(None, self.choices, nodes, self.facts)
        own = [hanging.choice, *self.choices[self.base :]]
        return Segment(hanging.place, own, nodes, self.facts)

    def to_json(self, writer: EventWriter) -> list[Any]:
        """Plain data."""
        return [
            self.name,
            hanging_to_json(self.hanging),
            list(self.choices),
            nodes_to_json(writer, self.nodes),
            self.facts.to_json(writer),
            asleep_to_json(writer, self.guards),
        ]

    @classmethod
    def from_json(cls, reader: EventReader, data: list[Any], kind: type[Node]) -> Part[Node]:
        """What :meth:`to_json` wrote."""
        name, hanging, choices, nodes, facts, guards = data
        return cls(
            name,
            hanging_from_json(hanging),
            choices,
            nodes_from_json(reader, nodes, kind),
            PathFacts.from_json(reader, facts),
            asleep_from_json(reader, guards),
        )


def place_to_json(place: Place | None) -> list[Any] | None:
    """A place as a row."""
    return None if place is None else [place.segment, place.depth]


def place_from_json(row: list[Any] | None) -> Place | None:
    """The place that :func:`place_to_json` wrote."""
    return None if row is None else Place(*row)


def hanging_to_json(hanging: AttachPoint | None) -> list[Any] | None:
    """Where a piece hangs, as a row."""
    if hanging is None:
        return None
    return [hanging.place.segment, hanging.place.depth, hanging.choice]


def hanging_from_json(row: list[Any] | None) -> AttachPoint | None:
    """What :func:`hanging_to_json` wrote."""
    return None if row is None else AttachPoint(Place(row[0], row[1]), row[2])


def nodes_to_json(writer: EventWriter, nodes: dict[int, Node]) -> list[Any]:
    """Nodes by depth, as rows."""
    return [[depth, node.to_json(writer)] for depth, node in nodes.items()]


def nodes_from_json(reader: EventReader, rows: list[Any], kind: type[Node]) -> dict[int, Node]:
    """The nodes that :func:`nodes_to_json` wrote."""
    return {depth: kind.from_json(reader, row) for depth, row in rows}


def asleep_to_json(writer: EventWriter, asleep: dict[int, Asleep]) -> list[Any]:
    """Events that sleep, by depth, as rows."""
    return [[depth, writer.events(events)] for depth, events in asleep.items()]


def asleep_from_json(reader: EventReader, rows: list[Any]) -> dict[int, Asleep]:
    """What :func:`asleep_to_json` wrote."""
    return {depth: tuple(reader.events(events)) for depth, events in rows}
