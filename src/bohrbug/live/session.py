"""A program runs once, with live rounds, and what came of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from types import CodeType
from typing import Any

from bohrbug.exploration.options import ExploreOptions
from bohrbug.live.failures import failure_of
from bohrbug.live.following import Crash
from bohrbug.live.options import LiveOptions
from bohrbug.live.result import LiveResult
from bohrbug.live.rounds import Rounds
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import live_runtime_of
from bohrbug.runtime.interrupts import Interrupts
from bohrbug.runtime.threads.control import nobody
from bohrbug.runtime.threads.live_runtime import LiveRuntime

_now = time.monotonic


def live_options_of(options: ExploreOptions) -> ExploreOptions:
    """The options of the one execution that there is: it has no limits.

    Timeouts fire when nothing else can run, unless they are asked to be early: what only a sleep
    that ends too soon can break would not break in a real run.
    """
    timeouts = "early" if options.timeouts == "early" else "late"
    return replace(options, max_steps=10**15, hang_seconds=0.0, timeouts=timeouts)


def run_live(
    function: Callable[[], object],
    options: ExploreOptions,
    live: LiveOptions,
    on_crash: Callable[[LiveResult], object] | None = None,
) -> LiveResult:
    """Run a program once, with rounds.

    Parameters:
        function: the program; what it has as ``codes`` is rewritten before it is called.
        options: see :func:`live_options_of`.
        live: how rounds are made.
        on_crash: called before the program follows a fragment that has crashed, as nothing can be
            told afterwards.

    Raises:
        Exception: one of ours.
    """
    rounds = Rounds(live)
    runtime = live_runtime_of(function, options, rounds)
    rounds.growing.runtime = runtime
    began = _now()

    def before_crash(crash: Crash) -> None:
        execution = runtime.execution
        assert execution is not None
        outcome = Outcome(OutcomeKind.CRASH, f"died of {crash.report.failing[0]} in its next step")
        with nobody():
            result = _result(runtime, rounds, execution.trace, outcome, began, crash)
            execution.trace.forget()
            if on_crash is not None:
                on_crash(result)

    rounds.before_crash = before_crash
    with runtime:
        runtime.rewrite_first(codes_of(function))
        # It ends nothing, but makes tasks yield that spin.
        guard = runtime.guard(math.inf, None, 0)
        guard.start()
        try:
            with Interrupts(lambda: _interrupt(runtime)):
                plan = Plan(conditions=options.conditions())
                trace = runtime.execute(plan, learn=False).trace
        finally:
            guard.stop()
        if rounds.error is not None:
            raise rounds.error
        return _result(runtime, rounds, trace, trace.outcome, began)


def codes_of(function: Any) -> tuple[CodeType, ...]:
    """The code that is rewritten before a function is called."""
    return tuple(getattr(function, "codes", ()))


def _interrupt(runtime: LiveRuntime) -> None:
    if runtime.execution is not None:
        runtime.execution.interrupt()


def _result(
    runtime: LiveRuntime,
    rounds: Rounds,
    trace: Trace,
    outcome: Outcome,
    began: float,
    crash: Crash | None = None,
) -> LiveResult:
    steps = rounds.forgotten + len(trace)
    result = LiveResult(outcome, rounds.figures, _now() - began, steps)
    if not outcome.is_failure:
        return result
    result.failure = failure_of(runtime, rounds, trace, outcome, crash)
    result.is_whole = not rounds.forgotten
    result.why_not = _why_not(rounds)
    return result


def _why_not(rounds: Rounds) -> str:
    """Why a replay of the whole run may differ."""
    if rounds.met_outside:
        return "it has met what is outside our control, which a replay may find otherwise"
    if rounds.strays:
        return "a task that span was made to yield at a moment that real time has chosen"
    return ""
