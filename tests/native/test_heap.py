"""What is freed is not to be used: told without the address sanitizer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = "-fsanitize=thread"

PLAIN = {
    "double-free": r"free of memory that was freed before \(freed by task 0\.[12] at heap\.c:39\)",
    "write": r"memory was written to after it was freed \(freed by task 0\.2 at heap\.c:69\)",
    "lock": r"use of a mutex in memory that was freed \(freed by task 0\.2 at heap\.c:69\)",
    "moved": r"memory was written to after it was freed \(freed by task 0\.2 at heap\.c:75\)",
}
"""By what the program does, what is told where its accesses are not seen."""

SEEN = {
    "double-free": PLAIN["double-free"],
    "write": r"a write to memory that was freed \(freed by task 0\.2 at heap\.c:69\)",
    "pointer": r"a read of memory that was freed \(freed by task 0\.2 at heap\.c:69\)",
    "lock": PLAIN["lock"],
    "moved": r"a write to memory that was freed \(freed by task 0\.2 at heap\.c:75\)",
}
"""... and where they are."""


@pytest.mark.parametrize("what", PLAIN)
def test_what_is_freed_is_used(native_build: Build, what: str) -> None:
    [failure] = explored(native_build("heap.c"), what, causes=0).failures
    assert failure.outcome.kind is OutcomeKind.MISUSE
    assert re.fullmatch(PLAIN[what], failure.outcome.message)


def test_a_pointer_in_freed_memory_leads_nowhere(native_build: Build) -> None:
    [failure] = explored(native_build("heap.c"), "pointer", causes=0).failures
    assert failure.outcome.kind is OutcomeKind.CRASH


@pytest.mark.parametrize("what", SEEN)
def test_an_access_to_what_is_freed_is_seen(native_build: Build, what: str) -> None:
    [failure] = explored(native_build("heap.c", HOOKED), what, causes=0).failures
    assert failure.outcome.kind is OutcomeKind.MISUSE
    assert re.fullmatch(SEEN[what], failure.outcome.message)


@pytest.mark.parametrize("engine", ["anew", "fork-server", "snapshot"])
@pytest.mark.parametrize("flags", [(), (HOOKED,)], ids=["plain", "hooked"])
def test_who_uses_the_heap_as_it_is_meant_to_be_does_not_fail(
    native_build: Build, flags: tuple[str, ...], engine: str
) -> None:
    program = native_build("heap.c", *flags)
    result = explored(program, "right", strategy="random", executions=60, engine=engine)
    assert not result.failures
    assert not result.races
