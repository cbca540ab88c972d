"""Several accesses of one task to one variable, each of which is an access of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread", "-O0")


@pytest.mark.parametrize("strategy", ["dpor", "dfs", "auto"])
@pytest.mark.parametrize("which", range(5))
def test_another_task_comes_between_two_looks(
    native_build: Build, which: int, strategy: str
) -> None:
    program = native_build("reads_twice.c", *HOOKED, f"-DWHICH={which}")
    result = explored(program, strategy=strategy, minimise=False, causes=0)
    kind = OutcomeKind.CRASH if which == 1 else OutcomeKind.ASSERTION
    assert [failure.outcome.kind for failure in result.failures] == [kind]


@pytest.mark.parametrize("which", range(5))
def test_nobody_comes_between_under_a_lock(native_build: Build, which: int) -> None:
    program = native_build("reads_twice.c", *HOOKED, f"-DWHICH={which}", "-DFIXED")
    result = explored(program, strategy="dpor", minimise=False)
    assert not result.failures
    assert not result.races


def test_a_plain_look_races_behind_an_atomic_one(native_build: Build) -> None:
    result = explored(native_build("atomic_then_plain.c", *HOOKED), strategy="dpor")
    kinds = {
        frozenset(access.operation.kind.name for access in (race.first, race.second))
        for race in result.races
    }
    assert kinds == {frozenset({"read", "store"}), frozenset({"write", "load"})}


@pytest.mark.parametrize("what", ["plain", "recursive", "waits", "held", "trylock", "destroyed"])
@pytest.mark.parametrize("engine", ["anew", "fork-server", "snapshot"])
def test_constructors_may_use_mutexes(native_build: Build, what: str, engine: str) -> None:
    program = native_build("constructors.c")
    result = explored(program, what, strategy="dpor", engine=engine)
    assert not result.failures


def test_a_constructor_that_misuses_a_mutex_fails(native_build: Build) -> None:
    result = explored(native_build("constructors.c"), "wrong", strategy="dpor")
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.MISUSE]
