"""The trunk of :mod:`bohrbug.search.dpor`: how nodes are handed out, and what is inserted there."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.plan import Choice
from bohrbug.search.dpor_parts import Insertion, Node, Waiting
from bohrbug.search.footprint import (
    Asleep,
    Event,
    first_initial,
    is_weak_initial,
    still_asleep,
)
from bohrbug.search.tree_parts import AttachPoint, Part, PathFacts, Place, Segment
from bohrbug.search.trunk import Trunk
from bohrbug.search.wakeup_tree import Branch


class ReductionTrunk(Trunk[Node, Insertion]):
    """See :class:`~bohrbug.search.dpor.OptimalReduction` for why it is done like this.

    Parameters:
        waiting: counts what waits.
    """

    def __init__(self, waiting: Waiting) -> None:
        super().__init__(Node)
        self._waiting = waiting

    def share_behind(self, name: str) -> float:
        """How much of what is behind a segment is done; of pieces elsewhere nothing is known."""
        segment = self.segments[name]
        below: dict[int, list[str | None]] = {}
        for other, each in self.segments.items():
            if each.above is not None and each.above.segment == name:
                below.setdefault(each.above.depth, []).append(other)
        for hanging in self.pieces.values():
            if hanging is not None and hanging.place.segment == name:
                below.setdefault(hanging.place.depth, []).append(None)
        share, weight = 0.0, 1.0
        for depth in range(segment.first, segment.last + 1):
            node = segment.nodes.get(depth)
            behind = below.get(depth, [])
            if node is not None:
                branches = len(node.done) + len(node.branches) + (node.held_by is not None)
                weight /= max(branches, 1)
                begun = len(behind) + (depth < segment.last) - (node.held_by is not None)
                share += weight * max(len(node.done) - begun, 0)
            share += sum(weight * self.share_behind(each) for each in behind if each)
        return min(share, 1.0)

    def new_node(self, segment: Segment[Node], depth: int) -> Node:
        """See :class:`~bohrbug.search.trunk.Trunk`."""
        return Node([segment.facts.events[depth]])

    def insert(self, hanging: AttachPoint, insertion: Insertion) -> None:
        """See :class:`~bohrbug.search.trunk.Trunk`."""
        place, choice = self.owner(hanging, insertion.depth)
        insertion.began = _begun_with(self.node_at(place), choice)
        self._insert_at(place, insertion)

    def _insert_at(self, place: Place, insertion: Insertion) -> None:
        node = self.node_at(place)
        if node.held_by is not None:
            node.late.append(insertion)
            return
        segment = self.segments[place.segment]
        sequence = insertion.sequence
        earlier = (*segment.facts.asleep.get(place.depth, ()), *node.done[: insertion.began])
        if first_initial(earlier, sequence) is not None:
            return
        for event in node.done[insertion.began :]:
            index = is_weak_initial(event, sequence)
            if index is None:
                continue
            rest = sequence[:index] + sequence[index + 1 :]
            behind = self.behind(place, event.choice)
            # Where nobody sleeps, all is explored anyway.
            if rest and behind is not None:
                below = self.segments[behind.segment]
                if below.stays and below.facts.asleep.get(behind.depth):
                    into = Insertion(behind.depth, rest, insertion.uncertain)
                    self._insert_at(behind, into)
            return
        self._waiting.insert(node, sequence, insertion.uncertain)
        if node.waiting:
            self.wake(segment)

    def _hold(self, piece: str, place: Place) -> Part[Node] | None:
        # Only the first leaf: the nodes on the way to it stay here.
        segment = self.segments[place.segment]
        node = segment.nodes[place.depth]
        branch = node.branches.pop(0)
        if not self._waiting.is_new(node, branch):
            return None
        node.held, node.held_by = branch, piece
        way, nodes = [*branch.events], {}
        leaf = branch
        while leaf.branches:
            leaf, *others = leaf.branches
            if others:
                # Nothing is begun there before what leads there is known.
                on_way = nodes[place.depth + len(way)] = Node([], others)
                on_way.held_by = piece
            way += leaf.events
        choices = [*self.choices_to(place)]
        hanging = AttachPoint(place, way[-1].choice)
        if len(way) > 1:
            name = self.new_name()
            choices_on_way = [event.choice for event in way[:-1]]
            self.add(name, Segment(place, choices_on_way, nodes, PathFacts()))
            hanging = AttachPoint(Place(name, place.depth + len(way) - 1), way[-1].choice)
        alone = Branch(way, leaf.uncertain, leaf.weight)
        facts = PathFacts()
        if place.depth in segment.facts.asleep:
            facts.asleep[place.depth] = segment.facts.asleep[place.depth]
        open_node = Node(list(node.done), [alone])
        return Part(piece, hanging, choices, {place.depth: open_node}, facts)

    def _unlock(self, part: Part[Node] | None, piece: str, began: Sequence[Event] | None) -> None:  # noqa: ARG002
        # Others may be begun when the first events of a branch that was handed out are known.
        hanging = self.pieces[piece]
        if hanging is None:
            return
        way = self.segments[hanging.place.segment]
        place = hanging.place
        node = way.nodes.get(place.depth)
        has_way = node is None or node.held is None or node.held_by != piece
        if has_way:
            if way.above is None:
                return
            place = way.above
            node = self.segments[place.segment].nodes.get(place.depth)
        if node is None or node.held is None or node.held_by != piece:
            return
        branch, node.held, node.held_by = node.held, None, None
        if not began:
            if has_way:
                if began is not None:
                    self._waiting.count(way.nodes, -1)
                way.nodes = {}
            if began is None:
                node.branches.insert(0, branch)
        else:
            asleep = self.segments[place.segment].facts.asleep.get(place.depth, ())
            sleeping = still_asleep((*asleep, *node.done), began[0])
            node.finish(began[0])
            if has_way:
                for depth, event in enumerate(began[1:], place.depth + 1):
                    way.facts.events[depth] = event
                    if sleeping:
                        way.facts.asleep[depth] = sleeping
                        way.stays = True
                    if depth in way.nodes:
                        way.nodes[depth].held_by = None
                        way.nodes[depth].finish(event)
                    sleeping = still_asleep(sleeping, event)
            if len(began) == hanging.place.depth - place.depth + 1:
                self.pieces[piece] = AttachPoint(hanging.place, began[-1].choice)
        late, node.late = node.late, []
        for insertion in late:
            self._insert_at(place, insertion)

    def next_part(self, wanted: int = 1) -> Part[Node] | None:
        """See :class:`~bohrbug.search.trunk.Trunk`."""
        part = super().next_part(wanted)
        if part is not None and part.hanging is not None:
            part.guards = self._guards_above(part.hanging)
        return part

    def _guards_above(self, hanging: AttachPoint) -> dict[int, Asleep]:
        guards: dict[int, Asleep] = {}
        for place, choice in self.way_to(hanging):
            segment = self.segments[place.segment]
            node = segment.nodes.get(place.depth)
            asleep = segment.facts.asleep.get(place.depth, ())
            if node is not None:
                guards[place.depth] = (*asleep, *node.done[: _begun_with(node, choice)])
            elif asleep:
                guards[place.depth] = asleep
        return guards


def _begun_with(node: Node, choice: Choice) -> int:
    """How many branches of a node had begun when that one began which goes on with a choice."""
    for number, event in enumerate(node.done, 1):
        if event.choice == choice:
            return number
    return len(node.done)
