"""Wakeup trees: what is still to be explored below a node, as sequences of events.

Abdulla, Aronis, Jonsson and Sagonas, *Optimal dynamic partial order reduction*, POPL
2014, section 6; *Source sets*, JACM 2017, section 6.  A sequence is inserted only if no
leaf of the tree leads to an execution that is equivalent to one that begins with it;
so no two leaves explore the same class.

Stretches without branches are one node (as in a radix tree): the sequence of a long
execution is one list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bohrbug.search.footprint import Event, is_weak_initial


@dataclass(slots=True)
class Branch:
    """A stretch of events, and what can follow it.

    Parameters:
        events: at least one.
        uncertain: nobody knows whether the last event is possible there; only for leaves.
        weight: events that were held for this leaf when it was inserted.
        branches: in the order of their exploration; empty for a leaf.
    """

    events: list[Event]
    uncertain: bool = False
    weight: int = 0
    branches: list[Branch] = field(default_factory=list)

    def leaves(self) -> Iterator[Branch]:
        """The leaves, in the order of their exploration."""
        if not self.branches:
            yield self
        for branch in self.branches:
            yield from branch.leaves()


def insert(branches: list[Branch], sequence: list[Event], uncertain: bool = False) -> bool:
    """Add a sequence to the tree below a node, unless one of its leaves covers it.

    Parameters:
        branches: of the node; changed in place.
        sequence: events that are possible at the node, one after the other.
        uncertain: whether its last event may be impossible after all.

    Returns:
        Whether the tree has grown.
    """
    rest = sequence
    start = 0
    while True:
        for branch in branches:
            index = is_weak_initial(branch.events[0], rest, start)
            if index is None:
                continue
            # This branch it is: the first in order with which the sequence agrees.
            events = branch.events
            position = 0
            while True:
                if index == start:
                    start += 1
                elif index < len(rest):
                    rest = rest[start:index] + rest[index + 1 :]
                    start = 0
                position += 1
                if start >= len(rest):
                    return False
                if position == len(events):
                    break
                index = is_weak_initial(events[position], rest, start)
                if index is None:
                    break
            if position < len(events):
                tail = Branch(events[position:], branch.uncertain, branch.weight, branch.branches)
                branch.events = events[:position]
                branch.uncertain = False
                branch.weight = 0
                branch.branches = [tail, Branch(in_order(rest[start:]), uncertain, len(sequence))]
                return True
            if not branch.branches:
                return False
            branches = branch.branches
            break
        else:
            branches.append(Branch(in_order(rest[start:]), uncertain, len(sequence)))
            return True


def in_order(sequence: list[Event]) -> list[Event]:
    """The sequence with a data choice in front whose task is in the middle of a step.

    Control cannot pass to another task between a step and the data choice in it, and so a
    choice that comes before all other events of its task comes before those of others too.
    """
    seen: set[int] = set()
    for index, event in enumerate(sequence):
        if event.task not in seen:
            if isinstance(event.choice, int):
                return [event, *sequence[:index], *sequence[index + 1 :]] if index else sequence
            seen.add(event.task)
    return sequence
