"""The timers of an event loop of asyncio, as its own turns look at them.

For those who stand in place of these turns: under control, and while messages are recorded or
replayed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Any

_MANY = 100
"""So many cancelled timers may wait to be thrown away, as in asyncio."""


def forget_cancelled(loop: Any) -> None:
    """Throw cancelled timers away: all of them if they are many, else those that are next.

    Parameters:
        loop: an event loop of asyncio.
    """
    timers = loop._scheduled
    if loop._timer_cancelled_count > max(_MANY, len(timers)) / 2:
        for timer in timers:
            timer._scheduled = not timer._cancelled
        loop._scheduled = [timer for timer in timers if not timer._cancelled]
        heapq.heapify(loop._scheduled)
        loop._timer_cancelled_count = 0
    while loop._scheduled and loop._scheduled[0]._cancelled:
        heapq.heappop(loop._scheduled)._scheduled = False
        loop._timer_cancelled_count -= 1


def take_over(loop: Any, now: float) -> Iterator[Any]:
    """Take the timers that are over, in the order of their times.

    Parameters:
        loop: an event loop of asyncio.
        now: what its clock says, in seconds.
    """
    # On a machine that has been up for very long, the resolution may be too small to add.
    end = now + max(loop._clock_resolution, math.ulp(now))
    timers = loop._scheduled
    while timers and timers[0]._when < end:
        timer = heapq.heappop(timers)
        timer._scheduled = False
        if not timer._cancelled:
            yield timer
