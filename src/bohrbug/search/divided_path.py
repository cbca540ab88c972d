"""How a search along one path is divided among processes, whatever its nodes are.

The search knows one path: it explores what is below its nodes, and nothing else.  This module
allows several paths: where a path is attached in the whole tree, what has to be reported
to the owner of the nodes above it, and how the first process puts paths together again
(:mod:`bohrbug.search.trunk`).  A process that has finished its path continues with
another one if it is the first process; otherwise it gives its piece back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from bohrbug.model.plan import Choice, Plan
from bohrbug.search.divisible import State
from bohrbug.search.event_codec import EventReader, EventWriter
from bohrbug.search.footprint import Asleep, Event
from bohrbug.search.path import Path
from bohrbug.search.races_of_trace import RaceFinder
from bohrbug.search.systematic import Systematic
from bohrbug.search.tree_parts import (
    AttachPoint,
    Insertion,
    Node,
    Part,
    PathFacts,
)
from bohrbug.search.trunk import Trunk


class DividedPath(Systematic, Path[Node], Generic[Node, Insertion]):
    """A search along one path, which may be a piece of a tree.

    Subclasses have the algorithm, and define what is known of the path.
    """

    _node_type: type[Node]
    _insertion_type: type[Insertion]
    _races: RaceFinder

    # -- what searches differ in -------------------------------------------------------

    def _new_trunk(self) -> Trunk[Node, Insertion]:
        """A trunk for nodes of this kind."""
        raise NotImplementedError

    def _opened(self) -> list[int]:
        """The depths of the path at which something is left to explore."""
        raise NotImplementedError

    def _known_choices(self) -> Sequence[Choice]:
        """The choices along the path."""
        raise NotImplementedError

    def _known(self, first: int, last: int) -> tuple[dict[int, Node], PathFacts]:
        """The nodes at these depths, and what is known between them; changes nothing."""
        raise NotImplementedError

    def _take_over(self, choices: list[Choice], facts: PathFacts) -> None:
        """Get ready for a path whose nodes are there, but of which no execution was seen."""
        raise NotImplementedError

    def _count(self, nodes: dict[int, Node], sign: int) -> None:
        """Nodes are added, 1, or removed, -1."""

    # -- the path ----------------------------------------------------------------------

    def _begin_whole(self) -> None:
        """The path is that of the first execution of the whole tree."""
        self._clear_path()
        self._plan = Plan()
        self._is_fresh = True
        # The nodes above everything that other processes have; only the first process has it.
        self._trunk: Trunk[Node, Insertion] | None = self._new_trunk()
        self._piece = self._trunk.new_name()
        self._trunk.attach(self._piece, None)

    def _clear_path(self) -> None:
        """Forget the path."""
        self._plan: Plan | None = None
        self._nodes: list[Node | None] = []
        # Where it is attached, and what the owner of that place has to know.
        self._hanging: AttachPoint | None = None
        self._guards: dict[int, Asleep] = {}
        self._insertions: list[Insertion] = []
        self._told: set[object] = set()
        self._began: list[Event] | None = None

    def _load(self, part: Part[Node]) -> None:
        """Continue with a part, whatever the path was before."""
        self._clear_path()
        self._piece, self._hanging, self._guards = part.name, part.hanging, part.guards
        self._nodes = [part.nodes.get(depth) for depth in range(max(part.nodes, default=-1) + 1)]
        self._take_over(part.choices, part.facts)

    @property
    def _base(self) -> int:
        """The depth of the first node of the path that is its own."""
        return 0 if self._hanging is None else self._hanging.place.depth + 1

    def _tell(self, insertion: Insertion) -> None:
        """An insertion for a node above the path."""
        key = insertion.key
        if key not in self._told:
            self._told.add(key)
            self._insertions.append(insertion)

    def _rest(self) -> Part[Node] | None:
        """What is left of the path; ``None`` if nothing is."""
        opened = self._opened()
        if not opened:
            return None
        last = opened[-1]
        # Of a node that others own, only the branch that the piece is for.
        nodes, facts = self._known(min(self._base, opened[0]), last)
        choices = list(self._known_choices()[:last])
        return Part(self._piece, self._hanging, choices, nodes, facts, self._guards)

    # -- the whole -----------------------------------------------------------------------

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to explore, here or elsewhere."""
        return self.next_plan() is None and (self._trunk is None or not self._trunk.pieces)

    def _go_on_elsewhere(self) -> bool:
        trunk = self._trunk
        if trunk is None:
            return False
        self._give_back(trunk)
        part = trunk.next_part()
        if part is not None:
            self._load(part)
        return part is not None

    def _give_back(self, trunk: Trunk[Node, Insertion]) -> None:
        """Make what is left of the path a part of the trunk."""
        if self._piece in trunk.pieces:
            trunk.take_back(self._piece, self._rest(), self._insertions, self._began)
        self._clear_path()

    # -- dividing ----------------------------------------------------------------------

    def can_be_cut(self) -> bool:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return len(self._opened()) > 1

    def _all(self) -> State:
        writer = EventWriter(self._races)
        state: State = {"fresh": self._is_fresh}
        if self._trunk is None:
            part = self._rest()
            state |= {
                "piece": self._piece,
                "part": None if part is None else part.to_json(writer),
                "insertions": [each.to_json(writer) for each in self._insertions],
                "began": None if self._began is None else writer.events(self._began),
            }
        elif not self._is_fresh:
            self._give_back(self._trunk)
            state["trunk"] = self._trunk.to_json(writer)
        return {**state, "footprints": writer.footprints}

    def _become(self, state: State) -> None:
        self.restart()
        if state["fresh"]:
            return
        self._is_fresh = False
        self._clear_path()
        reader = EventReader(self._races, state["footprints"])
        if "trunk" in state:
            self._trunk = self._new_trunk()
            self._trunk.read(reader, state["trunk"])
            for segment in self._trunk.segments.values():
                self._count(segment.nodes, 1)
            return
        self._trunk = None
        self._piece = state["piece"]
        part, insertions, began = self._read(reader, state)
        if part is not None:
            self._load(part)
        self._insertions, self._began = insertions, began
        self._told.update(insertion.key for insertion in insertions)

    def _cut(self, most: int, wanted: int) -> State | None:  # noqa: ARG002
        trunk = self._trunk
        if trunk is None or self._is_fresh:
            return None
        self._give_back(trunk)
        part = trunk.next_part(wanted)
        if part is None:
            return None
        self._count(part.nodes, -1)
        writer = EventWriter(self._races)
        return {
            "fresh": False,
            "piece": part.name,
            "part": part.to_json(writer),
            "insertions": [],
            "began": None,
            "footprints": writer.footprints,
        }

    def _add(self, state: State) -> None:
        trunk = self._trunk
        assert trunk is not None, "only who knows the whole takes something in"
        reader = EventReader(self._races, state["footprints"])
        trunk.take_back(state["piece"], *self._read(reader, state))

    def _read(
        self, reader: EventReader, state: State
    ) -> tuple[Part[Node] | None, list[Insertion], list[Event] | None]:
        """What is left of a piece, what it has found, and how its branch began."""
        part: Part[Node] | None = None
        if state["part"] is not None:
            part = Part.from_json(reader, state["part"], self._node_type)
            self._count(part.nodes, 1)
        return (
            part,
            [self._insertion_type.from_json(reader, each) for each in state["insertions"]],
            None if state["began"] is None else reader.events(state["began"]),
        )
