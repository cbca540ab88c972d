"""Virtual time: it stands still while tasks run and jumps when all of them wait.

A loop that polls the clock must end all the same, so that readings advance it, too: each by a
little, and many in a row by more and more, once a task reads it where it stood before: who logs
a thousand lines reads it as often, and comes further each time.  In reality the others run while
one task spins.  So a task that spins on the clock first yields to those that can run, many times;
and where it could yield, what it spins for passes no moment at which another wakes up.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bohrbug.model.operation import TaskId
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.standing import Standing

from bohrbug.accelerator.plain import plain
from bohrbug.model.outcome import Divergence
from bohrbug.runtime.threads.advancing import Advance, advance_of
from bohrbug.runtime.threads.loops.coroutines import is_of_library
from bohrbug.runtime.threads.standing import standing_here, timeless

_real_monotonic, _real_time = time.monotonic, time.time

READING = 1e-6
"""Seconds by which every reading of the clock advances it."""

IMPATIENT_AFTER = 200
"""Readings with no timeout in between after which the advance grows each time, if a task spins."""

READINGS_PER_LOOK = 20
"""Of further readings, how many there are from one look at where the task stands to the next."""

MOST_READINGS = 20_000
"""Readings after which it is taken to spin, wherever it stands, unless a loop has gone on."""

MOST_STEPS = 20_000
"""The same in steps of all tasks."""

MOST_EXTENSIONS = 15
"""How often that many more are allowed, as a loop has come nearer to its end meanwhile."""

YIELDING_READINGS = 2_000
"""Further readings before it grows as long as other tasks can run."""

READINGS_PER_YIELD = 50
"""Of these, how many there are from one yield to the next."""

GROWTH = 1.1
"""By which factor it grows."""

LONGEST_ADVANCE = 1.0
"""Seconds that it grows to."""

_WITH_REALITY = "time as passing as fast as in reality while code in C waits"
"""A condition of the verdict."""

_GROWS = math.ceil(math.log(LONGEST_ADVANCE / READING, GROWTH))


@plain
class VirtualClock:
    """Seconds since the beginning of the execution.

    Parameters:
        epoch: what ``time.time()`` says at the beginning, in seconds.
        uptime: what ``time.monotonic()`` says then.  Programs take it for long: who has done
            nothing yet may note that it was done at 0.

    Attributes:
        jumps: how many timeouts have fired.
        is_real: whether it is the real time.
        readings: how often the program has read it since a timeout has fired.
        transfers: how often something has been received from a socket.
    """

    is_real = False

    __slots__ = (
        "_advance",
        "_beyond",
        "_comes_further",
        "_extensions",
        "_first_step",
        "_glances",
        "_in_step",
        "_last_read",
        "_readings",
        "_really",
        "_step",
        "_stood",
        "_tasks",
        "_transfers",
        "_yielding",
        "can_jump",
        "epoch",
        "jumps",
        "now",
        "readings",
        "transfers",
        "uptime",
    )

    def __init__(self, epoch: float, uptime: float = 0.0) -> None:
        self.epoch = epoch
        self.uptime = uptime
        self.now = 0.0
        # It always does; see RealClock.
        self.can_jump = True
        self.jumps = 0
        self.readings = self._readings = 0
        # The real time of the last reading, where time passes as it does in reality.
        self._really: float | None = None
        # Readings in the present step, in which nobody else can run.
        self._step = self._in_step = 0
        # Readings for the sake of others, since a task began or ended.
        self._yielding = 0
        self._tasks = (0, 0)
        # Readings of whom it is looked at where they stand; the step at the first of these.
        self._beyond = self._first_step = self._extensions = 0
        # How far all tasks had come halfway to the limit.
        self._advance: Advance | None = None
        self._stood: dict[TaskId, Standing] = {}
        self._comes_further = False
        # What was received is in no variable that tells where a task stands.
        self.transfers = self._transfers = 0
        self._glances = 0
        self._last_read = -1.0

    @contextmanager
    def glance(self) -> Iterator[None]:
        """Meanwhile nobody is taken to spin who reads: it is not the program."""
        self._glances += 1
        try:
            yield
        finally:
            self._glances -= 1

    def read(self, execution: Execution) -> float:
        """Seconds since the beginning, as :attr:`now` when it has been read.

        Parameters:
            execution: whose running task reads.
        """
        if self._glances:
            self.now += READING
            return self.now
        self._readings += 1
        if asked_by_program(sys._getframe(1)):
            self.readings += 1
            self._last_read = self.now
        if self._really is not None:
            return self._pass_with_reality(execution, self._really)
        if (
            self._readings <= IMPATIENT_AFTER
            or self._has_come_further(execution)
            or self._lets_others_run(execution)
        ):
            self.now += READING
            return self.now
        grown = min(self._readings - IMPATIENT_AFTER, _GROWS)
        moment = self.now + min(READING * GROWTH**grown, LONGEST_ADVANCE)
        if self._in_step <= IMPATIENT_AFTER:
            moment = self._not_beyond_timeouts(execution, moment)
        self.now = moment
        return moment

    def _not_beyond_timeouts(self, execution: Execution, moment: float) -> float:
        """As late as it may be: whoever waits until then has to have its turn before."""
        deadlines = [task.deadline for task in execution.alive if task.deadline is not None]
        earliest = min(deadlines, default=math.inf)
        if moment < earliest:
            return moment
        execution.time_is_up = True
        return max(earliest, self.now + READING)

    def follow_reality(self) -> None:
        """Until a timeout fires, time passes no slower than in reality.

        Called in another thread, where the program asks for the time again and again and waits
        meanwhile, in code in C of which nobody here knows how long it takes.
        """
        if self._really is None:
            self._really = _real_monotonic()

    def _pass_with_reality(self, execution: Execution, last: float) -> float:
        if not execution.nudged:
            execution.nudged = True
            execution.trace.divergence = Divergence(
                execution.steps, "no time", "time that passes in code in C"
            )
            execution.trace.uncontrolled.assume(_WITH_REALITY)
        self._really = _real_monotonic()
        moment = self.now + max(self._really - last, READING)
        self.now = self._not_beyond_timeouts(execution, moment)
        return self.now

    def read_since(self, moment: float) -> bool:
        """Whether the program has read it since then, in seconds."""
        return self._last_read >= moment

    def _has_come_further(self, execution: Execution) -> bool:
        """Whether who reads the clock does not only wait until a time has come."""
        self._beyond += 1
        if self._beyond == 1:
            self._first_step = execution.steps
        part = max(self._beyond / MOST_READINGS, (execution.steps - self._first_step) / MOST_STEPS)
        if part > 0.5 and self._advance is None:
            self._advance = advance_of(execution)
        if part > 1.0 and not self._goes_on(execution):
            return False
        if self._beyond % READINGS_PER_LOOK == 1:
            reader = execution.current.id
            stands = timeless(standing_here(in_step=True))
            self._comes_further = (
                self._stood.get(reader) != stands or self.transfers != self._transfers
            )
            self._stood[reader], self._transfers = stands, self.transfers
        if self._comes_further:
            self._readings = IMPATIENT_AFTER
        return self._comes_further

    def _goes_on(self, execution: Execution) -> bool:
        """At the limit: whether the program comes nearer to its end, and reads as it goes."""
        before = self._advance
        if before is None or self._extensions == MOST_EXTENSIONS:
            return False
        now = advance_of(execution)
        if not before.goes_on(now):
            # That is how it stays until a timeout fires.
            self._extensions = MOST_EXTENSIONS
            return False
        self._advance = now
        self._extensions += 1
        self._beyond, self._first_step = 1, execution.steps
        return True

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
        self.readings = self._readings = self._beyond = self._extensions = 0
        self._advance = None
        self._really = None
        if self._stood:
            self._stood.clear()
        self.jumps += 1
        if moment is not None and moment > self.now:
            self.now = moment


class RealClock:
    """The real time, for an execution that others depend on; see :class:`VirtualClock`.

    Attributes:
        can_jump: in a copy, which nobody waits for: what is left of a short sleep is skipped.
    """

    is_real = True
    uptime = 0.0

    __slots__ = ("_ahead", "can_jump", "jumps", "readings", "transfers")

    def __init__(self) -> None:
        self.jumps = self.readings = self.transfers = 0
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

    def read_since(self, moment: float) -> bool:
        """See :class:`VirtualClock`: here time is never taken to pass in vain."""
        return True

    def follow_reality(self) -> None:
        """It does."""

    def glance(self) -> AbstractContextManager[None]:
        """See :class:`VirtualClock`."""
        return nullcontext()

    def read(self, execution: Execution) -> float:
        """Seconds, for ``monotonic`` and ``perf_counter``: nothing but time lets it pass."""
        return self.now

    def advance_to(self, moment: float | None) -> None:
        """A timeout fired."""
        self.jumps += 1
        if self.can_jump and moment is not None:
            self._ahead += max(moment - self.now, 0.0)


TELLING_TIME = frozenset({"time", "current_time"})
"""Methods of event loops that tell the program what time it is."""


def asked_by_program(frame: FrameType | None) -> bool:
    """Whether it is not an event loop that reads the clock, for what it has been asked to do.

    Parameters:
        frame: of who reads it.
    """
    is_own = True
    while frame is not None and is_of_library(frame.f_globals):
        module = str(frame.f_globals.get("__name__"))
        is_own = is_own and module.startswith("bohrbug.")
        if not is_own and frame.f_code.co_name not in TELLING_TIME:
            return False
        frame = frame.f_back
    return True


def _others_could_run(execution: Execution) -> bool:
    """Whether another task than the running one was enabled at the last step."""
    return bool(execution.rows) and len(execution.rows[-1][3]) > 1
