"""Stepping through native programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Failure
from bohrbug.exploration.stepping.kept import failure_of
from bohrbug.exploration.stepping.session import Stop
from bohrbug.model.conditions import Conditions, Level, PlaceKey
from bohrbug.model.decision import Decision
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Ask, Choice, Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import runtime_of
from bohrbug.platforms.posix.outcomes import NativeExplainer
from bohrbug.runtime.interrupts import Interrupts
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.recorded import Reading
from bohrbug.runtime.posix.runtime import NativeRuntime

FIRST_EXECUTIONS = 40
"""At most so many are made to find the accesses that race, and ..."""

QUIET_EXECUTIONS = 10
"""... no more after so many that find none in a row."""


class _Asking:
    """Keeps the decision that an execution was ended at.

    Parameters:
        explainer: of all executions.
    """

    def __init__(self, explainer: NativeExplainer) -> None:
        self._explainer = explainer
        self.decision: Decision | None = None

    def __call__(self, reading: Reading, trace: Trace, ended: Ended, printed: Printed) -> Outcome:
        """See :data:`bohrbug.runtime.posix.runtime.Explainer`."""
        self.decision = reading.asked()
        return self._explainer(reading, trace, ended, printed)


class SteppedProgram:
    """A native program to step through; see :class:`Stepped`.

    Parameters:
        runtime: executes plans.
        conditions: under which they are executed.
        explainer: its explainer.
    """

    def __init__(self, runtime: NativeRuntime, conditions: Conditions, explainer: _Asking) -> None:
        self.runtime = runtime
        self._conditions = conditions
        self._explainer = explainer

    def ask(self, prefix: Sequence[Choice], passed: int = 0) -> Stop:
        """See :class:`Stepped`."""
        return self._execute(Plan(tuple(prefix), Ask(passed)))

    def finish(self, prefix: Sequence[Choice]) -> Stop:
        """See :class:`Stepped`."""
        return self._execute(Plan(tuple(prefix)))

    def as_failure(self, trace: Trace) -> Failure:
        """See :class:`Stepped`."""
        return failure_of(trace, tuple(self.runtime.point_keys()))

    def _execute(self, plan: Plan) -> Stop:
        runtime = self.runtime
        with Interrupts(runtime.interrupt):
            trace = runtime.execute(plan.under(self._conditions), learn=False).trace
        return Stop(trace, self._explainer.decision, runtime.printed.text)


@contextmanager
def stepped_program(
    command: Command,
    options: ExploreOptions,
    points: Iterable[PlaceKey] | None = None,
    expected: Failure | None = None,
) -> Iterator[SteppedProgram]:
    """A native program to step through.

    Parameters:
        command: the program and what is expected of it.
        options: of them count which say what an execution is.
        points: the accesses to memory that are scheduling points; those that are found to race in
            a few executions made for this, if ``None``.
        expected: the failure of the file that is followed.

    Raises:
        UnsupportedError: it can't be controlled.
    """
    runtime, conditions = runtime_of(command, options), options.conditions()
    if expected is not None:
        conditions = conditions.with_timeouts_of(expected.plan.conditions)
    assert isinstance(runtime.explainer, NativeExplainer)
    explainer = runtime.explainer = _Asking(runtime.explainer)
    if points is not None:
        runtime.want_points(points)
    with runtime:
        # It shows what is expected.
        runtime.execute(Plan(conditions=conditions), learn=False)
        if points is None and options.level != Level.SYNC.value and not runtime.misses_accesses:
            _find_points(runtime, conditions)
        yield SteppedProgram(runtime, conditions, explainer)


def _find_points(runtime: NativeRuntime, conditions: Conditions) -> None:
    """Let executions show the points, at random from the second on."""
    quiet = 0
    for number in range(FIRST_EXECUTIONS):
        plan = Plan((), UniformRandom(number)) if number else Plan()
        learned = runtime.execute(plan.under(conditions)).has_learned
        quiet = 0 if learned else quiet + 1
        if quiet == QUIET_EXECUTIONS:
            break
