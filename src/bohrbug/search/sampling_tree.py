"""The tree of schedules as far as it was seen, to draw leaves from that were not.

A node is a step with more than one option.  A random walk takes each of its options
with the same probability; the *share* of a subtree is the probability
with which the walk comes to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from bohrbug.model.plan import Choice


class _Node:
    """A step with several options.

    Parameters:
        lead: the choices between the node above and this one, where there was one option.
        options: the choices here.
    """

    __slots__ = ("lead", "left", "open", "options", "taken")

    def __init__(self, lead: tuple[Choice, ...], options: Sequence[Choice]) -> None:
        self.lead = lead
        self.options = options
        # What is behind the options that were taken; ``None`` if nothing is left there.
        self.taken: dict[Choice, _Node | _Packed | None] = {}
        self.open = len(options)
        """The options behind which something is left."""
        self.left = 1.0
        """The part of a walk from here that would end at a leaf not seen yet."""

    @property
    def size(self) -> int:
        return 1 + len(self.lead)

    def draw(self, random: Random) -> Choice:
        """An option, in proportion to what is left behind it."""
        children = [(choice, child) for choice, child in self.taken.items() if child is not None]
        fresh = len(self.options) - len(self.taken)
        weight = random.random() * (fresh + sum([child.left for _, child in children]))
        for choice, child in children:
            weight -= child.left
            if weight < 0:
                return choice
        if not fresh:
            return children[-1][0]
        while True:
            # Ends soon: either few options were taken or there are few.
            choice = self.options[random.randrange(len(self.options))]
            if choice not in self.taken:
                return choice

    def update(self) -> None:
        """Count anew what is left, after something behind an option was seen."""
        children = [child for child in self.taken.values() if child is not None]
        fresh = len(self.options) - len(self.taken)
        self.open = fresh + len(children)
        self.left = (fresh + sum([child.left for child in children])) / len(self.options)


@dataclass(slots=True)
class _Packed:
    """A subtree that came from another process, and may never be entered again.

    Parameters:
        rows: see :func:`_rows`.
        left: see :class:`_Node`.
        weight: the choices and nodes of it.
    """

    rows: list[Any]
    left: float
    weight: int


def _behind(node: _Node, choice: Choice) -> _Node | None:
    """What is behind an option that was taken; ``None`` if nothing is known or left there."""
    child = node.taken.get(choice)
    if isinstance(child, _Packed):
        child = node.taken[choice] = _node_from(child.rows)
    return child


@dataclass(slots=True)
class Part:
    """A subtree, and how many leaves of it are to be drawn.

    Parameters:
        prefix: the choices that lead to it.
        draws: how many.
        weight: the part of all that was left, when the draws were allotted, that is in it.
        share: of the subtree.
    """

    prefix: list[Choice]
    draws: int
    weight: float
    share: float


class SamplingTree:
    """Draws leaves as a random walk does, but no leaf twice.

    That is: each draw has the walk's distribution under the condition that the leaf was not seen.
    A subtree whose leaves were all seen is let go of and never entered again.

    Parameters:
        room: the number of choices and nodes to remember; a leaf for which there is no
            room is not remembered, and may be drawn again.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._root: _Node | None = None
        self._path: list[tuple[_Node, Choice]] = []
        self._size = 0
        self._is_seen = False
        self.remembered = 0
        """Leaves that were seen and won't be drawn again."""
        self.forgotten = 0
        """Leaves that were seen and are not remembered."""

    @property
    def is_exhausted(self) -> bool:
        """Whether all leaves were seen."""
        return self._is_seen and self._root is None

    @property
    def left(self) -> float:
        """The share of the leaves not seen yet."""
        if self._root is not None:
            return self._root.left
        return 0.0 if self._is_seen else 1.0

    def draw(self, random: Random) -> tuple[Choice, ...]:
        """A prefix behind which no leaf was seen; a walk from there gives the leaf."""
        self._path = []
        prefix: list[Choice] = []
        node = self._root
        while node is not None:
            prefix += node.lead
            choice = node.draw(random)
            prefix.append(choice)
            self._path.append((node, choice))
            node = _behind(node, choice)
        return tuple(prefix)

    def give_up(self) -> None:
        """The prefix drawn last can't be followed; it is not drawn again."""
        self._is_seen = True
        self._close()

    def see(
        self, choices: Sequence[Choice], branches: Sequence[tuple[int, Sequence[Choice]]]
    ) -> None:
        """Take in the leaf behind the prefix drawn last.

        Parameters:
            choices: its choices; they begin with that prefix.
            branches: the steps behind the prefix with more than one option, and
                the options, in order.
        """
        begin = len(self._walked())
        nodes: list[_Node] = []
        for step, options in branches:
            nodes.append(_Node(tuple(choices[begin:step]), options))
            begin = step + 1
        size = sum([node.size for node in nodes])
        if self._size + size > self._room:
            self.forgotten += 1
            return
        self._is_seen = True
        self.remembered += 1
        self._size += size
        for node, (step, _) in zip(nodes, branches, strict=True):
            if self._path:
                above, choice = self._path[-1]
                above.taken[choice] = node
            else:
                self._root = node
            self._path.append((node, choices[step]))
        self._close()

    def _walked(self) -> list[Choice]:
        """The choices along the path."""
        walked: list[Choice] = []
        for node, choice in self._path:
            walked += node.lead
            walked.append(choice)
        return walked

    def _close(self) -> None:
        """Nothing is left behind the path; let go of what is exhausted with it."""
        closed = True
        for node, choice in reversed(self._path):
            if closed:
                node.taken[choice] = None
            node.update()
            closed = node.open == 0
            if closed:
                self._size -= node.size
        if closed:
            self._root = None
        self._path = []

    # -- dividing ----------------------------------------------------------------------

    def allot(self, random: Random, draws: int, most: float) -> list[Part]:
        """Draw for each of so many leaves the part of the tree that it is to be drawn from.

        Parts are the subtrees with at most ``most`` of what is left, as near to the root as
        there are; they have no leaf in common.

        Parameters:
            random: decides.
            draws: how many.
            most: from 0 to 1.
        """
        everything = self.left
        parts: dict[tuple[Choice, ...], Part] = {}
        for _ in range(draws):
            node, share = self._root, 1.0
            left = everything
            prefix: list[Choice] = []
            while node is not None and node.left * share > most * everything:
                choice = node.draw(random)
                prefix += node.lead
                prefix.append(choice)
                share /= len(node.options)
                child = node.taken.get(choice)
                if isinstance(child, _Packed) and child.left * share > most * everything:
                    child = _behind(node, choice)
                left = 1.0 if child is None else child.left
                node = child if isinstance(child, _Node) else None
            part = parts.get(tuple(prefix))
            if part is None:
                part = parts[tuple(prefix)] = Part(prefix, 0, share * left / everything, share)
            part.draws += 1
        return list(parts.values())

    def _walk_to(self, prefix: Sequence[Choice]) -> _Node | _Packed | None:
        """Walk along a prefix; what is known behind it."""
        self._path = []
        at = 0
        node = self._root
        while at < len(prefix):
            assert node is not None
            at += len(node.lead)
            choice = prefix[at]
            self._path.append((node, choice))
            at += 1
            child = node.taken.get(choice)
            if isinstance(child, _Packed) and at < len(prefix):
                child = _behind(node, choice)
            if at == len(prefix):
                return child
            assert isinstance(child, _Node)
            node = child
        return node

    def part_to_json(self, part: Part) -> dict[str, Any]:
        """What is known of a part, for :meth:`merge`, and for :meth:`graft` if nobody draws."""
        node = self._walk_to(part.prefix)
        self._path = []
        rows = node.rows if isinstance(node, _Packed) else [] if node is None else _rows(node)
        return {
            "nodes": rows,
            "is_seen": node is not None,
            "remembered": 0,
            "forgotten": 0,
            "left": 1.0 if node is None else node.left,
            "size": 0 if node is None else _size(node),
        }

    def graft(self, data: dict[str, Any], prefix: Sequence[Choice]) -> None:
        """Put what is known of a part in the place where it was.

        Parameters:
            data: what :meth:`to_json` of the tree behind a prefix gave.
            prefix: see :class:`Part`.
        """
        self.remembered += data["remembered"]
        self.forgotten += data["forgotten"]
        if not data["is_seen"]:
            return
        self._is_seen = True
        node = self._walk_to(prefix)
        self._size += data["size"] - (0 if node is None else _size(node))
        if not data["nodes"]:
            self._close()
            return
        if not self._path:
            self._root = _node_from(data["nodes"])
            return
        above, choice = self._path[-1]
        above.taken[choice] = _Packed(data["nodes"], data["left"], data["size"])
        for above, _ in reversed(self._path):
            above.update()
        self._path = []

    # -- saving ------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain data: the nodes in a row, each before what is behind it."""
        return {
            "nodes": [] if self._root is None else _rows(self._root),
            "is_seen": self._is_seen,
            "remembered": self.remembered,
            "forgotten": self.forgotten,
            "left": self.left,
            "size": self._size,
        }

    def merge(self, data: dict[str, Any]) -> None:
        """Become the tree that :meth:`to_json` wrote."""
        self._path = []
        self._root = _node_from(data["nodes"])
        self._size = 0 if self._root is None else _size(self._root)
        self._is_seen = data["is_seen"]
        self.remembered, self.forgotten = data["remembered"], data["forgotten"]


def _rows(root: _Node) -> list[Any]:
    """The nodes of a tree in a row, each before what is behind it."""
    rows: list[Any] = []
    waiting = [(root, -1, 0)]
    while waiting:
        node, above, option = waiting.pop()
        number = len(rows)
        taken = []
        for place, choice in enumerate(node.taken):
            taken.append(choice)
            child = _behind(node, choice)
            if child is not None:
                waiting.append((child, number, place))
        options = len(node.options) if isinstance(node.options, range) else list(node.options)
        rows.append([list(node.lead), options, above, option, taken])
    return rows


def _node_from(rows: list[Any]) -> _Node | None:
    """The root of the tree that :func:`_rows` wrote."""
    nodes: list[_Node] = []
    for lead, options, above, place, taken in rows:
        node = _Node(tuple(lead), range(options) if isinstance(options, int) else options)
        node.taken = dict.fromkeys(taken)
        if nodes:
            # The order in which options were taken is kept: draws depend on it.
            parent = nodes[above]
            parent.taken[list(parent.taken)[place]] = node
        nodes.append(node)
    # Those behind a node follow it.
    for node in reversed(nodes):
        node.update()
    return nodes[0] if nodes else None


def _size(root: _Node | _Packed) -> int:
    """The choices and nodes of a tree."""
    size = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Packed):
            size += node.weight
        else:
            size += node.size
            waiting += [child for child in node.taken.values() if child is not None]
    return size
