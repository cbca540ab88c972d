"""With ``--memory tso`` litmus tests come to exactly what x86 allows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from tests.native import tso_machine
from tests.native.litmus import LITMUS

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread", "-O1")
RELAXED = ("-DSTORE=memory_order_relaxed", "-DLOAD=memory_order_relaxed")
RELEASED = ("-DSTORE=memory_order_release", "-DLOAD=memory_order_acquire")
STRONG = ("-DSTORE=memory_order_seq_cst", "-DLOAD=memory_order_seq_cst")


def reached(
    program: Path, threads: tuple[str, ...], *, fibers: bool = True, **options: object
) -> tuple[set[str], Result]:
    """What a litmus test printed in all executions of an exploration, which has to be complete."""
    printed: set[str] = set()
    chosen = {"memory": "tso", "executions": None, "seconds": None, "bound": None, **options}
    explorer, _ = native_explorer(
        Command((str(program), *threads), exit_code=0, fibers=fibers),
        ExploreOptions(**chosen),  # type: ignore[arg-type]
        on_printed=lambda each: printed.add(each.stdout.decode().rstrip("\n")),
    )
    result = explorer.explore()
    assert not result.failures
    return printed, result


def matching(outcome: str, printed: set[str]) -> set[str]:
    """What was printed of which the outcome of a litmus test speaks."""
    return {each for each in printed if re.fullmatch(outcome, each)}


@pytest.mark.parametrize("name", LITMUS)
def test_the_machine_allows_what_the_literature_says(name: str) -> None:
    litmus = LITMUS[name]
    found = matching(litmus.outcome, tso_machine.outcomes(litmus.threads))
    assert bool(found) is litmus.allowed


@pytest.mark.parametrize("name", LITMUS)
def test_exactly_what_the_machine_allows_is_reached(native_build: Build, name: str) -> None:
    threads = LITMUS[name].threads
    found, _ = reached(native_build("litmus.c", *HOOKED), threads, strategy="dpor")
    assert found == tso_machine.outcomes(threads)


SMALL = [name for name, litmus in LITMUS.items() if len(litmus.threads) == 2]
"""The others have too many schedules for a search that leaves none out."""


@pytest.mark.parametrize("name", SMALL)
def test_bounding_preemptions_reaches_the_same(native_build: Build, name: str) -> None:
    threads = LITMUS[name].threads
    found, _ = reached(native_build("litmus.c", *HOOKED), threads, strategy="ipb")
    assert found == tso_machine.outcomes(threads)


def test_a_search_of_all_schedules_finds_no_more(native_build: Build) -> None:
    threads = ("x=1", "x")
    found, _ = reached(native_build("litmus.c", *HOOKED), threads, strategy="dfs")
    assert found == tso_machine.outcomes(threads)


@pytest.mark.parametrize("flags", [RELAXED, RELEASED])
@pytest.mark.parametrize("name", ["SB", "MP", "R", "n6", "n7", "RWC+mfence", "iwp2.8.b"])
def test_weak_atomics_are_plain_instructions(
    native_build: Build, name: str, flags: tuple[str, ...]
) -> None:
    threads = LITMUS[name].threads
    found, _ = reached(native_build("litmus.c", *HOOKED, *flags), threads, strategy="dpor")
    assert found == tso_machine.outcomes(threads)


@pytest.mark.parametrize("name", ["SB", "R", "n6", "RWC"])
def test_the_strongest_stores_are_locked_instructions(native_build: Build, name: str) -> None:
    threads = LITMUS[name].threads
    found, _ = reached(native_build("litmus.c", *HOOKED, *STRONG), threads, strategy="dpor")
    fenced = tuple(re.sub(r"(\w=\d)", r"\1 mfence", thread) for thread in threads)
    assert found == tso_machine.outcomes(fenced)


@pytest.mark.parametrize("name", LITMUS)
def test_by_default_memory_is_sequentially_consistent(native_build: Build, name: str) -> None:
    threads = LITMUS[name].threads
    program = native_build("litmus.c", *HOOKED)
    found, _ = reached(program, threads, strategy="dpor", memory="sc")
    fenced = tuple(re.sub(r"(\w=\d)", r"\1 mfence", thread) for thread in threads)
    assert found == tso_machine.outcomes(fenced)


_WORDS = st.sampled_from(["x=1", "x=2", "y=1", "y=2", "x", "y", "mfence", "xchg:x=3", "xchg:y=3"])
_THREADS = st.lists(st.lists(_WORDS, min_size=1, max_size=4), min_size=2, max_size=3).filter(
    lambda threads: sum(map(len, threads)) <= 8
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(threads=_THREADS, fibers=st.booleans())
def test_exactly_what_the_machine_allows_of_random_programs(
    native_build: Build, threads: list[list[str]], fibers: bool
) -> None:
    texts = tuple(map(" ".join, threads))
    found, _ = reached(native_build("litmus.c", *HOOKED), texts, fibers=fibers, strategy="dpor")
    assert found == tso_machine.outcomes(texts)


def test_entries_of_buffers_have_names_that_do_not_depend_on_the_order(native_build: Build) -> None:
    """What is named by who comes first is widened, and was taken to conflict with everything."""
    threads = ("y=1 y=2", "x=2", "y=1 y x")
    found, result = reached(native_build("litmus.c", *HOOKED), threads, strategy="dpor")
    assert found == tso_machine.outcomes(threads)
    assert not result.diverged


def test_partial_order_reduction_tries_nothing_that_buffers_do_not_allow(
    native_build: Build,
) -> None:
    """One execution for each order of what depends on each other, and the first ones."""
    threads = LITMUS["n7"].threads
    _, result = reached(native_build("litmus.c", *HOOKED), threads, strategy="dpor")
    assert result.executions <= 255
