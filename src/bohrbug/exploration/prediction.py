"""From what passing executions give reason to fear to executions that show whether it happens.

A deadlock or data race that another schedule may have (:mod:`bohrbug.monitors.lock_order`,
:mod:`bohrbug.monitors.weak_order`) is tried a few times in executions that keep the
orderings it needs.  If it happens it is a finding like any other; if not, it is
listed as unconfirmed, and nobody has to believe it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from bohrbug.model.outcome import OutcomeKind, Race
from bohrbug.model.plan import Ordered, Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.monitors.lock_order import LockCycle, lock_cycles, nestings_of, per_task_history_hash
from bohrbug.monitors.weak_order import PossibleRace

TRIES = 5
"""Directed executions of each prediction."""

LOOKED_AT = 30
"""Passing executions that are looked at for lock orders; after these a sample of them is."""


def is_sampled(trace: Trace) -> bool:
    """Whether an execution is looked at for lock orders, whoever made it and when."""
    return trace.checksum() % trace.ONE_IN == 0


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


@dataclass(slots=True)
class Predictor:
    """Collects predictions and says how to check them.

    Parameters:
        budget: directed executions at most; 0 switches prediction off.
    """

    budget: int
    predictions: list[Prediction] = field(default_factory=list)
    _known: set[object] = field(default_factory=set)
    _queue: deque[Attempt] = field(default_factory=deque)
    _passed: int = 0
    # Those of the executions that were looked at: equal ones give no more reason to fear.
    _histories: set[int | None] = field(default_factory=set)

    @property
    def unconfirmed(self) -> list[Prediction]:
        """The predictions that were tried and did not happen."""
        return [p for p in self.predictions if p.executions and not p.confirmed]

    @property
    def known(self) -> frozenset[object] | None:
        """The keys of what was predicted, or needs no prediction; ``None`` if none is wanted."""
        return frozenset(self._known) if self.budget else None

    @property
    def waiting(self) -> int:
        """Directed executions that are still to be made."""
        return min(len(self._queue), self.budget)

    def observe(self, trace: Trace) -> None:
        """Look at a passing execution, if it is of the first ones or of the sample."""
        if not self.budget:
            return
        self._passed += 1
        if self._passed <= LOOKED_AT or is_sampled(trace):
            self.look_at(trace)

    def look_at(self, trace: Trace) -> None:
        """Look for deadlocks that another schedule than that of a passing execution may have."""
        if not self.budget:
            return
        history = per_task_history_hash(trace)
        if history is None or history not in self._histories:
            self._histories.add(history)
            self._foresee(trace)

    def _foresee(self, trace: Trace) -> None:
        for cycle in lock_cycles(nestings_of(trace)):
            self._add(cycle)

    def _predict(self, what: LockCycle | PossibleRace) -> Prediction:
        self._known.add(what.key)
        self.predictions.append(Prediction(what))
        return self.predictions[-1]

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

    def observe_races(self, possible: Iterable[PossibleRace], known: Iterable[Race]) -> None:
        """Predict races that a passing execution gives reason to expect.

        Parameters:
            possible: the races.
            known: those that were seen: they need no prediction.
        """
        self._known.update(map(_places_of, known))
        for race in possible:
            self._add(race)

    def _add(self, what: LockCycle | PossibleRace) -> None:
        if what.key in self._known:
            return
        prediction = self._predict(what)
        for seed in range(TRIES):
            plan = Plan(policy=Ordered(what.orderings, seed))
            self._queue.append(Attempt(plan, prediction, what))


def _places_of(race: Race) -> frozenset[object]:
    return frozenset(site_of(a.operation.place) for a in (race.first, race.second))
