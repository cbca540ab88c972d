"""What libraries do for programs: probe the kernel, give way before they wait, make variables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]


@pytest.mark.parametrize("engine", ["anew", "auto"])
def test_addresses_that_lead_nowhere_are_for_the_kernel(native_build: Build, engine: str) -> None:
    result = explored(native_build("bad_addresses.c"), executions=4, engine=engine)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict


def test_tasks_wait_though_they_give_way_before(native_build: Build) -> None:
    [failure] = explored(native_build("atomic_waits.cpp"), seconds=30).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed == 3


def test_who_tells_all_that_wait_has_no_failure(native_build: Build) -> None:
    assert not explored(native_build("atomic_waits.cpp", "-DFIXED"), executions=300).failures


def test_static_variables_that_need_each_other_deadlock(native_build: Build) -> None:
    [failure] = explored(native_build("static_locals.cpp")).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed == 3


@pytest.mark.parametrize("arguments", [(), ("throws",)])
def test_static_variables_are_made_by_one_task(
    native_build: Build, arguments: tuple[str, ...]
) -> None:
    program = native_build("static_locals.cpp", "-DFIXED")
    result = explored(program, *arguments, strategy="dfs", predict=0)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_a_plugin_may_be_the_only_one_to_know_the_library(native_build: Build) -> None:
    plugin = native_build("plugin_of_cplusplus.cpp", "-shared", "-fPIC")
    program = native_build("loads_cplusplus.c")
    result = explored(program, str(plugin), strategy="dfs", predict=0)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_the_first_that_is_freed_may_be_an_error_of_the_loader(native_build: Build) -> None:
    """Looking ``free`` up frees it, too."""
    result = explored(native_build("fails_to_load.c"), executions=4)
    assert not result.failures, result.failures[0].outcome
