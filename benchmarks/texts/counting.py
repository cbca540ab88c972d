"""Shares of executions, and what they allow to say."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """Some of so many independent trials.

    Parameters:
        hits: how many.
        of: of how many.
    """

    hits: int
    of: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.hits / self.of if self.of else 0.0

    def interval(self) -> tuple[float, float]:
        """Where the probability lies with 95 % confidence (Wilson, 1927)."""
        if not self.of:
            return 0.0, 1.0
        z = 1.96
        middle = (self.hits + z * z / 2) / (self.of + z * z)
        spread = self.hits * (self.of - self.hits) / self.of + z * z / 4
        reach = z / (self.of + z * z) * math.sqrt(spread)
        return max(0.0, middle - reach), min(1.0, middle + reach)


def short(value: float) -> str:
    """A probability or a ratio with three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
