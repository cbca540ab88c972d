"""Locks that make no call while nobody contends for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread",)


@pytest.fixture(scope="module")
def program(native_build: Build) -> Callable[..., Path]:
    library = native_build("as_glib.c", "-shared", "-fPIC", "-O1")
    return lambda *flags: native_build("uses_glib.c", *flags, "-Wl,--no-as-needed", str(library))


@pytest.mark.parametrize("flags", [(), HOOKED], ids=["plain", "hooks"])
@pytest.mark.parametrize(
    ("mode", "kind"), [("lost", OutcomeKind.ASSERTION), ("forgets", OutcomeKind.DEADLOCK)]
)
def test_what_comes_between_calls_of_glib_is_found(
    program: Callable[..., Path], mode: str, kind: OutcomeKind, flags: tuple[str, ...]
) -> None:
    [failure] = explored(program(*flags), mode, causes=0).failures
    assert (failure.outcome.kind, failure.confirmed) == (kind, 3)


@pytest.mark.parametrize("flags", [(), HOOKED], ids=["plain", "hooks"])
@pytest.mark.parametrize("mode", ["kept", "tries", "waits"])
def test_where_nothing_is_wrong_nothing_fails(
    program: Callable[..., Path], mode: str, flags: tuple[str, ...]
) -> None:
    result = explored(program(*flags), mode, executions=300)
    assert not result.failures, result.failures[0].outcome
    # The library has no hooks: what it orders is known by its calls.
    assert not result.races, result.races
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND


@pytest.mark.parametrize("flags", [(), HOOKED], ids=["plain", "hooks"])
def test_of_locks_of_a_library_that_nobody_knows_there_is_no_promise(
    program: Callable[..., Path], flags: tuple[str, ...]
) -> None:
    result = explored(program(*flags), "own", causes=0, strategy="dfs", predict=0)
    if result.failures:
        # With hooks the race shows where tasks come between.
        assert flags
        return
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert any("futexes" in caveat for caveat in result.verdict.caveats)
