"""Programs whose accesses to memory are seen: compiled with -fsanitize=thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.native import Command, native_explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.outcome import OutcomeKind, RacePattern

Build = Callable[..., Path]

HOOKED = "-fsanitize=thread"

FAILING = (
    "plain_lost_update.c",
    "double_checked.c",
    "plain_flag.c",
    "reference_count.c",
    "check_then_act.c",
    "aba_stack.c",
    "atomic_lost_update.c",
)
"""Programs with a schedule in which an assertion fails; with ``-DFIXED`` there is none."""

RACING = ("bit_fields.c", "peterson.c", "relaxed.c", "fences.c", "freed_too_early.c")
"""Programs that no interleaving breaks, but that have data races; none with ``-DFIXED``."""

PATTERNS = {
    "plain_lost_update.c": {RacePattern.LOSSY_COUNTER},
    "double_checked.c": {RacePattern.DOUBLE_CHECKED_LOCKING, RacePattern.PUBLICATION},
    "reference_count.c": {RacePattern.REFERENCE_COUNT},
    "bit_fields.c": {RacePattern.LOST_UPDATE},
    "freed_too_early.c": {RacePattern.FREED},
    "statistics.c": {RacePattern.LOSSY_COUNTER, RacePattern.DIFFERENT_BITS},
    "check_then_act.c": {RacePattern.CHECK_THEN_ACT, RacePattern.IDEMPOTENT_WRITE},
}

CORRECT = ("pthreads.c", "c11.c", "semaphores.c", "cplusplus.cpp", "race_free.cpp")


def explored(program: Path, **options: object) -> Result:
    settings = {
        "executions": 3_000,
        "seconds": 60.0,
        "max_steps": 20_000,
        "hang_seconds": 10.0,
        **options,
    }
    explorer, _ = native_explorer(
        Command((str(program),), exit_code=0),
        ExploreOptions(**settings),  # type: ignore[arg-type]
    )
    return explorer.explore()


@pytest.mark.parametrize("name", FAILING)
def test_a_program_fails_by_its_accesses(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED))
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION], result.verdict
    assert result.failures[0].confirmed == 3


@pytest.mark.parametrize("name", FAILING + RACING)
def test_its_corrected_twin_neither_fails_nor_races(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED, "-DFIXED"), executions=60)
    assert not result.failures, result.failures[0].outcome
    assert not result.races, result.races
    assert not result.diverged, result.verdict


@pytest.mark.parametrize("name", RACING)
def test_a_race_can_be_a_failure(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED), races="fail", strategy="random", executions=200)
    assert {f.outcome.kind for f in result.failures} == {OutcomeKind.RACE}, result.verdict
    race = result.failures[0].outcome.race
    assert race is not None
    assert race.first.stack
    assert race.second.stack


@pytest.mark.parametrize("name", PATTERNS)
def test_what_races_look_like(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED), strategy="random", executions=60, keep_going=True)
    assert {race.pattern for race in result.races} >= PATTERNS[name]


@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("level", ["racy", "all"])
def test_a_correct_program_has_no_race(native_build: Build, name: str, level: str) -> None:
    result = explored(native_build(name, HOOKED), level=level, strategy="random", executions=25)
    assert not result.failures, result.failures[0].outcome
    assert not result.races, result.races
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict
    assert not result.diverged, result.verdict
