"""Timers that overtake others, as their loop was busy before these were set.

Under control steps take no time, and two timers that are set in one turn of a loop would come in
the order of their delays. In reality the longer one may be over first, if it was set first, and
its loop was busy before the other one was set. Timers of different turns need no rule of their
own: where a turn begins, time may pass anyway.

How long a timer takes says ``call_later``, or the program computes when it is over: ``call_at``,
``timeout_at``, the deadlines of anyio.  Then time has to pass before the program looks at the
clock.  A look is taken for one of these where the function that looks also names what sets a
timer; if each look were one, programs that measure how long they take had many more schedules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf
from types import CodeType, FrameType
from typing import Any

from bohrbug.runtime.threads.clock import TELLING_TIME

_LARGEST_GAP, _SMALLEST_GAP = 1e-6, 1e-8

_SETTING = frozenset({"call_at", "timeout_at", "reschedule", "deadline"})
"""Names of what takes the time at which a timer is to be over."""

_SETTING_IN_ANYIO = frozenset({"CancelScope", "create_cancel_scope", "fail_at", "move_on_at"})


def computes_when_timer_is_over(frame: FrameType | None) -> bool:
    """Whether what the clock says may become the time at which a timer is over.

    Parameters:
        frame: of who looks at the clock of a loop.
    """
    while frame is not None and frame.f_code.co_name in TELLING_TIME:
        frame = frame.f_back
    if frame is None or str(frame.f_globals.get("__name__")).startswith("asyncio."):
        # Its own functions know for how long they wait.
        return False
    return _sets_timer(frame.f_code)


@lru_cache(maxsize=1024)
def _sets_timer(code: CodeType) -> bool:
    """Whether a function names what sets a timer for a moment."""
    return not (_SETTING | _SETTING_IN_ANYIO).isdisjoint(code.co_names)


class FreshTimers:
    """The timers of a loop that were set since time could last pass.

    Attributes:
        has_any: whether there are any.
        gap: so many seconds after the one that overtakes it a timer is over. It gets smaller each
            time: of two that are overtaken by one timer, the second one can be over first, and
            comes after the first one where that overtakes it, too.
        are_new: whether one was set since the program last looked at the clock. If time passes
            before it does so for the first time, it has passed before the second time as well.
    """

    __slots__ = ("_timers", "are_new", "gap", "has_any")

    def __init__(self) -> None:
        self._timers: list[Any] = []
        self.has_any = self.are_new = False
        self.gap = _LARGEST_GAP

    def clear(self) -> None:
        """Time can pass."""
        self._timers.clear()
        self.has_any = self.are_new = False
        self.gap = _LARGEST_GAP

    def has_overtaken(self) -> None:
        """A timer overtakes the one that is about to be set."""
        self.gap = max(self.gap / 2, _SMALLEST_GAP)

    def add(self, timer: Any) -> None:
        """A timer was set."""
        self._timers.append(timer)
        self.has_any = self.are_new = True

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
