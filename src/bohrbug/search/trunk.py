"""The part of a reduced tree that lies above everything that is with other processes.

Whoever goes through a piece of a tree finds races whose reversal belongs to a node above the
piece.  That node has one owner, the first process, which keeps it here: the *trunk*.  A piece
hangs at a node of the trunk, its *place*; it owns all nodes below that one, until it parts with
some, which become another segment of the trunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from bohrbug.model.plan import Choice


class TrunkNode(Protocol):
    """What is known of a node at which something is or was to be explored."""

    @property
    def waiting(self) -> int:
        """How many branches there are that can be handed out now."""
        ...


Node = TypeVar("Node", bound=TrunkNode)
Lore = TypeVar("Lore")


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
class Segment(Generic[Node, Lore]):
    """A stretch of one path.

    Parameters:
        above: the node below which it begins; ``None`` for that which begins at the root.
        choices: of the steps that lead from there to its last node.
        nodes: by depth, where there is something to know.
        lore: what is needed to make a node where there is none yet.
        users: pieces and segments that hang at one of its nodes.
    """

    above: Place | None
    choices: list[Choice]
    nodes: dict[int, Node]
    lore: Lore
    users: int = 0

    @property
    def first(self) -> int:
        """The depth of its first node."""
        return 0 if self.above is None else self.above.depth + 1

    @property
    def last(self) -> int:
        """The depth of its last node."""
        return len(self.choices) + (0 if self.above is None else self.above.depth)

    @property
    def shallowest(self) -> int | None:
        """The depth of the first node with something to hand out."""
        return min((depth for depth, node in self.nodes.items() if node.waiting), default=None)


@dataclass(slots=True)
class Trunk(Generic[Node, Lore]):
    """Segments by name, and the places at which pieces hang."""

    segments: dict[str, Segment[Node, Lore]] = field(default_factory=dict)
    pieces: dict[str, Place | None] = field(default_factory=dict)
    named: int = 0
    """Names given out so far."""

    def new_name(self) -> str:
        """A name that nothing has."""
        self.named += 1
        return str(self.named)

    # -- what hangs where ------------------------------------------------------------

    def attach(self, piece: str, place: Place | None) -> None:
        """Let a piece hang at a node; ``None``: it is the whole tree."""
        self.pieces[piece] = place
        if place is not None:
            self.segments[place.segment].users += 1

    def detach(self, piece: str) -> None:
        """A piece has come to its end."""
        self._release(self.pieces.pop(piece, None))

    def add(self, name: str, segment: Segment[Node, Lore]) -> None:
        """Add a segment."""
        self.segments[name] = segment
        if segment.above is not None:
            self.segments[segment.above.segment].users += 1

    def remove(self, name: str) -> Segment[Node, Lore]:
        """Take a segment away at which nothing hangs."""
        segment = self.segments.pop(name)
        if segment.above is not None:
            self.segments[segment.above.segment].users -= 1
        return segment

    def _release(self, place: Place | None) -> None:
        """One user fewer; a segment that nobody can insert into any more is let go of."""
        while place is not None:
            segment = self.segments[place.segment]
            segment.users -= 1
            if segment.users or segment.shallowest is not None:
                return
            del self.segments[place.segment]
            place = segment.above

    def let_go(self, name: str) -> None:
        """Let go of a segment, and of those above it, if nothing is left to do there."""
        segment = self.segments.get(name)
        if segment is not None and not segment.users and segment.shallowest is None:
            del self.segments[name]
            self._release(segment.above)

    # -- looking ---------------------------------------------------------------------

    def owner(self, place: Place, depth: int) -> Segment[Node, Lore]:
        """The segment of the node with so many steps on the way to a place."""
        segment = self.segments[place.segment]
        while depth < segment.first:
            assert segment.above is not None
            segment = self.segments[segment.above.segment]
        return segment

    def above(self, place: Place) -> Iterator[tuple[Segment[Node, Lore], int]]:
        """Each segment on the way to a place, from there upwards, with the last depth on it."""
        at: Place | None = place
        while at is not None:
            segment = self.segments[at.segment]
            yield segment, at.depth
            at = segment.above

    def choices_to(self, place: Place) -> list[Choice]:
        """The choices of the steps that lead to a place."""
        stretches = [
            segment.choices[: depth - (0 if segment.above is None else segment.above.depth)]
            for segment, depth in self.above(place)
        ]
        return [choice for stretch in reversed(stretches) for choice in stretch]

    def best(self) -> str | None:
        """The segment with the shallowest open node: behind that one there should be most."""
        open_at = {
            name: depth
            for name, segment in self.segments.items()
            if (depth := segment.shallowest) is not None
        }
        return min(open_at, key=lambda name: open_at[name]) if open_at else None
