"""Virtual time: it stands still while tasks run and jumps when all of them wait.

A loop that polls the clock must end all the same, so that readings advance it, too: each by a
little, and many in a row by more and more.  In reality the others run while one task spins.  So a
task that reads the clock again and again first yields to those that can run, many times;
and where it could yield, what it spins for passes no moment at which another wakes up.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

from bohrbug.accelerator.plain import plain

_real_monotonic, _real_time = time.monotonic, time.time

READING = 1e-6
"""Seconds by which every reading of the clock advances it."""

IMPATIENT_AFTER = 200
"""Readings with no timeout in between after which the advance grows each time."""

YIELDING_READINGS = 2_000
"""Further readings before it grows as long as other tasks can run."""

READINGS_PER_YIELD = 50
"""Of these, how many there are from one yield to the next."""

GROWTH = 1.1
"""By which factor it grows."""

LONGEST_ADVANCE = 1.0
"""Seconds that it grows to."""

_GROWS = math.ceil(math.log(LONGEST_ADVANCE / READING, GROWTH))


@plain
class VirtualClock:
    """Seconds since the beginning of the execution.

    Parameters:
        epoch: what ``time.time()`` says at the beginning, in seconds.

    Attributes:
        jumps: how many timeouts have fired.
        is_real: whether it is the real time.
    """

    is_real = False

    __slots__ = (
        "_in_step",
        "_readings",
        "_step",
        "_tasks",
        "_yielding",
        "can_jump",
        "epoch",
        "jumps",
        "now",
    )

    def __init__(self, epoch: float) -> None:
        self.epoch = epoch
        self.now = 0.0
        # It always does; see RealClock.
        self.can_jump = True
        self.jumps = 0
        self._readings = 0
        # Readings in the present step, in which nobody else can run.
        self._step = self._in_step = 0
        # Readings for the sake of others, since a task began or ended.
        self._yielding = 0
        self._tasks = (0, 0)

    def read(self, execution: Execution) -> float:
        """Seconds since the beginning, for ``monotonic`` and ``perf_counter``.

        Parameters:
            execution: whose running task reads.
        """
        self._readings += 1
        if self._readings <= IMPATIENT_AFTER or self._lets_others_run(execution):
            self.now += READING
            return self.now
        grown = min(self._readings - IMPATIENT_AFTER, _GROWS)
        moment = self.now + min(READING * GROWTH**grown, LONGEST_ADVANCE)
        if self._in_step <= IMPATIENT_AFTER:
            deadlines = [task.deadline for task in execution.alive if task.deadline is not None]
            earliest = min(deadlines, default=math.inf)
            if moment >= earliest:
                # Whoever waits until then has to have its turn before it is later still.
                execution.time_is_up = True
                moment = max(earliest, self.now + READING)
        self.now = moment
        return moment

    def _lets_others_run(self, execution: Execution) -> bool:
        """Whether a task that spins can yield instead of letting time pass."""
        tasks = (len(execution.all_tasks), len(execution.alive))
        if tasks != self._tasks:
            self._tasks = tasks
            self._yielding = self._readings = 0
            return True
        if execution.steps != self._step:
            self._step = execution.steps
            self._in_step = 0
        self._in_step += 1
        if (
            self._in_step > IMPATIENT_AFTER
            or self._yielding == YIELDING_READINGS
            or not _others_could_run(execution)
        ):
            return False
        self._yielding += 1
        self._readings = IMPATIENT_AFTER
        if self._yielding % READINGS_PER_YIELD == 0:
            execution.spins()
        return True

    def advance_to(self, moment: float | None) -> None:
        """A timeout fired: at least ``moment`` it is now."""
        self._readings = 0
        self.jumps += 1
        if moment is not None and moment > self.now:
            self.now = moment


class RealClock:
    """The real time, for an execution that others depend on; see :class:`VirtualClock`.

    Attributes:
        can_jump: in a copy, which nobody waits for: what is left of a short sleep is skipped.
    """

    is_real = True

    __slots__ = ("_ahead", "can_jump", "jumps")

    def __init__(self) -> None:
        self.jumps = 0
        self.can_jump = False
        self._ahead = 0.0

    @property
    def now(self) -> float:
        """What ``time.monotonic()`` says, in seconds."""
        return _real_monotonic() + self._ahead

    @property
    def epoch(self) -> float:
        """What ``time.time()`` would have said when :attr:`now` was 0, in seconds."""
        return _real_time() - _real_monotonic()

    def read(self, execution: Execution) -> float:
        """Seconds, for ``monotonic`` and ``perf_counter``: nothing but time lets it pass."""
        return self.now

    def advance_to(self, moment: float | None) -> None:
        """A timeout fired."""
        self.jumps += 1
        if self.can_jump and moment is not None:
            self._ahead += max(moment - self.now, 0.0)


def _others_could_run(execution: Execution) -> bool:
    """Whether another task than the running one was enabled at the last step."""
    return bool(execution.rows) and len(execution.rows[-1][3]) > 1
