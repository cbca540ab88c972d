"""The trunk of :mod:`bohrbug.search.bounded_dpor`: its nodes, and how they are handed out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bohrbug.model.plan import Choice
from bohrbug.search.event_codec import EventReader, EventWriter
from bohrbug.search.footprint import Event
from bohrbug.search.tree_parts import AttachPoint, Part, Place, Segment
from bohrbug.search.trunk import Trunk


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
        """See :class:`~bohrbug.search.tree_parts.TrunkNode`."""
        return len(self.branches)

    def add(self, choice: Choice) -> None:
        """Let a choice be explored, unless it was."""
        if choice not in self.seen:
            self.seen.add(choice)
            self.branches.append(choice)

    def to_json(self, writer: EventWriter) -> list[Any]:  # noqa: ARG002
        """See :class:`~bohrbug.search.tree_parts.TrunkNode`."""
        return [sorted(self.seen, key=str), list(self.branches)]

    @classmethod
    def from_json(cls, reader: EventReader, row: list[Any]) -> BoundedNode:  # noqa: ARG003
        """See :class:`~bohrbug.search.tree_parts.TrunkNode`."""
        return cls(*row)


@dataclass(frozen=True, slots=True)
class Addition:
    """A choice that is to be explored at a node that somebody else has.

    Parameters:
        depth: the number of steps that lead to the node.
        choice: the choice.
    """

    depth: int
    choice: Choice

    @property
    def key(self) -> object:
        """See :class:`~bohrbug.search.tree_parts.Inserted`."""
        return self

    def to_json(self, writer: EventWriter) -> list[Any]:  # noqa: ARG002
        """See :class:`~bohrbug.search.tree_parts.Inserted`."""
        return [self.depth, self.choice]

    @classmethod
    def from_json(cls, reader: EventReader, row: list[Any]) -> Addition:  # noqa: ARG003
        """See :class:`~bohrbug.search.tree_parts.Inserted`."""
        return cls(*row)


class BoundedTrunk(Trunk[BoundedNode, Addition]):
    """See :class:`~bohrbug.search.bounded_dpor.BoundedReduction`."""

    def new_node(self, segment: Segment[BoundedNode], depth: int) -> BoundedNode:
        """See :class:`~bohrbug.search.trunk.Trunk`."""
        return BoundedNode((segment.choices[depth - segment.begin],))

    def insert(self, hanging: AttachPoint, insertion: Addition) -> None:
        """See :class:`~bohrbug.search.trunk.Trunk`."""
        place, _ = self.owner(hanging, insertion.depth)
        self.node_at(place).add(insertion.choice)

    def _hold(self, piece: str, place: Place) -> Part[BoundedNode]:
        branch = self.segments[place.segment].nodes[place.depth].branches.pop(0)
        nodes = {place.depth: BoundedNode((), [branch])}
        return Part(piece, AttachPoint(place, branch), self.choices_to(place), nodes)

    def _unlock(
        self,
        part: Part[BoundedNode] | None,
        piece: str,  # noqa: ARG002
        began: Sequence[Event] | None,  # noqa: ARG002
    ) -> None:
        if part is not None and part.hanging is not None and not part.has_begun:
            self.node_at(part.hanging.place).branches.insert(0, part.hanging.choice)
