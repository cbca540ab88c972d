"""Functions of the C library that read, write or wait from inside of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]

WHAT = {
    "print": OutcomeKind.ASSERTION,
    "append": OutcomeKind.ASSERTION,
    "count": OutcomeKind.ASSERTION,
    "hold": OutcomeKind.DEADLOCK,
    "exchange": OutcomeKind.ASSERTION,
    "move": OutcomeKind.ASSERTION,
}
"""What each of inner_calls.c comes to in two steps."""


@pytest.mark.parametrize("what", WHAT)
def test_two_steps_are_two(native_build: Build, what: str) -> None:
    program = native_build("inner_calls.c")
    [failure, *_] = explored(program, what, "in-two-steps", executions=300, causes=0).failures
    assert (failure.outcome.kind, failure.confirmed) == (WHAT[what], 3)


def test_what_is_not_modelled_is_said(native_build: Build) -> None:
    result = explored(native_build("inner_calls.c"), "asynchronous", executions=5)
    assert not result.failures
    assert any("aio_read" in caveat for caveat in result.verdict.caveats)


@pytest.mark.parametrize("what", ["read", "message"])
def test_waiting_for_a_thread_of_the_c_library_is_no_deadlock(
    native_build: Build, what: str
) -> None:
    result = explored(native_build("inner_calls.c"), f"told-of-a-{what}", executions=5)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "SIGEV_THREAD" in result.verdict.reason


@pytest.mark.parametrize("what", WHAT)
def test_one_step_is_one(native_build: Build, what: str) -> None:
    result = explored(native_build("inner_calls.c"), what, executions=100)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict
