"""An execution that shows more and more of itself: at some steps, and in a replay at the same ones.

A program that runs only once can't be seen in earlier executions.  So functions are rewritten while
it runs, and accesses become scheduling points, between two steps; from then on it is another
execution than one in which all that was known from the start.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bohrbug.model.conditions import Growth, PlaceKey
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.task import Task

if TYPE_CHECKING:
    from bohrbug.model.outcome import Outcome
    from bohrbug.runtime.threads.live_runtime import LiveRuntime

COLLECTED_EVERY = 20_000
"""Steps from one collection of young garbage to the next: nobody else collects it."""

FULL_EVERY = 10
"""One of so many collections is of all garbage."""


class Growing:
    """Lets an execution grow, and notes at which steps it did.

    Attributes:
        growth: what it has grown by, as far as it was not forgotten.
    """

    def __init__(self) -> None:
        self.runtime: LiveRuntime | None = None
        self.growth: list[Growth] = []
        self.points: frozenset[PlaceKey] = frozenset()
        self._collect_at = COLLECTED_EVERY
        self._collections = 0

    def keep_house(self, execution: Execution, step: int) -> int:
        """Collect garbage if it is time to; the step at which it is again.

        It is counted in steps, so that finalizers run at the same one in each replay.
        """
        # Whoever computes for long here does not hang.
        execution.patience = math.inf
        if step >= self._collect_at:
            self._collections += 1
            gc.collect(2 if self._collections % FULL_EVERY == 0 else 1)
            self._collect_at = step + COLLECTED_EVERY
        return self._collect_at

    def grow(self, growth: Growth) -> None:
        """Let it grow before a step."""
        assert self.runtime is not None
        self.growth.append(growth)
        self.points |= growth.points
        self.runtime.grow(growth)

    def forget(self, steps: int) -> None:
        """The first so many steps are forgotten."""
        self._collect_at -= steps


class Regrowing:
    """Lets a replay grow as the execution did that it repeats; a visitor.

    Parameters:
        growth: of that.
    """

    def __init__(self, growth: Sequence[Growth]) -> None:
        self.growing = Growing()
        self._left = list(growth)

    def visit(self, execution: Execution, step: int, enabled: Sequence[Task]) -> int:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        following = self.growing.keep_house(execution, step)
        while self._left and self._left[0].step <= step:
            self.growing.grow(self._left.pop(0))
        return min(following, self._left[0].step) if self._left else following

    def decided(self, outcome: Outcome) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""

    def raised(self, task: Task, error: BaseException) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""

    def waits(self, execution: Execution) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""

    def ends(self, execution: Execution) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
