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
