"""Timers of the kernel are tasks that sleep in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.result import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]


@pytest.mark.parametrize("strategy", ["dfs", "random"])
@pytest.mark.parametrize("what", ["starts-a-thread", "sends-a-signal", "alarms", "writes"])
def test_it_is_explored_when_a_timer_fires(native_build: Build, what: str, strategy: str) -> None:
    program = native_build("timers.c")
    result = explored(program, what, strategy=strategy, executions=20_000, minimise=False, causes=0)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.ASSERTION]


@pytest.mark.parametrize("what", ["starts-a-thread", "sends-a-signal", "alarms", "writes"])
def test_late_timers_fire_in_the_order_of_time(native_build: Build, what: str) -> None:
    result = explored(native_build("timers.c"), what, strategy="dfs", timeouts="late")
    assert result.verdict.kind is VerdictKind.HOLDS


@pytest.mark.parametrize("what", ["is-right", "has-a-watchdog", "leaves-it-set"])
def test_a_correct_program_does_not_fail(native_build: Build, what: str) -> None:
    result = explored(native_build("timers.c"), what, strategy="random", executions=150)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND


def test_a_watchdog_ends_what_takes_too_long(native_build: Build) -> None:
    result = explored(native_build("timers.c"), "sleeps-too-long", strategy="dfs", causes=0)
    [failure] = result.failures
    assert failure.outcome.message == "died of SIGALRM"


WRONG = (
    "waits_for_time_of_the_processor",
    "waits_to_be_profiled",
    "counts_time_of_a_thread",
    "ignores_overruns",
    "takes_a_silent_timer_to_stop",
)
RIGHT = (
    "adds_overruns_up",
    "has_one_signal_pending",
    "asks_a_silent_timer",
    "counts_late_expirations",
    "looks_at_the_descriptor",
    "reads_the_clock",
    "wakes_after_a_timer",
    "sleeps_without_the_processor",
    "asks_for_clocks",
    "spins_until_profiled",
    "yields_until",
    "tries_until",
)


@pytest.mark.parametrize("what", WRONG)
def test_wrong_use_of_a_timer_is_found(native_build: Build, what: str) -> None:
    program = native_build("timer_kinds.c")
    result = explored(program, what, executions=500, minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.failures[0].outcome.kind in (OutcomeKind.DEADLOCK, OutcomeKind.ASSERTION)


@pytest.mark.parametrize("timeouts", ["early", "late"])
@pytest.mark.parametrize("what", RIGHT)
def test_right_use_of_a_timer_does_not_fail(native_build: Build, what: str, timeouts: str) -> None:
    result = explored(native_build("timer_kinds.c"), what, executions=100, timeouts=timeouts)
    assert not result.failures
    assert result.verdict.kind in (VerdictKind.HOLDS, VerdictKind.NO_FAILURE_FOUND)
