"""Threads that may be cancelled anywhere, and threads that are cancelled already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import PROMISES
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.posix.trace_reading import CANCELLATION
from tests.native.exploring import explored

Build = Callable[..., Path]


@pytest.mark.parametrize("mode", ["between", "disabled", "waits"])
def test_what_it_promises_holds(native_build: Build, mode: str) -> None:
    verdict = explored(native_build("cancelled_anywhere.c"), mode).verdict
    assert verdict.kind in PROMISES, verdict
    assert CANCELLATION in verdict.conditions.taking


@pytest.mark.parametrize("mode", ["between", "disabled"])
def test_a_thread_ends_in_the_midst_of_it(native_build: Build, mode: str) -> None:
    [failure] = explored(native_build("cancelled_anywhere.c"), mode, "not-there").failures
    assert (failure.outcome.kind, failure.confirmed) == (OutcomeKind.ASSERTION, 3)


def test_a_thread_that_holds_a_mutex_leaves_it_locked(native_build: Build) -> None:
    [failure] = explored(native_build("cancelled_anywhere.c"), "locks", causes=0).failures
    assert failure.outcome.exception == "left-locked"


def test_a_loop_without_calls_ends(native_build: Build) -> None:
    program = native_build("cancelled_anywhere.c")
    result = explored(program, "computes", strategy="random", executions=3)
    assert not result.failures, result.failures[0].outcome
    assert result.executions == 3


def test_whoever_is_cancelled_waits_as_ever(native_build: Build) -> None:
    verdict = explored(native_build("cancelled_anywhere.c"), "cleans").verdict
    assert verdict.kind in PROMISES, verdict
    assert not any(CANCELLATION in taken for taken in verdict.conditions.taking)
