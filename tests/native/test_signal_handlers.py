"""Handlers of signals in threads that wait for something else, and waits for signals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
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
