"""Timers that overtake others, as their loop was busy before these were set.

Under control steps take no time, and two timers that are set in one turn of a loop would come in
the order of their delays. In reality the longer one may be over first, if it was set first, and
its loop was busy before the other one was set. Timers of different turns need no rule of their
own: where a turn begins, time may pass anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

_LARGEST_GAP, _SMALLEST_GAP = 1e-6, 1e-8


class FreshTimers:
    """The timers of a loop that were set since time could last pass.

    Attributes:
        gap: so many seconds after the one that overtakes it a timer is over. It gets smaller each
            time: of two that are overtaken by one timer, the second one can be over first, and
            comes after the first one where that overtakes it, too.
    """

    __slots__ = ("_timers", "gap")

    def __init__(self) -> None:
        self._timers: list[Any] = []
        self.gap = _LARGEST_GAP

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._timers)

    def clear(self) -> None:
        """Time can pass."""
        self._timers.clear()
        self.gap = _LARGEST_GAP

    def has_overtaken(self) -> None:
        """A timer overtakes the one that is about to be set."""
        self.gap = max(self.gap / 2, _SMALLEST_GAP)

    def add(self, timer: Any) -> None:
        """A timer was set."""
        self._timers.append(timer)

    def overtaking(
        self, timers: list[Any], when: float, number_of: Callable[[Any], int]
    ) -> list[Any]:
        """Which timers may overtake one that is not yet set, the one that is over first in front.

        They are over later than that, but not earlier than one of these: if time has passed before
        these were set, it was as if it had passed where the turn began.

        Parameters:
            timers: all that the loop has.
            when: the one that is not yet set would be over.
            number_of: the number of a timer, in the order in which they were set.
        """
        times = [timer._when for timer in self._timers if not timer._cancelled]
        if not times or max(timer._when for timer in timers) <= when:
            return []
        first = max(min(times), when)
        found: dict[float, Any] = {}
        for timer in timers:
            time = timer._when
            if timer._cancelled or time in (inf, when) or time < first:
                continue
            # Those of one time come in their order.
            if time not in found or number_of(timer) < number_of(found[time]):
                found[time] = timer
        return [found[time] for time in sorted(found)]
