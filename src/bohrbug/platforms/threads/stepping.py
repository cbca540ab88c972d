"""Stepping through Python tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from bohrbug.exploration.learning import Learner
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.replaying import executed
from bohrbug.exploration.result import Failure
from bohrbug.exploration.stepping.kept import failure_of
from bohrbug.exploration.stepping.session import Stop
from bohrbug.model.conditions import Conditions, PlaceKey
from bohrbug.model.decision import Decision, Readiness
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Ask, Choice, Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.explaining import ThreadExplainer
from bohrbug.platforms.threads.platform import ThreadsPlatform, runtime_of
from bohrbug.platforms.threads.recorded_points import find_functions
from bohrbug.platforms.threads.standings import standing_of
from bohrbug.runtime.interrupts import Interrupts
from bohrbug.runtime.policies import Asked
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.runtime import ThreadsRuntime
from bohrbug.runtime.threads.stacks import stack_of

FIRST_EXECUTIONS = 40
"""Executions in which the data accesses are looked for that are to be scheduling points."""

QUIET_EXECUTIONS = 10
"""These come to their end as soon as so many in a row have found nothing new."""


class _Asking(ThreadExplainer):
    """Keeps the decision that an execution was ended at.

    Parameters:
        printed: what the running execution has printed so far.
    """

    def __init__(self, printed: Callable[[], str]) -> None:
        super().__init__()
        self._printed = printed
        self.decision: Decision | None = None
        self.printed = ""

    def forget(self) -> None:
        """Another execution begins."""
        self.decision = None
        self.printed = ""

    def asked(self, execution: Execution, asked: Asked) -> Outcome:
        """See :class:`bohrbug.runtime.threads.execution.Explainer`."""
        self.decision = decision_of(execution, asked)
        self.printed = self._printed()
        return super().asked(execution, asked)


def decision_of(execution: Execution, asked: Asked) -> Decision:
    """The decision that an execution has come to, as data."""
    running = asked.running.id if asked.running is not None else execution.current.id
    readiness = {task.id: Readiness.ENABLED for task in asked.enabled}
    readiness |= {task.id: Readiness.TIMED for task in asked.timed}
    options: tuple[Choice, ...] = tuple(readiness)
    if asked.arity:
        options = tuple(range(asked.arity))
    return Decision(
        execution.steps,
        running,
        options,
        asked.default,
        tuple(
            standing_of(
                execution,
                task,
                stack_of(task, execution.current),
                readiness.get(task.id),
                is_data=asked.arity > 0,
            )
            for task in execution.alive
        ),
        asked.yielded,
        asked.arity,
    )


class SteppedThreads:
    """A Python test to step through; see :class:`bohrbug.exploration.stepping.session.Stepped`.

    Parameters:
        runtime: executes plans.
        conditions: under which they are executed.
        explainer: its explainer.
        printed: what the last execution has printed.
        expected: the failure of the file, if there is one: of a data race that was reported as a
            failure the executions don't tell by themselves.
    """

    def __init__(
        self,
        runtime: ThreadsRuntime,
        conditions: Conditions,
        explainer: _Asking,
        printed: Callable[[], str],
        expected: Failure | None,
    ) -> None:
        self.runtime = runtime
        self.conditions = conditions
        self._explainer = explainer
        self._printed = printed
        self._expected = expected

    def ask(self, prefix: Sequence[Choice], passed: int = 0) -> Stop:
        """See :class:`Stepped`."""
        self._explainer.forget()
        with Interrupts(self._interrupt):
            plan = Plan(tuple(prefix), Ask(passed), conditions=self.conditions)
            trace = self.runtime.execute(plan, learn=False).trace
        decision = self._explainer.decision
        if decision is not None:
            return Stop(trace, decision, self._explainer.printed)
        if self._expected is not None:
            return self.finish(trace.choices)
        return Stop(trace, None, self._printed())

    def finish(self, prefix: Sequence[Choice]) -> Stop:
        """See :class:`Stepped`."""
        plan = Plan(tuple(prefix), conditions=self.conditions)
        with Interrupts(self._interrupt):
            if self._expected is not None:
                trace = executed(self.runtime, self._expected, plan)
            else:
                trace = self.runtime.execute(plan, learn=False).trace
        return Stop(trace, None, self._printed())

    def as_failure(self, trace: Trace) -> Failure:
        """See :class:`Stepped`."""
        texts = ThreadsPlatform(self.runtime).texts_of_points(self.conditions.points)
        points = tuple(sorted(texts))
        return failure_of(trace, points, tuple(texts[key] for key in points))

    def _interrupt(self) -> None:
        execution = self.runtime.execution
        if execution is not None:
            execution.interrupt()


@contextmanager
def stepped_threads(
    test: Callable[[], object],
    options: ExploreOptions,
    printed: Callable[[], str] = str,
    points: Iterable[PlaceKey] | None = None,
    expected: Failure | None = None,
) -> Iterator[SteppedThreads]:
    """A Python test to step through, within which Bohrbug is in control.

    Parameters:
        test: the test.
        options: of them count which say what an execution is.
        printed: what the running, or else the last, execution has printed.
        points: the data accesses that are scheduling points; those that are found to race in
            a few executions made for this, if ``None``.
        expected: the failure of the file that is followed.
    """
    state = random.getstate()
    explainer = _Asking(printed)
    runtime = runtime_of(test, options, explainer=explainer)
    conditions = options.conditions()
    try:
        with runtime:
            if points is None:
                conditions = _found_points(runtime, conditions)
            else:
                recorded = Plan() if expected is None else expected.plan
                conditions = conditions.with_timeouts_of(recorded.conditions)
                conditions = replace(conditions, points=frozenset(points))
                find_functions(runtime, recorded.under(conditions))
            yield SteppedThreads(runtime, conditions, explainer, printed, expected)
    finally:
        random.setstate(state)


def _found_points(runtime: ThreadsRuntime, conditions: Conditions) -> Conditions:
    """The conditions with the points that executions show, at random from the second on."""
    learner = Learner(runtime, conditions)
    if runtime.discovers:
        quiet = 0
        for number in range(FIRST_EXECUTIONS):
            learner.execute(Plan((), UniformRandom(number)) if number > 1 else Plan())
            quiet = 0 if learner.has_learned else quiet + 1
            if quiet == QUIET_EXECUTIONS:
                break
    return learner.conditions
