"""What may be spent on a failure once it is found."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

_now = time.perf_counter

MOST_WITH_THE_GIL = 200
"""Executions with the rules of the GIL after which the search is given up."""


@dataclass(slots=True)
class Budget:
    """What may be spent.

    Parameters:
        executions: how many are left.
        until: the time on :func:`time.perf_counter` when it is over.
    """

    executions: int
    until: float = math.inf

    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.executions <= 0 or _now() >= self.until

    def part(self, share: float) -> Budget:
        """Take a share of what is left, which becomes less by so many executions."""
        executions = round(self.executions * share)
        self.executions -= executions
        now = _now()
        return Budget(executions, now + (self.until - now) * share)
