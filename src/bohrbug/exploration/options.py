"""What an exploration can be told, in one place for every way to start one."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypedDict

from bohrbug.model.conditions import SC, Conditions
from bohrbug.model.standstill import LONG_STALL
from bohrbug.settings import OPTIONS, change_of_scope

_wall, _monotonic = time.time, time.monotonic


def _since_boot() -> float:
    # Whole seconds: what programs add to them is rounded alike in all explorations.
    return float(math.ceil(_monotonic()))


@dataclass(frozen=True, slots=True)
class ExploreOptions:
    """Options of an exploration; the names are those of the command line and of pytest.

    Parameters:
        strategy: name of a strategy, see :data:`bohrbug.search.registry.STRATEGIES`.
        executions: the budget in executions, ``None`` for none.
        seconds: the budget in seconds of real time, ``None`` for none.
        bound: the largest number of preemptions for ``ipb`` and ``auto``; ``None``: no bound.
        depth: of the bugs that ``pct`` aims at; ``None``: 1, 2 and 3 in turn.
        seed: of everything random.
        level: ``sync``, ``racy`` or ``all``: what is a scheduling point.
        scope: changes to the modules whose data accesses are seen, such as ``+logging``.
        timeouts: ``early``: that a timeout fires although others could run is a
            choice; ``late``: only when nothing else can run, or once it is due;
            ``report``: as ``early``
            until a failure is found that needs it, which is reported but does not
            count as a failure, and from then on as ``late``; ``short``: such a failure counts
            if no task had to stand still for long (:mod:`~bohrbug.model.standstill`).
        interpreter: ``free-threaded``: control may pass at any access; ``gil``:
            only where a build with the GIL can switch threads.
        entropy: ``same``: what the system gives at random, as ``os.urandom`` does, is the same in
            each execution; ``real``: it is not.
        async_order: ``arrivals``: ``asyncio.sleep(0)`` takes at least one turn of its event loop;
            ``fifo``: it takes one.
        cancel: names of tasks of event loops (or of their coroutines, with ``*`` and ``?``), one
            of which may be cancelled in an execution, wherever it waits; ``scopes`` stands for
            those within a timeout, ``wait_for`` or a ``TaskGroup``.
        gc: a garbage collection may come in an execution, while a task holds a lock.
        asyncio_errors: ``note`` what asyncio only logs (exceptions of tasks that nobody asks for,
            and the like), or let it ``fail`` the test.
        races: ``report`` data races, let them ``fail`` the test, or ``ignore`` them.
        keep_going: explore on after a failure.
        minimise: reduce failures to the fewest preemptions.
        causes: executions spent on each failure to find the orderings that make the
            test fail; 0: don't look for them.
        causes_seconds: the same in seconds of real time.
        predict: executions spent on deadlocks and data races that passing executions
            give reason to expect in other schedules; 0: predict nothing, nor let waits end by
            themselves.
        max_steps: steps after which an execution is a livelock.
        hang_seconds: real seconds without any progress after which the
            watchdog ends an execution; 0 switches it off. What is outside our control is waited
            for half as long, or 5 seconds if that is more.
        workers: processes that explore at the same time.
        epoch: what ``time.time()`` says at the beginning of each execution, in seconds; by
            default the moment at which the exploration begins. It is kept in reproduction files.
        uptime: the same of ``time.monotonic()`` and ``time.perf_counter()``, by default in whole
            seconds.
        invariant: called before every step once there are several tasks.

    Raises:
        ValueError: a value is not of its type, or makes no sense.
    """

    strategy: str = "auto"
    executions: int | None = 1_000
    seconds: float | None = 30.0
    bound: int | None = 2
    depth: int | None = None
    seed: int = 0
    level: str = "racy"
    scope: tuple[str, ...] = ()
    timeouts: str = "short"
    interpreter: str = "free-threaded"
    entropy: str = "same"
    memory: str = SC
    async_order: str = "arrivals"
    cancel: tuple[str, ...] = ()
    gc: bool = False
    asyncio_errors: str = "note"
    races: str = "report"
    keep_going: bool = False
    minimise: bool = True
    causes: int = 400
    causes_seconds: float = 3.0
    predict: int = 50
    max_steps: int = 300_000
    hang_seconds: float = 10.0
    workers: int = 1
    epoch: float = field(default_factory=_wall, compare=False)
    uptime: float = field(default_factory=_since_boot, compare=False)
    invariant: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        for option in OPTIONS:
            value = option.check(getattr(self, option.name), option.name)
            object.__setattr__(self, option.name, value)
        for change in self.scope:
            change_of_scope(change)
        if self.workers > 1 and not hasattr(os, "fork"):
            raise ValueError(
                f"workers must be 1 here, not {self.workers}: workers are forked processes, "
                "which this platform does not have"
            )

    def check_for_python(self) -> None:
        """See that nothing is asked for that Python tests do not have.

        Raises:
            ValueError: something is.
        """
        if self.memory != SC:
            raise ValueError(
                f"memory {self.memory} is for native programs only: accesses of Python code have "
                "one order for all threads"
            )

    def left_after(self, executions: int) -> int:
        """How many executions of the budget are left after so many."""
        return (sys.maxsize if self.executions is None else self.executions) - executions

    def conditions(self) -> Conditions:
        """Under which executions begin, before anything is known of the test."""
        return Conditions(
            late_timeouts=self.timeouts == "late",
            gil=self.interpreter == "gil",
            max_steps=self.max_steps,
            memory=self.memory,
        )

    def after_setting_aside(self, conditions: Conditions) -> Conditions:
        """Under which executions go on, once a failure does not count as a timeout was early.

        Parameters:
            conditions: those before.
        """
        if self.timeouts == "short":
            return replace(conditions, most_stall=LONG_STALL)
        return replace(conditions, late_timeouts=True)


class Keywords(TypedDict, total=False):
    """The options as keyword arguments, for type checkers: see :class:`ExploreOptions`."""

    strategy: str
    executions: int | None
    seconds: float | None
    bound: int | None
    depth: int | None
    seed: int
    level: str
    scope: tuple[str, ...]
    timeouts: str
    interpreter: str
    entropy: str
    memory: str
    async_order: str
    cancel: tuple[str, ...]
    gc: bool
    asyncio_errors: str
    races: str
    keep_going: bool
    minimise: bool
    causes: int
    causes_seconds: float
    predict: int
    max_steps: int
    hang_seconds: float
    workers: int
    epoch: float
    uptime: float
    invariant: Callable[[], object] | None
