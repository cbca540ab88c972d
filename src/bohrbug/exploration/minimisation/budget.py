"""What may be spent on a failure once it is found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

_now = time.perf_counter

MOST_WITH_THE_GIL = 200
"""Executions with the rules of the GIL after which the search is given up."""


def never() -> bool:
    """Nobody wants it to end before its time."""
    return False


@dataclass(slots=True)
class Budget:
    """What may be spent.

    Parameters:
        executions: how many are left.
        until: the time on :func:`time.perf_counter` when it is over.
        is_stopped: whether the user wants no more to be spent.
    """

    executions: int
    until: float = math.inf
    is_stopped: Callable[[], bool] = never

    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.executions <= 0 or _now() >= self.until or self.is_stopped()

    def part(self, share: float) -> Budget:
        """Take a share of what is left, which becomes less by so many executions."""
        executions = round(self.executions * share)
        self.executions -= executions
        now = _now()
        return replace(self, executions=executions, until=now + (self.until - now) * share)

    def anew(self, executions: int) -> Budget:
        """So many executions, until the same time."""
        return replace(self, executions=executions)
