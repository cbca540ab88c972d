"""The trunk of :mod:`bohrbug.search.bounded_dpor`: its nodes, and how they are handed out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bohrbug.model.plan import Choice
from bohrbug.search.divisible import State
from bohrbug.search.trunk import (
    AttachPoint,
    Place,
    Segment,
    Trunk,
    hanging_from_json,
    hanging_to_json,
    place_from_json,
    place_to_json,
)


class BoundedNode:
    """What else is to be explored at a step.

    Parameters (one per slot):
        seen: the choices that were made there or will be.
        branches: those that will be, in the order of their discovery.
    """

    __slots__ = ("branches", "seen")

    def __init__(self, seen: Iterable[Choice], branches: Iterable[Choice] = ()) -> None:
        self.seen = set(seen)
        self.branches = list(branches)

    @property
    def waiting(self) -> int:
        """See :class:`~bohrbug.search.trunk.TrunkNode`."""
        return len(self.branches)

    def add(self, choice: Choice) -> None:
        """Let a choice be explored, unless it was."""
        if choice not in self.seen:
            self.seen.add(choice)
            self.branches.append(choice)


BoundedSegment = Segment[BoundedNode, None]


class BoundedTrunk(Trunk[BoundedNode, None]):
    """See :class:`~bohrbug.search.bounded_dpor.BoundedReduction`."""

    def _node_at(self, place: Place) -> BoundedNode:
        """The node at a place, made if nothing was known of it."""
        segment = self.segments[place.segment]
        node = segment.nodes.get(place.depth)
        if node is None:
            goes_on = segment.choices[place.depth - segment.begin]
            node = segment.nodes[place.depth] = BoundedNode((goes_on,))
        return node

    def insert(self, hanging: AttachPoint, step: int, choice: Choice) -> None:
        """Let a choice be explored at a node on the way to where a piece hangs."""
        place, _ = self.owner(hanging, step)
        self._node_at(place).add(choice)

    def next_part(self) -> State | None:
        """A part that nobody has: a segment as a whole, or a branch of a node."""
        name = self.best()
        if name is None:
            return None
        segment = self.segments[name]
        depth = segment.shallowest
        assert depth is not None
        piece = self.new_name()
        hanging: AttachPoint | None
        if segment.users:
            place = Place(name, depth)
            choices = self.choices_to(place)
            branch = segment.nodes[depth].branches.pop(0)
            hanging = AttachPoint(place, branch)
            nodes = {depth: BoundedNode((), [branch])}
        else:
            top = max(depth for depth, node in segment.nodes.items() if node.branches)
            choices = self.choices_to(Place(name, top))
            nodes = {depth: node for depth, node in segment.nodes.items() if depth <= top}
            hanging = (
                None if segment.above is None else AttachPoint(segment.above, segment.choices[0])
            )
            self.remove(name)
        self.attach(piece, hanging)
        return {
            "piece": piece,
            "hanging": hanging_to_json(hanging),
            "splits": 0,
            "choices": choices,
            "nodes": nodes_to_json(nodes),
        }

    def give_back(self, part: State) -> None:
        """What is left of a part goes to where it came from."""
        hanging = self.pieces[part["piece"]]
        own: dict[int, BoundedNode] = {}
        for depth, node in nodes_from_json(part["nodes"]).items():
            if hanging is not None and depth == hanging.place.depth:
                # The branch that it is for was not begun.
                self._node_at(hanging.place).branches[:0] = node.branches
            else:
                own[depth] = node
        if own:
            above, choices = None, part["choices"]
            if hanging is not None:
                above = hanging.place
                choices = [hanging.choice, *choices[above.depth + 1 :]]
            self.add(self.new_name(), Segment(above, choices, own, None))
        self.detach(part["piece"])

    def to_json(self, but: str) -> dict[str, Any]:
        """Plain data, without what is known of one of the pieces."""
        return {
            "named": self.named,
            "pieces": [
                [name, hanging_to_json(hanging)]
                for name, hanging in self.pieces.items()
                if name != but
            ],
            "segments": [[name, segment_to_json(each)] for name, each in self.segments.items()],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> BoundedTrunk:
        """The trunk that :meth:`to_json` wrote."""
        trunk = cls(data["named"])
        segments = [(name, segment_from_json(row)) for name, row in data["segments"]]
        # Those nearer to the root first, for what hangs at another needs that one.
        for name, segment in sorted(segments, key=lambda each: each[1].first):
            trunk.add(name, segment)
        for name, hanging in data["pieces"]:
            trunk.attach(name, hanging_from_json(hanging))
        return trunk


def nodes_to_json(nodes: dict[int, BoundedNode]) -> list[Any]:
    """Nodes by depth, as rows."""
    return [
        [depth, sorted(node.seen, key=str), list(node.branches)] for depth, node in nodes.items()
    ]


def nodes_from_json(rows: list[Any]) -> dict[int, BoundedNode]:
    """The nodes that :func:`nodes_to_json` wrote."""
    return {depth: BoundedNode(seen, branches) for depth, seen, branches in rows}


def segment_to_json(segment: BoundedSegment) -> list[Any]:
    """A segment as a row."""
    above, nodes = place_to_json(segment.above), nodes_to_json(segment.nodes)
    return [above, list(segment.choices), nodes]


def segment_from_json(row: list[Any]) -> BoundedSegment:
    """The segment that :func:`segment_to_json` wrote; its users are counted anew."""
    above, choices, nodes = row
    return Segment(place_from_json(above), choices, nodes_from_json(nodes), None)
