"""Failures of SCTBench's programs that need one of many threads, and few preemptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]


@pytest.mark.parametrize(
    ("name", "threads", "most"),
    [("reorder.c", 4, 40), ("reorder.c", 10, 40), ("twostage.c", 20, 100)],
)
@pytest.mark.parametrize("seed", range(3))
def test_auto_finds_it_in_few_executions(
    native_build: Build, name: str, threads: int, most: int, seed: int
) -> None:
    program = native_build(name, "-fsanitize=thread", f"-DN={threads}")
    result = explored(program, executions=most, seed=seed, causes=0)
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert failure.confirmed
    assert len(failure.trace.preemptions()) == 1


@pytest.mark.parametrize("strategy", ["rff", "auto"])
def test_rff_reads_from_memory_that_hooks_see(native_build: Build, strategy: str) -> None:
    program = native_build("reorder.c", "-fsanitize=thread", "-DN=10")
    result = explored(program, strategy=strategy, executions=60, seed=5, causes=0, minimise=False)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.ASSERTION]
