"""Programs under ``--memory tso``: what fails, what holds, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = "-fsanitize=thread"


def within_two_preemptions(program: Path, memory: str = "tso", **options: object) -> Result:
    """What a search of all schedules with few preemptions gives."""
    options = {"strategy": "ipb", "causes": 0, "executions": 20_000, **options}
    return explored(program, memory=memory, **options)


@pytest.mark.parametrize("algorithm", ["DEKKER", "PETERSON", "DEQUE"])
def test_a_load_that_must_not_overtake_a_store_needs_a_fence(
    native_build: Build, algorithm: str
) -> None:
    program = native_build("tso.c", HOOKED, f"-D{algorithm}")
    assert within_two_preemptions(program, "sc").verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND
    (failure,) = within_two_preemptions(program).failures
    assert failure.trace.plan.conditions.memory == "tso"
    fenced = native_build("tso.c", HOOKED, f"-D{algorithm}", "-DFENCED")
    assert not within_two_preemptions(fenced, executions=6_000).failures


@pytest.mark.parametrize("algorithm", ["DOUBLE_CHECKED", "SEQLOCK", "MESSAGE"])
def test_the_order_of_stores_and_that_of_loads_needs_none(
    native_build: Build, algorithm: str
) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, f"-D{algorithm}"))
    assert result.verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND
    assert "memory as x86 has it (total store order)" in str(result.verdict.conditions)


@pytest.mark.parametrize("level", ["racy", "all"])
def test_a_store_that_is_no_scheduling_point_does_not_overtake_one_that_is(
    native_build: Build, level: str
) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, "-DUNSEEN_STORE"), level=level)
    assert result.verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND


def test_a_store_to_a_block_that_is_freed_does_not_come_after(native_build: Build) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, "-DFREED"))
    assert not result.failures


@pytest.mark.parametrize("fibers", [True, False])
def test_stores_to_frames_that_are_gone_do_no_harm(native_build: Build, fibers: bool) -> None:
    explorer, _ = native_explorer(
        Command((str(native_build("tso.c", HOOKED, "-DFRAMES")),), exit_code=0, fibers=fibers),
        ExploreOptions(memory="tso", strategy="random", executions=300),
    )
    assert not explorer.explore().failures


def test_of_stores_to_the_own_stack_it_is_said_that_they_do_not_wait(native_build: Build) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, "-DSTACK"))
    assert not result.failures
    assert "but for stores of tasks to their own stacks" in str(result.verdict.conditions)
