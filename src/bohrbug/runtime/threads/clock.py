"""Virtual time: it stands still while tasks run and jumps when all of them wait."""

from __future__ import annotations

import math

from bohrbug.accelerator.plain import plain

READING = 1e-6
"""Seconds by which every reading of the clock advances it."""

IMPATIENT_AFTER = 200
"""Readings with no timeout in between after which the advance grows each time."""

GROWTH = 1.1
"""By which factor it grows."""

LONGEST_ADVANCE = 1.0
"""Seconds that it grows to."""

_GROWS = math.ceil(math.log(LONGEST_ADVANCE / READING, GROWTH))


@plain
class VirtualClock:
    """Seconds since the beginning of the execution.

    A loop that polls the clock must end: each reading advances it a little,
    and many readings in a row, with nothing else happening, more and more.

    Parameters:
        epoch: what ``time.time()`` says at the beginning, in seconds.
    """

    __slots__ = ("_readings", "epoch", "now")

    def __init__(self, epoch: float) -> None:
        self.epoch = epoch
        self.now = 0.0
        self._readings = 0

    def read(self) -> float:
        """Seconds since the beginning, for ``monotonic`` and ``perf_counter``."""
        self._readings += 1
        if self._readings > IMPATIENT_AFTER:
            grown = min(self._readings - IMPATIENT_AFTER, _GROWS)
            self.now += min(READING * GROWTH**grown, LONGEST_ADVANCE)
        else:
            self.now += READING
        return self.now

    def advance_to(self, moment: float | None) -> None:
        """A timeout fired: at least ``moment`` it is now."""
        self._readings = 0
        if moment is not None and moment > self.now:
            self.now = moment
