"""The tree of schedules, walked depth first with the memory of one path.

A node is a prefix of choices; the runtime continues each prefix by its
non-preemptive policy to a leaf.  After a leaf was seen, the choices that were
possible but not made below its prefix are the branches still to take.
"""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.plan import Choice


class DepthFirstPath:
    """The path to the last leaf, with the branches not taken yet.

    The deepest branch is taken first, so that only one path is ever kept,
    however many leaves the tree has.
    """

    __slots__ = ("_branches", "_choices", "waiting")

    def __init__(self) -> None:
        self._choices: Sequence[Choice] = ()
        self._branches: list[tuple[int, list[Choice]]] = []
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
        for _, others in branches:
            self.waiting += len(others)

    def take(self) -> tuple[Choice, ...]:
        """The prefix that ends with the deepest branch not taken yet; takes it."""
        step, others = self._branches[-1]
        choice = others.pop()
        if not others:
            self._branches.pop()
        self.waiting -= 1
        return (*self._choices[:step], choice)
