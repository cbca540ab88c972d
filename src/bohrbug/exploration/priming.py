"""The first executions: they find functions and racy places, before the strategy has its turn.

CHESS primes the pump so that lazy initialisation is over (OSDI 2008, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable

from bohrbug.exploration.findings import LONG, Findings
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.protocol import Runtime
from bohrbug.runtime.threads.runtime import ThreadsRuntime
from bohrbug.runtime.threads.settings import Level

MOST = 6
"""Executions before the strategy has its turn."""


class Priming:
    """Makes the first executions, and looks closer at a failure of one of them.

    Parameters:
        options: of the exploration.
        result: says how many tasks there were.
        runtime: executes plans.
        findings: takes the data races.
        lessons: plans that have shown the runtime more of the test; those made here are added.
        execute: makes an execution of the exploration: its trace, and how many scheduling points
            are new; ``None`` if the user interrupted.
        has_ended: whether the exploration has to end.
        is_interrupted: whether the user wants it to end.

    Attributes:
        is_over: the accesses of the test have been seen, as far as they ever are.
    """

    def __init__(
        self,
        options: ExploreOptions,
        result: Result,
        runtime: Runtime,
        findings: Findings,
        lessons: list[Plan],
        execute: Callable[[Plan], tuple[Trace, int] | None],
        has_ended: Callable[[], bool],
        is_interrupted: Callable[[], bool],
    ) -> None:
        self._sees_data = options.level != Level.SYNC.value
        self._notes_races = options.races != "ignore"
        self._result = result
        self._runtime = runtime
        self._findings = findings
        self._lessons = lessons
        self._execute = execute
        self._has_ended = has_ended
        self._is_interrupted = is_interrupted
        self.is_over = not self._sees_data or not isinstance(runtime, ThreadsRuntime)

    def run(self) -> bool:
        """Make the first executions; False if one has shown that there is nothing to explore."""
        quiet = 0
        for number in range(MOST):
            self.is_over = self.is_over or number > 3
            executed = self._execute(Plan())
            if executed is None or self._has_ended():
                return True
            trace, new_points = executed
            if self._result.tasks <= 1 and not trace.arities:
                return False
            if not self._sees_data:
                return True
            # The first execution rewrites, the second is the first to see accesses.
            quiet = 0 if new_points else quiet + 1
            if quiet > 1:
                break
        self.is_over = True
        return True

    def seen_closer(self, trace: Trace) -> Trace:
        """A failure of one of the first executions, once the accesses that matter are seen.

        These executions have no preemptions, and the same schedule fails again.
        """
        self.is_over = True
        for _ in range(4):
            if len(trace) > LONG or self._is_interrupted():
                break
            executed = self._runtime.execute(Plan())
            if self._runtime.has_learned:
                self._lessons.append(Plan())
            if self._notes_races:
                self._findings.note_races(executed.trace)
        again = self._findings.replay(Plan())
        return again if again.outcome.signature() == trace.outcome.signature() else trace
