"""Waits for condition variables that end although nobody has signalled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.exploration.waking import MOST, WAKING
from bohrbug.model.operation import SPURIOUS_WAKE
from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored
from tests.native.test_command_line import bohrbug

Build = Callable[..., Path]


@pytest.mark.parametrize("arguments", [(), ("timeout",)])
@pytest.mark.parametrize("strategy", ["auto", "dfs", "random", "dpor"])
def test_a_wait_without_a_loop_is_found(
    native_build: Build, strategy: str, arguments: tuple[str, ...]
) -> None:
    result = explored(native_build("spurious.c"), *arguments, strategy=strategy, executions=200)
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert failure.strategy == WAKING
    assert failure.confirmed == 3
    (step,) = failure.trace.faults()
    assert failure.trace.operations[step].resource == SPURIOUS_WAKE
    assert result.executions <= 200


@pytest.mark.parametrize("arguments", [(), ("timeout",)])
def test_a_wait_in_a_loop_holds(native_build: Build, arguments: tuple[str, ...]) -> None:
    program = native_build("spurious.c", "-DFIXED")
    result = explored(program, *arguments)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    without = explored(program, *arguments, predict=0)
    # Those with such a wake-up were made, and are few.
    assert without.executions < result.executions <= without.executions + MOST


def test_workers_find_it_too(native_build: Build) -> None:
    (failure,) = explored(native_build("spurious.c"), workers=2, executions=500).failures
    assert failure.strategy == WAKING


def test_without_predictions_there_is_none(native_build: Build) -> None:
    assert not explored(native_build("spurious.c"), predict=0).failures


@pytest.mark.parametrize("strategy", ["dfs", "pct", "random"])
def test_strategies_make_them_as_a_fault(native_build: Build, strategy: str) -> None:
    program = native_build("spurious.c")
    (failure,) = explored(program, faults=("wake",), strategy=strategy, executions=200).failures
    assert failure.strategy == strategy
    assert len(failure.trace.faults()) == 1
    fixed = explored(native_build("spurious.c", "-DFIXED"), faults=("wake",), executions=200)
    assert not fixed.failures


def test_the_report_says_what_it_needs(native_build: Build, tmp_path: Path) -> None:
    program = str(native_build("spurious.c"))
    done = bohrbug(tmp_path, "run", "--executions", "200", "--", program)
    words = " ".join(done.stdout.split())
    assert "It needs a spurious wake-up in task 0.1 (spurious.c:15), which POSIX allows" in words
    assert "reproduced in 3 of 3 replays" in words
