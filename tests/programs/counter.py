"""An object that counts, without a lock."""

from __future__ import annotations


class Counter:
    """Counts in two steps."""

    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        value = self.value
        self.value = value + 1
