"""A worker: goes through pieces of the work and tells what it finds."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NoReturn

from bohrbug.exploration.figures import Figures, RaceKey, Signature, race_key
from bohrbug.exploration.foresight import let_foresee
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.parallel.messages import (
    Channel,
    End,
    FoundFailure,
    FoundLockOrder,
    FoundRace,
    GaveBack,
    Hung,
    Learned,
    Piece,
)
from bohrbug.exploration.parallel.shared import SharedNumbers
from bohrbug.exploration.prediction import is_sampled
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.monitors.lock_order import lock_cycles, nestings_of
from bohrbug.search.divisible import Divisible

REPORTED = 5
"""Executions with the same failure that are told of, should the first ones not be confirmed."""

AT_LEAST = 0.002
"""Seconds that a worker keeps a piece when others have nothing to do."""

AT_MOST = 1.0
"""Seconds that it keeps one, so that what others have to know comes to them, and is kept."""

COST = 10
"""So many times as long as it takes to read or write a piece it is kept when others wait, and ten
times as long as that if none do."""

_now = time.perf_counter
_exit, _getppid, _kill, _getpid = os._exit, os.getppid, os.kill, os.getpid
_signal = signal.signal

STUCK = 70
"""Exit status of a worker whose execution could not be ended."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to do, besides its pieces.

    Parameters:
        number: of the worker, from 0.
        ignore_races: data races are not wanted.
        hang_seconds: see :class:`bohrbug.exploration.options.ExploreOptions`.
        known_failures: signatures that need not be told of again.
        known_races: the same for data races.
        known_predictions: the same for orders of locks; ``None`` if they are not wanted.
    """

    number: int
    ignore_races: bool
    hang_seconds: float
    known_failures: Collection[Signature]
    known_races: Collection[RaceKey]
    known_predictions: Collection[object] | None


class Worker:
    """Works in a forked process, with copies of the runtime and of the strategy.

    Parameters:
        task: what to do.
        learner: of the test; ready to execute.
        strategy: any of its kind: each piece replaces its state.
        channel: to the first process.
        shared: see :class:`SharedNumbers`.
    """

    def __init__(
        self,
        task: Task,
        learner: Learner,
        strategy: Divisible,
        channel: Channel,
        shared: SharedNumbers,
    ) -> None:
        self._task = task
        self._learner = learner
        self._strategy = strategy
        self._channel = channel
        self._shared = shared
        self._told: dict[Signature, int] = {}
        self._told_races: set[RaceKey] = set()
        self._told_orders: set[object] = set()
        self._interrupted = False
        self._ends = False
        # Seconds that it took to write the last piece.
        self._cost = 0.0

    # -- life --------------------------------------------------------------------

    def run(self) -> None:
        """Work until told to end, or until the first process is gone."""
        _signal(signal.SIGINT, signal.SIG_IGN)
        _signal(signal.SIGTERM, self._interrupt)
        seconds = self._task.hang_seconds
        self._learner.runtime.guard(seconds, lambda _: _exit(STUCK), 0).start()
        self._learner.name_older_objects(f"{self._task.number + 1}.")
        while not self._ends:
            message = self._channel.receive()
            if isinstance(message, End):
                return
            self._work(message)

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True
        execution = self._learner.runtime.execution
        if execution is not None:
            execution.interrupt()

    # -- a piece -----------------------------------------------------------------

    def _work(self, piece: Piece) -> None:
        """Execute plans of a piece until it is done or to be given back."""
        strategy, shared, task = self._strategy, self._shared, self._task
        received = _now()
        strategy.restore(piece.state)
        began = _now()
        cost = max(began - received, self._cost)
        figures, left = Figures(), piece.most
        let_foresee(self._learner.runtime, strategy, lambda: left)
        while left > 0 and not shared.stop and not self._interrupted and not self._ends:
            plan = strategy.next_plan()
            if plan is None:
                break
            position = strategy.position()
            if position is not None and position >= shared.limit:
                break
            if not self._execute(plan, position, figures):
                break
            left -= 1
            shared.set_executions(task.number, figures.executions)
            if self.gives_back(piece, _now() - began, cost):
                break
        ended = _now()
        state = strategy.state()
        self._cost = _now() - ended
        self._channel.send(GaveBack(state, figures))

    def gives_back(self, piece: Piece, kept: float, cost: float) -> bool:
        """Whether it is time to give a piece back that is not done.

        Parameters:
            piece: the piece.
            kept: seconds since it came.
            cost: seconds that it takes to read or to write it.
        """
        if piece.died:
            # In smaller pieces nobody would see that they die over it again and again.
            return False
        if kept > max(AT_MOST, 10 * COST * cost):
            return True
        is_asked = self._shared.is_asked(self._task.number)
        return is_asked and kept > max(AT_LEAST, COST * cost) and self._strategy.can_be_cut()

    # -- an execution --------------------------------------------------------------

    def _execute(self, plan: Plan, position: int | None, figures: Figures) -> bool:
        """Execute a plan and take note; False if it did not come to an end."""
        learner = self._learner
        executed = learner.execute(plan)
        trace = executed.trace
        if trace.outcome.kind is OutcomeKind.INTERRUPTED or self._interrupted:
            return False
        figures.count(executed)
        learned = learner.has_learned
        if trace.divergence is not None and not trace.outcome.is_failure:
            executed = learner.execute(plan)
            trace = executed.trace
            if trace.outcome.kind is OutcomeKind.INTERRUPTED or self._interrupted:
                return False
            figures.count(executed)
            learned = learned or learner.has_learned
        self._strategy.observe(trace)
        self._look_at(trace, position, figures)
        # Of a plan that diverged, what was executed is what can be executed again.
        again = plan if trace.divergence is None else Plan(tuple(trace.choices))
        if trace.outcome.kind in (OutcomeKind.HANG, OutcomeKind.STEP_LIMIT):
            self._ends = True
            if trace.outcome.kind is OutcomeKind.HANG and learner.look_closer():
                self._channel.send(Learned(again, position))
            else:
                self._channel.send(Hung(trace.outcome.message))
        elif learned:
            self._ends = True
            self._channel.send(Learned(again, position))
        return True

    def _look_at(self, trace: Trace, position: int | None, figures: Figures) -> None:
        if trace.races and not self._task.ignore_races:
            self._look_at_races(trace, figures)
        outcome = trace.outcome
        if outcome.kind is OutcomeKind.PASSED:
            figures.longest_passed = max(figures.longest_passed, len(trace))
            self._learner.note_pass(len(trace))
            if self._task.known_predictions is not None and is_sampled(trace):
                self._look_at_locks(trace)
        elif outcome.is_failure:
            signature = outcome.signature()
            figures.occurrences[signature] = figures.occurrences.get(signature, 0) + 1
            told = self._told.get(signature, 0)
            if signature not in self._task.known_failures and told < REPORTED:
                self._told[signature] = told + 1
                plan = Plan(tuple(trace.choices))
                self._channel.send(FoundFailure(plan, signature, position))

    def _look_at_races(self, trace: Trace, figures: Figures) -> None:
        is_new = False
        for race in trace.races:
            key = race_key(race)
            figures.races[key] = figures.races.get(key, 0) + race.count
            if key not in self._task.known_races and key not in self._told_races:
                self._told_races.add(key)
                is_new = True
        if is_new:
            self._channel.send(FoundRace(Plan(tuple(trace.choices))))

    def _look_at_locks(self, trace: Trace) -> None:
        known = self._task.known_predictions or ()
        new = {cycle.key for cycle in lock_cycles(nestings_of(trace))} - self._told_orders
        self._told_orders |= new
        if any(key not in known for key in new):
            self._channel.send(FoundLockOrder(Plan(tuple(trace.choices))))


def live_as_worker(parent: int, work: Callable[[], object]) -> NoReturn:
    """What a forked process does in place of all that the first one would go on to do.

    Parameters:
        parent: process id of the first process.
        work: does the work.
    """
    status = 1
    try:
        _end_with(parent)
        work()
        status = 0
    except (EOFError, BrokenPipeError):
        # The first process is gone: there is nobody to work for.
        status = 0
    except BaseException:  # noqa: BLE001
        # Told by the status; the traceback goes where the first process's would.
        traceback.print_exc()
    finally:
        # No clean-up that belongs to the first process: its files, its fixtures, its threads.
        _exit(status)


def _end_with(parent: int) -> None:
    """Be killed when the first process ends, however it does (Linux; elsewhere the pipe tells)."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
    if _getppid() != parent:
        _exit(0)
