"""Stepping through native programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Failure
from bohrbug.exploration.stepping.kept import failure_of
from bohrbug.exploration.stepping.session import Stop
from bohrbug.model.decision import Decision
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Ask, Choice, Plan
from bohrbug.model.trace import Trace
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import runtime_of
from bohrbug.platforms.posix.outcomes import NativeExplainer
from bohrbug.runtime.interrupts import Interrupts
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.recorded import Reading
from bohrbug.runtime.posix.runtime import NativeRuntime


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
        explainer: its explainer.
    """

    def __init__(self, runtime: NativeRuntime, explainer: _Asking) -> None:
        self.runtime = runtime
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
            trace = runtime.execute(plan, learn=False).trace
        return Stop(trace, self._explainer.decision, runtime.printed.text)


@contextmanager
def stepped_program(command: Command, options: ExploreOptions) -> Iterator[SteppedProgram]:
    """A native program to step through.

    Parameters:
        command: the program and what is expected of it.
        options: of them count which say what an execution is.

    Raises:
        UnsupportedError: it can't be controlled.
    """
    runtime = runtime_of(command, options)
    assert isinstance(runtime.explainer, NativeExplainer)
    explainer = runtime.explainer = _Asking(runtime.explainer)
    with runtime:
        # It shows what is expected.
        runtime.execute(Plan(), learn=False)
        yield SteppedProgram(runtime, explainer)
