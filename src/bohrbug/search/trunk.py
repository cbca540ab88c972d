"""The part of a reduced tree that lies above everything that is with other processes.

Whoever goes through a piece of a tree finds races whose reversal belongs to a node above the
piece.  That node has one owner, the first process, which keeps it here: the *trunk*.  A piece
hangs at a node of the trunk, its *place*; it owns all nodes below that one, until it parts with
some, which become another segment of the trunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from bohrbug.model.plan import Choice


class TrunkNode(Protocol):
    """What is known of a node at which something is or was to be explored."""

    @property
    def waiting(self) -> int:
        """How many branches there are that can be handed out now."""
        ...


Node = TypeVar("Node", bound=TrunkNode)
PathFacts = TypeVar("PathFacts")


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
class Segment(Generic[Node, PathFacts]):
    """A stretch of one path.

    Parameters:
        above: the node below which it begins; ``None`` for that which begins at the root.
        choices: of the steps that lead from there to its last node.
        nodes: by depth, where there is something to know.
        lore: what is needed to make a node where there is none yet.
        stays: what is below is not its owner's alone: others may still insert something here
            when all that hangs here has come to its end; and it can't be handed out as a whole.
        users: pieces and segments with something to do that hang at one of its nodes.
        is_idle: it has come to its end, and stays.
    """

    above: Place | None
    choices: list[Choice]
    nodes: dict[int, Node]
    lore: PathFacts
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


class Trunk(Generic[Node, PathFacts]):
    """Segments by name, and where pieces hang.

    Parameters:
        named: names given out so far.
    """

    def __init__(self, named: int = 0) -> None:
        self.named = named
        self.segments: dict[str, Segment[Node, PathFacts]] = {}
        self.pieces: dict[str, AttachPoint | None] = {}
        self._behind: dict[tuple[Place, Choice], str] = {}

    def new_name(self) -> str:
        """A name that nothing has."""
        self.named += 1
        return str(self.named)

    # -- what hangs where ------------------------------------------------------------

    def attach(self, piece: str, hanging: AttachPoint | None) -> None:
        """Let a piece hang somewhere; ``None``: it is the whole tree."""
        self.pieces[piece] = hanging
        if hanging is not None:
            self.segments[hanging.place.segment].users += 1

    def detach(self, piece: str) -> None:
        """A piece has come to its end."""
        hanging = self.pieces.pop(piece, None)
        if hanging is not None:
            self._release(hanging.place.segment)

    def add(self, name: str, segment: Segment[Node, PathFacts]) -> None:
        """Add a segment."""
        self.segments[name] = segment
        if segment.above is not None:
            self._behind[segment.above, segment.choices[0]] = name
            if not segment.is_idle:
                self.segments[segment.above.segment].users += 1

    def remove(self, name: str) -> None:
        """Take a segment away at which nothing hangs, and whose place something else takes."""
        segment = self._delete(name)
        if segment.above is not None:
            self.segments[segment.above.segment].users -= 1

    def _delete(self, name: str) -> Segment[Node, PathFacts]:
        segment = self.segments.pop(name)
        if segment.above is not None:
            self._behind.pop((segment.above, segment.choices[0]), None)
        for below in [
            each
            for each, other in self.segments.items()
            if other.above is not None and other.above.segment == name
        ]:
            self._delete(below)
        return segment

    def _release(self, name: str) -> None:
        """One user fewer; a segment that nobody can insert into any more is let go of."""
        self.segments[name].users -= 1
        self.let_go(name)

    def let_go(self, name: str) -> None:
        """Let go of a segment, and of those above it, if nothing is left to do there."""
        segment = self.segments.get(name)
        if segment is None or segment.users or segment.is_idle or segment.shallowest is not None:
            return
        if segment.stays:
            segment.is_idle = True
        else:
            self._delete(name)
        if segment.above is not None:
            self._release(segment.above.segment)

    def wake(self, segment: Segment[Node, PathFacts]) -> None:
        """Something was inserted into a segment that had come to its end."""
        while segment.is_idle:
            segment.is_idle = False
            assert segment.above is not None
            segment = self.segments[segment.above.segment]
            segment.users += 1

    # -- looking ---------------------------------------------------------------------

    def owner(self, hanging: AttachPoint, depth: int) -> tuple[Place, Choice]:
        """A node on the way to where a piece hangs, and the step that leaves it there.

        Parameters:
            hanging: where the piece hangs.
            depth: of the node.
        """
        place, choice = hanging.place, hanging.choice
        segment = self.segments[place.segment]
        while depth < segment.first:
            assert segment.above is not None
            place, choice = segment.above, segment.choices[0]
            segment = self.segments[place.segment]
        if depth < place.depth:
            choice = segment.choices[depth - segment.begin]
        return Place(place.segment, depth), choice

    def behind(self, place: Place, choice: Choice) -> Place | None:
        """The node of the trunk behind a step; ``None`` if it is not in the trunk."""
        segment = self.segments[place.segment]
        if place.depth < segment.last and segment.choices[place.depth - segment.begin] == choice:
            return Place(place.segment, place.depth + 1)
        name = self._behind.get((place, choice))
        return None if name is None else Place(name, self.segments[name].first)

    def way_to(self, hanging: AttachPoint) -> Iterator[tuple[Place, Choice]]:
        """Each node on the way to where a piece hangs, and its step, from there upwards."""
        for depth in range(hanging.place.depth, -1, -1):
            yield self.owner(hanging, depth)

    def choices_to(self, place: Place) -> list[Choice]:
        """The choices of the steps that lead to a place."""
        stretches = []
        at: Place | None = place
        while at is not None:
            segment = self.segments[at.segment]
            stretches.append(segment.choices[: at.depth - segment.begin])
            at = segment.above
        return [choice for stretch in reversed(stretches) for choice in stretch]

    def best(self) -> str | None:
        """The segment with the shallowest open node: behind that one there should be most."""
        open_at = {
            name: depth
            for name, segment in self.segments.items()
            if not segment.is_idle and (depth := segment.shallowest) is not None
        }
        return min(open_at, key=lambda name: open_at[name]) if open_at else None


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
