"""From what passing executions give reason to fear to executions that show whether it happens.

A deadlock or data race that another schedule may have (:mod:`bohrbug.monitors.lock_order`,
:mod:`bohrbug.monitors.weak_order`) is tried a few times in executions that keep the
orderings it needs.  If it happens it is a finding like any other; if not, it is
listed as unconfirmed, and nobody has to believe it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from bohrbug.exploration.opposing import opposing_plans
from bohrbug.model.operation import ACQUIRE
from bohrbug.model.outcome import OutcomeKind, Race
from bohrbug.model.plan import Ordered, Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.monitors.lock_order import (
    LockCycle,
    all_lock_cycles,
    deeds_of,
    lock_cycles,
    nestings_of,
)
from bohrbug.monitors.weak_order import PossibleRace, WeakDetector
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.runtime import MakeDetector
from bohrbug.runtime.threads.sampling import number_of_trace

TRIES = 5
"""Directed executions of each prediction."""

MOST_TRIES = 15
"""The same, where they are made of schedules that passed: about so many, of several schedules."""

LOOKED_AT = 30
"""Passing executions that are looked at for lock orders, and after these ..."""

LATER = 25
"""... one of so many; in which ones, what they did decides: see :func:`is_sampled`."""

MOST_STEPS = 300_000
"""Steps of all executions that are looked at of a runtime to which looking costs much."""


def is_sampled(trace: Trace) -> bool:
    """Whether an execution is looked at for lock orders, whoever made it and when."""
    return number_of_trace(trace) % LATER == 0


@dataclass(slots=True)
class Prediction:
    """What may happen in another schedule, and whether it did.

    Parameters:
        what: the lock cycle or the race.
        executions: directed executions made.
        confirmed: it happened.
    """

    what: LockCycle | PossibleRace
    executions: int = 0
    confirmed: bool = False


@dataclass(slots=True)
class Attempt:
    """A directed execution to make: its plan, and the prediction that it is to confirm.

    Parameters:
        plan: the plan.
        prediction: that it is to confirm.
        what: what it tries: the prediction, or a cycle of the same locks with other tasks.
    """

    plan: Plan
    prediction: Prediction
    what: LockCycle | PossibleRace


class _Watched(WeakDetector):
    """A detector that remembers whom it watched."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        tasks = execution.all_tasks
        super().__init__(
            lambda index: frozenset(map(id, tasks[index].holding)),
            lambda: execution.steps,
        )


@dataclass(slots=True)
class Predictor:
    """Collects predictions and says how to check them.

    Parameters:
        budget: directed executions at most; 0 switches prediction off.
        orders: whether the runtime can impose orderings on an execution.  If not, predictions
            are tried by schedules that are made of passing ones, and executions are looked at ever
            more seldom, as the columns of their traces have to be made for that.
    """

    budget: int
    orders: bool = True
    predictions: list[Prediction] = field(default_factory=list)
    _known: set[object] = field(default_factory=set)
    _queue: deque[Attempt] = field(default_factory=deque)
    _passed: int = 0
    _steps: int = 0
    # The predictions of a runtime that can't impose orderings, by the keys of their cycles.
    _opposed: dict[frozenset[object], Prediction] = field(default_factory=dict)
    # Those of the executions that were looked at: equal ones give no more reason to fear.
    _deeds: set[int | None] = field(default_factory=set)

    @property
    def unconfirmed(self) -> list[Prediction]:
        """The predictions that were tried and did not happen."""
        return [p for p in self.predictions if p.executions and not p.confirmed]

    @property
    def known(self) -> frozenset[object]:
        """The keys of what was predicted, or needs no prediction."""
        return frozenset(self._known)

    @property
    def waiting(self) -> int:
        """Directed executions that are still to be made."""
        return min(len(self._queue), self.budget)

    def observe(self, trace: Trace) -> None:
        """Look at a passing execution, if it is of the first ones or of the sample."""
        if not self.budget:
            return
        self._passed += 1
        if self.orders:
            if self._passed <= LOOKED_AT or is_sampled(trace):
                self.look_at(trace)
        elif self._passed <= LOOKED_AT or not self._passed & self._passed - 1:
            self._steps += len(trace)
            if self._steps <= MOST_STEPS:
                self.look_at(trace)

    def look_at(self, trace: Trace) -> None:
        """Look for deadlocks that another schedule than that of a passing execution may have."""
        if not self.budget:
            return
        deeds = deeds_of(trace)
        if deeds is None or deeds not in self._deeds:
            self._deeds.add(deeds)
            if not self.orders:
                self._oppose(trace)
                return
            for cycle in lock_cycles(nestings_of(trace)):
                self._add(cycle)

    def observe_accesses(
        self,
        plan: Plan,
        execute: Callable[[Plan, MakeDetector], Trace],
        races: list[Race],
    ) -> None:
        """Execute a plan once more, with the weak order watching, if it takes locks at all.

        Parameters:
            plan: of an execution that passed.
            execute: executes a plan, watched by what a function makes of the execution.
            races: the races that are known: these need no prediction.
        """
        if not self.budget:
            return
        made: list[_Watched] = []

        def detector(execution: Execution) -> _Watched:
            made.append(_Watched(execution))
            return made[-1]

        trace = execute(plan, detector)
        if not made or not any(o.kind is ACQUIRE for o in trace.operations):
            return
        tasks = made[0].execution.all_tasks
        self._known.update(map(_places_of, races))
        for race in made[0].possible_races(trace, lambda index: tasks[index].id):
            self._add(race)

    def _add(self, what: LockCycle | PossibleRace) -> None:
        if what.key in self._known:
            return
        prediction = self._predict(what)
        for seed in range(TRIES):
            plan = Plan(policy=Ordered(what.orderings, seed))
            self._queue.append(Attempt(plan, prediction, what))

    def _predict(self, what: LockCycle | PossibleRace) -> Prediction:
        self._known.add(what.key)
        self.predictions.append(Prediction(what))
        return self.predictions[-1]

    def _oppose(self, trace: Trace) -> None:
        """Plan executions for the cycles of a trace, if not too many were in vain already."""
        alike: dict[frozenset[object], list[LockCycle]] = {}
        for cycle in all_lock_cycles(nestings_of(trace)):
            alike.setdefault(cycle.key, []).append(cycle)
        for key, cycles in alike.items():
            prediction = self._opposed.get(key)
            if prediction is None:
                prediction = self._opposed[key] = self._predict(cycles[0])
            if prediction.confirmed or prediction.executions >= MOST_TRIES:
                continue
            for cycle, plan in islice(opposing_plans(cycles, trace), TRIES):
                self._queue.append(Attempt(plan, prediction, cycle))

    @property
    def has_attempts(self) -> bool:
        """Whether there may be a directed execution to make."""
        return bool(self._queue)

    def next_attempt(self) -> Attempt | None:
        """The next directed execution to make, or ``None``."""
        while self._queue and self.budget > 0:
            attempt = self._queue.popleft()
            if not attempt.prediction.confirmed:
                self.budget -= 1
                return attempt
        return None

    def judge(self, attempt: Attempt, trace: Trace) -> None:
        """Take in what a directed execution did."""
        prediction = attempt.prediction
        prediction.executions += 1
        what = attempt.what
        if isinstance(what, LockCycle):
            waiting = {blocked.task for blocked in trace.outcome.blocked}
            kinds = (OutcomeKind.DEADLOCK, OutcomeKind.LEAK)
            prediction.confirmed = trace.outcome.kind in kinds and what.tasks <= waiting
        else:
            prediction.confirmed = any(_places_of(race) == what.key for race in trace.races)


def _places_of(race: Race) -> frozenset[object]:
    return frozenset(site_of(a.operation.place) for a in (race.first, race.second))
