"""Rounds in a service, for somebody who has attached to it, from the first to the last one."""

from __future__ import annotations

import sys
import time
import traceback

from bohrbug.exploration.reproduction import failure_to_json
from bohrbug.exploration.result import Failure
from bohrbug.live.failures import failure_of
from bohrbug.live.following import Crash
from bohrbug.live.listener import Client
from bohrbug.live.result import LiveResult
from bohrbug.live.rounds import Rounds
from bohrbug.live.wire import MessageKind, result_to_json
from bohrbug.model.outcome import PASSED, Outcome, OutcomeKind
from bohrbug.runtime.threads.control import nobody
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.live_runtime import LiveRuntime
from bohrbug.runtime.threads.rewrite.scope import Scope

_monotonic = time.monotonic


class AttachedRun:
    """From the moment at which somebody has attached on; made between two steps.

    Parameters:
        client: who has, and says what it wants.
        runtime: executes the service.
        execution: of the service.

    Attributes:
        rounds: that are made.
    """

    def __init__(self, client: Client, runtime: LiveRuntime, execution: Execution) -> None:
        wanted = client.wanted
        assert wanted is not None
        self._client = client
        self._wanted = wanted
        self._runtime = runtime
        self._failure: Failure | None = None
        self._began = _monotonic()
        self._first_step = execution.steps
        self.rounds = rounds = Rounds(wanted.rounds, is_service=True)
        rounds.growing.runtime = runtime
        rounds.before_crash = self._before_crash
        rounds.on_error = _do_nothing
        runtime.look(wanted.level, Scope(wanted.scope))
        client.tell(MessageKind.ATTACHED, {"python": sys.version.split()[0], "command": sys.argv})

    @property
    def is_copy(self) -> bool:
        """This process is a copy, in which a fragment is executed."""
        return self.rounds.is_copy

    def is_over(self) -> bool:
        """Whether no more rounds are to be made."""
        wanted, figures = self._wanted.rounds, self.rounds.figures
        return bool(
            self._client.has_left
            or self._failure is not None
            or self.rounds.error is not None
            or (wanted.rounds is not None and figures.rounds >= wanted.rounds)
            or (wanted.seconds is not None and _monotonic() - self._began >= wanted.seconds)
        )

    def end(self, execution: Execution) -> None:
        """Between two steps: leave the service as it was, and tell what has come of it."""
        self.rounds.let_go(execution)
        self._runtime.look_away()
        error = self.rounds.error
        if error is not None:
            text = "".join(traceback.format_exception(error))
            self._client.tell(MessageKind.REFUSED, f"an error of Bohrbug's:\n{text}", is_last=True)
            return
        self._client.tell(MessageKind.OVER, result_to_json(self._result(execution)), is_last=True)

    def _result(self, execution: Execution) -> LiveResult:
        rounds = self.rounds
        rounds.note_share()
        outcome = PASSED
        if self._failure is not None:
            outcome = self._failure.outcome
        elif self._client.has_left:
            outcome = Outcome(OutcomeKind.INTERRUPTED, "interrupted by the user")
        steps = max(rounds.forgotten + execution.steps - self._first_step, 0)
        # The failure itself was told when it happened.
        return LiveResult(outcome, rounds.figures, _monotonic() - self._began, steps)

    def decided(self, outcome: Outcome) -> None:
        """The service, or a fragment, has failed."""
        self.rounds.decided(outcome)
        execution = self._runtime.execution
        if self._failure is not None or execution is None:
            return
        self._tell_failure(execution, outcome)
        execution.checks.visit_soon()

    def _tell_failure(
        self, execution: Execution, outcome: Outcome, crash: Crash | None = None
    ) -> None:
        with nobody():
            failure = failure_of(self._runtime, self.rounds, execution.trace, outcome, crash)
            execution.trace.forget()
            self._failure = failure
            self._client.tell(MessageKind.FAILED, failure_to_json(failure))

    def _before_crash(self, crash: Crash) -> None:
        execution = self._runtime.execution
        assert execution is not None
        outcome = Outcome(OutcomeKind.CRASH, f"died of {crash.report.failing[0]} in its next step")
        self._tell_failure(execution, outcome, crash)
        self._client.tell(MessageKind.OVER, result_to_json(self._result(execution)), is_last=True)
        self._client.wait_until_told()


def _do_nothing(execution: Execution) -> None:
    """The error is told at the next look, and the service goes on."""
