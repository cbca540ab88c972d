"""The tree of schedules, walked depth first with the memory of one path.

A node is a prefix of choices; the runtime continues each prefix by its
non-preemptive policy to a leaf.  After a leaf was seen, the choices that were
possible but not made below its prefix are the branches still to take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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

    def levels(self) -> Iterator[tuple[int, int]]:
        """Of each node on the path: how many branches are done, and how many there are."""
        for _, done, branches in self._levels:
            yield done, branches
