"""The part of a reduced tree above everything that other processes have.

Exploring a piece of a tree finds races whose reversal belongs to a node above the
piece.  That node has one owner, the first process, which keeps it here: the *trunk*.  A piece
is attached to a node of the trunk, its *place*; it owns all nodes below that one.  When it comes
back, what is left of it becomes another segment of the trunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic

from bohrbug.model.plan import Choice
from bohrbug.search.event_codec import EventReader, EventWriter
from bohrbug.search.footprint import Event
from bohrbug.search.tree_parts import (
    AttachPoint,
    Insertion,
    Node,
    Part,
    PathFacts,
    Place,
    Segment,
    below,
    hanging_from_json,
    hanging_to_json,
    nodes_from_json,
    nodes_to_json,
    place_from_json,
    place_to_json,
)


class Trunk(Generic[Node, Insertion]):
    """Segments by name, and where pieces are attached.

    Subclasses say how a branch of a node is handed out, and what happens to an insertion.

    Parameters:
        kind: the class of its nodes.
    """

    def __init__(self, kind: type[Node]) -> None:
        self._kind = kind
        self.named = 0
        self.segments: dict[str, Segment[Node]] = {}
        self.pieces: dict[str, AttachPoint | None] = {}
        self._behind: dict[tuple[Place, Choice], str] = {}

    # -- what strategies differ in -----------------------------------------------------

    def new_node(self, segment: Segment[Node], depth: int) -> Node:
        """The node at a depth of which only is known how the segment continues there."""
        raise NotImplementedError

    def insert(self, hanging: AttachPoint, insertion: Insertion) -> None:
        """Insert what a piece has found at a node above it."""
        raise NotImplementedError

    def _hold(self, piece: str, place: Place) -> Part[Node] | None:
        """Hand out a branch of a node; ``None`` if it turns out that there is none."""
        raise NotImplementedError

    def _unlock(self, part: Part[Node] | None, piece: str, began: Sequence[Event] | None) -> None:
        """It is known how far the branch of a piece has come.

        Parameters:
            part: what is left of the piece.
            piece: its name.
            began: the first events of the branch; none if it is given up; ``None`` if it was not
                begun, or does not exist.
        """
        raise NotImplementedError

    # -- pieces ------------------------------------------------------------------------

    def next_part(self, wanted: int = 1) -> Part[Node] | None:
        """A part that no process has: a whole segment, or a branch of a node.

        Parameters:
            wanted: if there are fewer segments, one of them is divided.
        """
        while opened := self._opened():
            # Most work should be below the shallowest open node.
            name = min(opened, key=lambda each: opened[each])
            segment, depth = self.segments[name], opened[name]
            part: Part[Node] | None
            if segment.users or segment.stays:
                part = self._hold(self.new_name(), Place(name, depth))
                if part is None:
                    self.let_go(name)
                    continue
            elif len(opened) < wanted and self._cut(name, depth):
                continue
            else:
                top = max(depth for depth, node in segment.nodes.items() if node.waiting)
                choices = self.choices_to(Place(name, top))
                nodes = {depth: node for depth, node in segment.nodes.items() if depth <= top}
                above = segment.above
                hanging = None if above is None else AttachPoint(above, segment.choices[0])
                self.remove(name)
                part = Part(self.new_name(), hanging, choices, nodes, segment.facts)
            self.attach(part.name, part.hanging)
            return part
        return None

    def _opened(self) -> dict[str, int]:
        """The segments with something to hand out, and the depth of its first."""
        return {
            name: depth
            for name, segment in self.segments.items()
            if not segment.is_idle and (depth := segment.shallowest) is not None
        }

    def _cut(self, name: str, depth: int) -> bool:
        """Divide a segment to which nothing is attached, below a node; False if none is there."""
        # Segments that are finished may be attached to the lower part: as nothing can be inserted
        # there any more, nobody will look for them.
        segment = self.segments[name]
        nodes = below(segment.nodes, depth)
        if not any(node.waiting for node in nodes.values()):
            return False
        for each in nodes:
            del segment.nodes[each]
        until = depth - segment.begin
        choices = segment.choices[until:]
        del segment.choices[until:]
        self.add(
            self.new_name(), Segment(Place(name, depth), choices, nodes, segment.facts.cut(depth))
        )
        return True

    def take_back(
        self,
        piece: str,
        part: Part[Node] | None,
        insertions: Sequence[Insertion],
        began: Sequence[Event] | None,
    ) -> None:
        """A piece comes back.

        Parameters:
            piece: its name.
            part: what is left of it; ``None``: nothing.
            insertions: what it has found for nodes above it.
            began: see :meth:`_unlock`.
        """
        self._unlock(part, piece, began)
        hanging = self.pieces[piece]
        for insertion in insertions:
            assert hanging is not None
            self.insert(hanging, insertion)
        if part is not None:
            segment = part.segment()
            if segment.shallowest is not None:
                self.add(self.new_name(), segment)
        self.detach(piece)

    def node_at(self, place: Place) -> Node:
        """The node at a place, made if nothing was known of it."""
        segment = self.segments[place.segment]
        node = segment.nodes.get(place.depth)
        if node is None:
            node = segment.nodes[place.depth] = self.new_node(segment, place.depth)
        return node

    def new_name(self) -> str:
        """An unused name."""
        self.named += 1
        return str(self.named)

    # -- attachments -----------------------------------------------------------------

    def attach(self, piece: str, hanging: AttachPoint | None) -> None:
        """Attach a piece somewhere; ``None``: it is the whole tree."""
        self.pieces[piece] = hanging
        if hanging is not None:
            self.segments[hanging.place.segment].users += 1

    def detach(self, piece: str) -> None:
        """A piece is finished."""
        hanging = self.pieces.pop(piece, None)
        if hanging is not None:
            self._release(hanging.place.segment)

    def add(self, name: str, segment: Segment[Node]) -> None:
        """Add a segment."""
        self.segments[name] = segment
        if segment.above is not None:
            self._behind[segment.above, segment.choices[0]] = name
            if not segment.is_idle:
                self.segments[segment.above.segment].users += 1

    def remove(self, name: str) -> None:
        """Remove a segment to which nothing is attached, and whose place another takes."""
        segment = self._delete(name)
        if segment.above is not None:
            self.segments[segment.above.segment].users -= 1

    def _delete(self, name: str) -> Segment[Node]:
        segment = self.segments.pop(name)
        if segment.above is not None:
            self._behind.pop((segment.above, segment.choices[0]), None)
        hanging = [
            other
            for other, each in self.segments.items()
            if each.above is not None and each.above.segment == name
        ]
        for other in hanging:
            self._delete(other)
        return segment

    def _release(self, name: str) -> None:
        """One user fewer; a segment that nothing can insert into any more is released."""
        self.segments[name].users -= 1
        self.let_go(name)

    def let_go(self, name: str) -> None:
        """Release a segment, and those above it, if nothing is left to do there."""
        segment = self.segments.get(name)
        if segment is None or segment.users or segment.is_idle or segment.shallowest is not None:
            return
        if segment.stays:
            segment.is_idle = True
        else:
            self._delete(name)
        if segment.above is not None:
            self._release(segment.above.segment)

    def wake(self, segment: Segment[Node]) -> None:
        """Something was inserted into a segment that was finished."""
        while segment.is_idle:
            segment.is_idle = False
            assert segment.above is not None
            segment = self.segments[segment.above.segment]
            segment.users += 1

    # -- looking ---------------------------------------------------------------------

    def owner(self, hanging: AttachPoint, depth: int) -> tuple[Place, Choice]:
        """A node on the way to where a piece is attached, and the step that leaves it there.

        Parameters:
            hanging: where the piece is attached.
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
        """The node of the trunk after a step; ``None`` if it is not in the trunk."""
        segment = self.segments[place.segment]
        if place.depth < segment.last and segment.choices[place.depth - segment.begin] == choice:
            return Place(place.segment, place.depth + 1)
        name = self._behind.get((place, choice))
        return None if name is None else Place(name, self.segments[name].first)

    def way_to(self, hanging: AttachPoint) -> Iterator[tuple[Place, Choice]]:
        """Each node on the way to where a piece is attached, and its step, from there upwards."""
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

    # -- as plain data -----------------------------------------------------------------

    def to_json(self, writer: EventWriter) -> dict[str, Any]:
        """Plain data."""
        return {
            "named": self.named,
            "pieces": [[name, hanging_to_json(each)] for name, each in self.pieces.items()],
            "segments": [
                [
                    name,
                    place_to_json(segment.above),
                    list(segment.choices),
                    nodes_to_json(writer, segment.nodes),
                    segment.facts.to_json(writer),
                    segment.stays,
                    segment.is_idle,
                ]
                for name, segment in self.segments.items()
            ],
        }

    def read(self, reader: EventReader, data: dict[str, Any]) -> None:
        """Restore what :meth:`to_json` wrote."""
        self.named = data["named"]
        segments = {
            name: Segment(
                place_from_json(above),
                choices,
                nodes_from_json(reader, nodes, self._kind),
                PathFacts.from_json(reader, facts),
                stays,
                is_idle=is_idle,
            )
            for name, above, choices, nodes, facts, stays, is_idle in data["segments"]
        }
        # Those nearer to the root first, because a segment needs the one it is attached to.
        for name, segment in sorted(segments.items(), key=lambda each: each[1].first):
            self.add(name, segment)
        for name, hanging in data["pieces"]:
            self.attach(name, hanging_from_json(hanging))
