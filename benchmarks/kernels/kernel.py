"""A kernel: a small program that has the bug of a real project, and the same without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kernel:
    """A program in two versions.

    Parameters:
        upstream: the project and the number of its issue or pull request, as in GoBench.
        kind: what kind of bug it is.
        program: the program; with ``fixed``, mended after the idea of its project.
    """

    upstream: str
    kind: str
    program: Callable[[bool], None]

    @property
    def name(self) -> str:
        """As ``bohrbug run FILE.py:NAME.broken`` takes it."""
        return self.program.__name__

    def broken(self) -> None:
        """The program with its bug."""
        self.program(False)

    def fixed(self) -> None:
        """The program without it."""
        self.program(True)


def kernel(upstream: str, kind: str) -> Callable[[Callable[[bool], None]], Kernel]:
    """Make a kernel of a function that takes whether it is the mended version."""
    return lambda program: Kernel(upstream, kind, program)
