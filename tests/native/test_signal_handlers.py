"""Handlers of signals in threads that wait for something else, and waits for signals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.posix.trace_reading import SIGNAL_HANDLERS
from tests.native.exploring import explored

Build = Callable[..., Path]


@pytest.mark.parametrize(
    "wait", ["join", "join-alarm", "mutex", "rwlock", "barrier", "condition", "futex"]
)
def test_a_handler_runs_while_its_thread_waits(native_build: Build, wait: str) -> None:
    result = explored(native_build("signal_handlers.c"), wait, executions=60)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict


@pytest.mark.parametrize("wait", ["one-each", "with-a-value", "two-for-one", "before-it-begins"])
def test_who_is_meant_takes_the_signal(native_build: Build, wait: str) -> None:
    result = explored(native_build("signal_handlers.c"), wait, executions=60)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict


@pytest.mark.parametrize("wait", ["interrupted", "of-system-v"])
def test_a_handler_ends_a_wait(native_build: Build, wait: str) -> None:
    [failure] = explored(native_build("signal_handlers.c"), wait, executions=100).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert failure.confirmed == 3


MISSED = ["pause", "alarm", "poll", "select", "epoll", "read", "semaphore"]


@pytest.mark.parametrize("wait", MISSED)
def test_a_signal_may_come_just_before_the_wait_that_it_is_to_end(
    native_build: Build, wait: str
) -> None:
    [failure] = explored(native_build("missed_signals.c"), wait, executions=100).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed == 3


@pytest.mark.parametrize("wait", MISSED)
def test_a_signal_that_is_held_until_the_wait_ends_it(native_build: Build, wait: str) -> None:
    result = explored(native_build("missed_signals.c", "-DHELD"), wait, executions=300)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_no_timer_comes_before_a_wait_where_timeouts_are_late(native_build: Build) -> None:
    program = native_build("missed_signals.c")
    result = explored(program, "alarm", executions=100, timeouts="late")
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_a_handler_that_restarts_calls_ends_no_wait_for_a_semaphore(native_build: Build) -> None:
    result = explored(native_build("signal_handlers.c"), "semaphore", executions=100)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict


@pytest.mark.parametrize("wait", ["semaphore-with-a-timeout", "semaphores-of-system-v"])
def test_a_handler_ends_calls_that_are_never_restarted(native_build: Build, wait: str) -> None:
    [failure] = explored(native_build("signal_handlers.c"), wait, executions=100).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert failure.confirmed == 3


def test_that_signals_come_at_scheduling_points_is_a_condition(native_build: Build) -> None:
    verdict = explored(native_build("handler_disturbs.c"), strategy="dfs", predict=0).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions.taking == (SIGNAL_HANDLERS,)


@pytest.mark.parametrize(
    ("program", "flags", "argument"),
    [
        pytest.param("handler_disturbs.c", (), "raise", id="of the thread itself"),
        pytest.param("missed_signals.c", ("-DHELD",), "poll", id="only while it waits"),
    ],
)
def test_where_signals_come_at_one_place_only_it_is_none(
    native_build: Build, program: str, flags: tuple[str, ...], argument: str
) -> None:
    built = native_build(program, *flags)
    verdict = explored(built, argument, strategy="dfs", predict=0).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert SIGNAL_HANDLERS not in verdict.conditions.taking
