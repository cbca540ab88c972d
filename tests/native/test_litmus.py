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


def reached(program: Path, threads: tuple[str, ...], **options: object) -> tuple[set[str], Result]:
    """What a litmus test printed in all executions of an exploration, which has to be complete."""
    printed: set[str] = set()
    chosen = {"memory": "tso", "executions": None, "seconds": None, "bound": None, **options}
    explorer, _ = native_explorer(
        Command((str(program), *threads), exit_code=0),
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


@pytest.mark.parametrize("strategy", ["dpor", "ipb"])
@pytest.mark.parametrize("name", LITMUS)
def test_exactly_what_the_machine_allows_is_reached(
    native_build: Build, name: str, strategy: str
) -> None:
    threads = LITMUS[name].threads
    found, _ = reached(native_build("litmus.c", *HOOKED), threads, strategy=strategy)
    assert found == tso_machine.outcomes(threads)
