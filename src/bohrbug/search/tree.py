"""The tree of schedules, walked depth first with the memory of one path.

A node is a prefix of choices; the runtime continues each prefix by its
non-preemptive policy to a leaf.  After a leaf was seen, the choices that were
possible but not made below its prefix are the branches still to take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bohrbug.model.plan import Choice


class DepthFirstPath:
    """The path to the last leaf, with the branches not taken yet.

    The deepest branch is taken first, so that only one path is ever kept,
    however many leaves the tree has.
    """

    __slots__ = ("_branches", "_choices", "_levels", "waiting")

    def __init__(self) -> None:
        self._choices: Sequence[Choice] = ()
        self._branches: list[tuple[int, list[Choice]]] = []
        # Step, branches done, branches: of every node on the path that has several.
        self._levels: list[tuple[int, int, int]] = []
        self.waiting = 0
        """How many branches are not taken yet."""

    def __bool__(self) -> bool:
        return bool(self._branches)

    def extend(self, choices: Sequence[Choice], branches: list[tuple[int, list[Choice]]]) -> None:
        """Take in a leaf.

        Parameters:
            choices: its choices; they begin with the prefix that was taken last.
            branches: ``(step, choices not made there)`` in ascending order of
                the steps, each at or after the end of that prefix.
        """
        self._choices = choices
        self._branches += branches
        for step, others in branches:
            self.waiting += len(others)
            self._levels.append((step, 0, len(others) + 1))

    def take(self) -> tuple[Choice, ...]:
        """The prefix that ends with the deepest branch not taken yet; takes it."""
        step, others = self._branches[-1]
        choice = others.pop()
        if not others:
            self._branches.pop()
        self.waiting -= 1
        levels = self._levels
        while levels[-1][0] > step:
            levels.pop()
        _, done, branches = levels[-1]
        levels[-1] = (step, done + 1, branches)
        return (*self._choices[:step], choice)

    def next_ones(self) -> Iterator[tuple[Choice, ...]]:
        """The prefixes that :meth:`take` would give, if nothing were behind them."""
        for step, others in reversed(self._branches):
            for choice in reversed(others):
                yield (*self._choices[:step], choice)

    def levels(self) -> Iterator[tuple[int, int]]:
        """Of each node on the path: how many branches are done, and how many there are."""
        for _, done, branches in self._levels:
            yield done, branches

    def split(self) -> DepthFirstPath | None:
        """Part with the shallowest branch, behind which the most is; or with nothing.

        Of several choices at that step the ones that would be taken last are given away;
        the only branch is kept.
        """
        if self.waiting < 2:
            return None
        step, others = self._branches[0]
        given = others[: (len(others) + 1) // 2]
        del others[: len(given)]
        if not others:
            self._branches.pop(0)
        self.waiting -= len(given)
        other = DepthFirstPath()
        other.extend(self._choices[:step], [(step, given)])
        return other

    def to_json(self) -> list[Any]:
        """Plain data: the choices as far as they matter, and the branches."""
        last = self._branches[-1][0] if self._branches else 0
        branches = [[step, list(others)] for step, others in self._branches]
        return [list(self._choices[:last]), branches]

    @classmethod
    def from_json(cls, data: list[Any]) -> DepthFirstPath:
        """The path that :meth:`to_json` wrote."""
        path = cls()
        path.extend(data[0], [(step, list(others)) for step, others in data[1]])
        return path


class Subtrees:
    """What is left of a tree: prefixes whose subtrees nobody looked at, and paths.

    Walked as one path is; there are several only while parts of the tree are with other
    processes, and after they have come back.
    """

    __slots__ = ("_paths", "_prefixes")

    def __init__(self, prefixes: Sequence[Sequence[Choice]] = ()) -> None:
        self._prefixes = [tuple(prefix) for prefix in prefixes]
        self._paths: list[DepthFirstPath] = []

    def __bool__(self) -> bool:
        return bool(self._prefixes) or any(self._paths)

    @property
    def waiting(self) -> int:
        """How many branches are not taken yet."""
        return len(self._prefixes) + sum(path.waiting for path in self._paths)

    def levels(self) -> Iterator[tuple[int, int]]:
        """See :meth:`DepthFirstPath.levels`."""
        for path in self._paths:
            yield from path.levels()

    def add(self, prefix: Sequence[Choice]) -> None:
        """A subtree to walk before the others."""
        self._prefixes.append(tuple(prefix))

    def take(self) -> tuple[Choice, ...] | None:
        """The next prefix to execute; takes it. ``None`` if nothing is left."""
        paths = self._paths
        if self._prefixes:
            paths.append(DepthFirstPath())
            return self._prefixes.pop()
        while paths:
            if paths[-1]:
                return paths[-1].take()
            paths.pop()
        return None

    def next_ones(self) -> Iterator[tuple[Choice, ...]]:
        """See :meth:`DepthFirstPath.next_ones`."""
        yield from reversed(self._prefixes)
        for path in reversed(self._paths):
            yield from path.next_ones()

    def extend(self, choices: Sequence[Choice], branches: list[tuple[int, list[Choice]]]) -> None:
        """Take in the leaf that the prefix taken last led to; see :class:`DepthFirstPath`."""
        self._paths[-1].extend(choices, branches)

    def part(self, wanted: int = 1) -> dict[str, Any] | None:
        """Part with one of the subtrees or paths, that which would come last, as plain data.

        Parameters:
            wanted: if there are not so many, a path is divided.
        """
        paths = [path for path in self._paths if path]
        if len(paths) + len(self._prefixes) < wanted:
            for path in paths:
                given = path.split()
                if given is not None:
                    return {"prefixes": [], "paths": [given.to_json()]}
        if paths:
            self._paths.remove(paths[0])
            return {"prefixes": [], "paths": [paths[0].to_json()]}
        if self._prefixes:
            return {"prefixes": [list(self._prefixes.pop(0))], "paths": []}
        return None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "prefixes": [list(prefix) for prefix in self._prefixes],
            "paths": [path.to_json() for path in self._paths if path],
        }

    def merge(self, data: dict[str, Any]) -> None:
        """Add what :meth:`to_json`, :meth:`split` or :meth:`part` gave; walked after the rest."""
        self._prefixes[:0] = [tuple(prefix) for prefix in data["prefixes"]]
        self._paths[:0] = [DepthFirstPath.from_json(path) for path in data["paths"]]
