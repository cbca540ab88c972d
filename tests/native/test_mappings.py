"""Changes of what memory is mapped to, under tasks that use it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread", "-fno-builtin")

BROKEN = {
    "mprotect": OutcomeKind.CRASH,
    "madvise": OutcomeKind.ASSERTION,
    "munmap": OutcomeKind.CRASH,
    "mmap": OutcomeKind.ASSERTION,
    "mremap": OutcomeKind.CRASH,
}
"""What comes of it in programs whose accesses are not seen."""


@pytest.mark.parametrize("mode", BROKEN)
def test_what_comes_between_is_found(native_build: Build, mode: str) -> None:
    [failure] = explored(native_build("mappings.c"), mode, causes=0).failures
    assert (failure.outcome.kind, failure.confirmed) == (BROKEN[mode], 3)


@pytest.mark.parametrize("mode", BROKEN)
def test_with_hooks_it_is_found_as_well(native_build: Build, mode: str) -> None:
    [failure] = explored(native_build("mappings.c", *HOOKED), mode, causes=0).failures
    # Between taking away and giving back memory may have no rights, or nothing in it.
    assert failure.outcome.kind in (OutcomeKind.CRASH, OutcomeKind.ASSERTION)


@pytest.mark.parametrize("mode", BROKEN)
def test_it_races_with_the_access(native_build: Build, mode: str) -> None:
    program = native_build("mappings.c", *HOOKED)
    result = explored(program, mode, races="fail", strategy="random", executions=50, causes=0)
    kinds = {failure.outcome.kind for failure in result.failures}
    assert OutcomeKind.RACE in kinds or result.races, kinds
    accesses = [access for race in result.races for access in (race.first, race.second)]
    assert "disturb" in {access.operation.place.function for access in accesses}


@pytest.mark.parametrize("flags", [(), HOOKED], ids=["plain", "hooks"])
@pytest.mark.parametrize("mode", BROKEN)
def test_under_a_lock_it_holds(native_build: Build, mode: str, flags: tuple[str, ...]) -> None:
    result = explored(native_build("mappings.c", *flags), mode, "guarded", predict=0)
    assert not result.failures
    assert not result.races
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_memory_that_is_shared_keeps_its_content(native_build: Build) -> None:
    result = explored(native_build("mappings.c", *HOOKED), "shared", predict=0)
    assert not result.failures
    assert not result.races
