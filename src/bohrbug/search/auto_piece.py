"""A piece of the work of ``auto``, which is one of a member, and what came of it in a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bohrbug.search.divisible import State


@dataclass(slots=True)
class Piece:
    """A piece of one member, in the process that has it.

    Parameters:
        member: its number.
        charged: executions that the member was charged with when the piece was handed out.
        made: executions.
        seen: of each execution its class, if it was drawn at random, and the conflict pairs that
            were new to the process.
        weights: of random walks, for the number of schedules.
        lessons: see :class:`~bohrbug.search.strategy.Taught`.
        tasks, steps: the most that an execution had.
    """

    member: int
    charged: int
    made: int = 0
    seen: list[Any] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    lessons: list[State] = field(default_factory=list)
    tasks: int = 0
    steps: int = 0

    def learn(self, lessons: State) -> None:
        """Add lessons; the numbers are kept once."""
        if self.lessons and "touches" not in lessons:
            self.lessons[-1] |= lessons
        else:
            self.lessons.append({"touches": [], "counts": [], **lessons})
