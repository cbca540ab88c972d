"""What is known at the nodes of the tree of :mod:`bohrbug.search.dpor`, and what waits there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bohrbug.search.event_codec import EventReader, EventWriter
from bohrbug.search.footprint import Event
from bohrbug.search.reversals import Reversal
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
        """See :class:`~bohrbug.search.tree_parts.TrunkNode`."""
        return 0 if self.held_by is not None else len(self.branches)

    def finish(self, event: Event) -> None:
        """A branch that begins with this event is explored, or another process explores it."""
        if all(event.choice != done.choice for done in self.done):
            self.done.append(event)

    def to_json(self, writer: EventWriter) -> list[Any]:
        """See :class:`~bohrbug.search.tree_parts.TrunkNode`; all reversals have been inserted."""
        return [
            writer.events(self.done),
            writer.branches(self.branches),
            self.held_by,
            None if self.held is None else writer.branches([self.held]),
            [insertion.to_json(writer) for insertion in self.late],
        ]

    @classmethod
    def from_json(cls, reader: EventReader, row: list[Any]) -> Node:
        """See :class:`~bohrbug.search.tree_parts.TrunkNode`."""
        done, branches, held_by, held, late = row
        node = cls(reader.events(done), reader.branches(branches))
        node.held_by = held_by
        node.held = None if held is None else reader.branches(held)[0]
        node.late = [Insertion.from_json(reader, each) for each in late]
        return node


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

    @property
    def key(self) -> object:
        """See :class:`~bohrbug.search.tree_parts.Inserted`.

        Whether one covers another depends on what the owner has; only the same is the same.
        """
        return self.depth, self.uncertain, tuple(self.sequence)

    def to_json(self, writer: EventWriter) -> list[Any]:
        """See :class:`~bohrbug.search.tree_parts.Inserted`."""
        return [self.depth, writer.events(self.sequence), self.uncertain, self.began]

    @classmethod
    def from_json(cls, reader: EventReader, row: list[Any]) -> Insertion:
        """See :class:`~bohrbug.search.tree_parts.Inserted`."""
        depth, sequence, uncertain, began = row
        return cls(depth, reader.events(sequence), uncertain, began)


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
