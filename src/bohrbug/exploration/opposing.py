"""Plans that lead the tasks of a lock cycle against each other, made of a schedule that passed.

For runtimes that can't impose orderings on an execution.  What the tasks of the cycle did up to
their locks is repeated, each is held where it is about to take its first lock or its second, and
what the others did in between stays as it was.  With all first locks taken, whatever comes
next is the deadlock, if it can happen there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice, product, zip_longest

from bohrbug.exploration.prediction import LOOKED_AT, TRIES, Attempt, Prediction, Predictor
from bohrbug.model.history import data_choices
from bohrbug.model.operation import CHOOSE, TaskId
from bohrbug.model.plan import Plan, Segments
from bohrbug.model.trace import Trace
from bohrbug.monitors.lock_order import LockCycle, all_lock_cycles, nestings_of

MOST_TRIES = 15
"""Directed executions of each prediction: about so many, made of several schedules."""

MOST_STEPS = 300_000
"""Steps of all executions that are looked at: for that the columns of their traces are made."""


@dataclass(slots=True)
class OpposingPredictor(Predictor):
    """Predictions for a runtime that can't impose orderings on an execution.

    They are tried by schedules that are made of passing ones, and executions are looked at ever
    more seldom.
    """

    _steps: int = 0
    # By the keys of their cycles.
    _opposed: dict[frozenset[object], Prediction] = field(default_factory=dict)

    def _is_looked_at(self, trace: Trace) -> bool:
        is_power_of_two = not self._passed & self._passed - 1
        if self._passed > LOOKED_AT and not is_power_of_two:
            return False
        self._steps += len(trace)
        return self._steps <= MOST_STEPS

    def _foresee(self, trace: Trace) -> None:
        alike: dict[frozenset[object], list[LockCycle]] = {}
        for cycle in all_lock_cycles(nestings_of(trace)):
            alike.setdefault(cycle.key, []).append(cycle)
        for key, cycles in alike.items():
            prediction = self._opposed.get(key)
            if prediction is None:
                prediction = self._opposed[key] = self._predict(cycles[0])
            # Not if too many were in vain already.
            if prediction.confirmed or prediction.executions >= MOST_TRIES:
                continue
            for cycle, plan in islice(opposing_plans(cycles, trace), TRIES):
                self._queue.append(Attempt(plan, prediction, cycle))


def opposing_plans(cycles: Sequence[LockCycle], trace: Trace) -> Iterator[tuple[LockCycle, Plan]]:
    """Plans that try lock cycles, those first that have to change least.

    Parameters:
        cycles: of the same locks, but not of the same tasks at the same times.
        trace: the passing execution that they were seen in.
    """
    nearest = sorted(cycles, key=lambda cycle: cycle.span)
    tries = (_plans_for(cycle, trace) for cycle in nearest)
    for plans in zip_longest(*tries):
        yield from ((cycle, plan) for cycle, plan in zip(nearest, plans, strict=True) if plan)


def _plans_for(cycle: LockCycle, trace: Trace) -> Iterator[Plan]:
    """Plans for one cycle: each task is held before its first lock in some, after it in others.

    That makes a difference where they have other locks in common, or wait for each other, on the
    way there.
    """
    values = data_choices(trace)
    tasks = [nesting.task for nesting in cycle.nestings]
    for stops in product(*(nesting.steps for nesting in cycle.nestings)):
        before = _until(trace, dict(zip(tasks, stops, strict=True)))
        first_locks = chain.from_iterable(
            _turns_of(trace, nesting.task, stop, nesting.steps[1])
            for nesting, stop in zip(cycle.nestings, stops, strict=True)
        )
        stretches = groupby(chain(before, first_locks))
        yield Plan(policy=Segments(tuple((t, len(list(run))) for t, run in stretches), values))


def _until(trace: Trace, stops: Mapping[TaskId, int]) -> Iterator[TaskId]:
    """Who ran, without what some tasks did from a step on; up to the last of these steps."""
    for step, task in enumerate(trace.tasks[: max(stops.values())]):
        if step < stops.get(task, len(trace)) and _takes_a_turn(trace, step):
            yield task


def _turns_of(trace: Trace, task: TaskId, start: int, end: int) -> Iterator[TaskId]:
    """A task, as often as it had its turn from one step until before another one."""
    for step in range(start, end):
        if trace.tasks[step] == task and _takes_a_turn(trace, step):
            yield task


def _takes_a_turn(trace: Trace, step: int) -> bool:
    """Whether a step is one of those that stretches of a plan count."""
    return trace.operations[step].kind is not CHOOSE
