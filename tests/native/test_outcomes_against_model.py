"""Generated programs: complete strategies reach all that can come of them, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from bohrbug.runtime.posix.build import compiler
from tests.native.building import need_native
from tests.native.program_model import possible_outcomes, telling_program
from tests.native.random_programs import (
    FAMILIES,
    Program,
    Statement,
    compiled,
    native_outcomes,
    random_program,
)
from tests.native.reaching import outcomes_under_control

SMALL = Program(((Statement("read"), Statement("read")), (Statement("write", 0, 1),)))
"""Whose outcomes are known: both looks come before, after, or around the change."""

SEEDS = {
    "sizes": 3,
    "atomics": 2,
    "locks": 3,
    "readers": 0,
    "semaphores": 3,
    "conditions": 6,
    "threads": 3,
    "futexes": 0,
    "signals": 15,
    "pipes": 1,
    "cancelled": 1,
    "unseen": 0,
    "unlocked": 1,
}
"""A program of each other family that takes a few hundred executions at most."""


def test_each_family_is_tried() -> None:
    assert {*SEEDS, "mixed"} == set(FAMILIES)


def built(program: Program, folder: Path, *flags: str) -> Path:
    need_native()
    cc = compiler()
    assert cc is not None
    return compiled(cc, program, folder / "".join(("program", *flags)), *flags)


def reached(program: Program, folder: Path, strategy: str) -> set[str]:
    """What all executions of a complete strategy give."""
    explored = built(program, folder, *program.flags)
    found, is_complete = outcomes_under_control(program, explored, strategy)
    assert is_complete
    return found


def test_the_model_knows_what_comes_of_two_looks() -> None:
    ends = {"0,0,;;1,0,0,0,", "0,1,;;1,0,0,0,", "1,1,;;1,0,0,0,"}
    assert possible_outcomes(SMALL) == ends


@pytest.mark.parametrize("seed", range(8))
def test_dpor_reaches_all_outcomes(seed: int, tmp_path: Path) -> None:
    program = random_program(seed)
    assert reached(program, tmp_path, "dpor") == possible_outcomes(program)


@pytest.mark.parametrize("family", SEEDS)
def test_dpor_reaches_all_outcomes_of_a_family(family: str, tmp_path: Path) -> None:
    program, possible = telling_program(SEEDS[family], family)
    assert reached(program, tmp_path, "dpor") == possible


@pytest.mark.parametrize("seed", range(1, 3))
def test_dfs_reaches_all_outcomes(seed: int, tmp_path: Path) -> None:
    threads = random_program(seed).threads
    program = Program(tuple(statements[:1] for statements in threads[:2]))
    assert reached(program, tmp_path, "dfs") == possible_outcomes(program)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_allows_what_happens_natively(family: str, tmp_path: Path) -> None:
    program, possible = telling_program(100, family)
    native = built(program, tmp_path, "-DDELAYS")
    assert native_outcomes(native, range(8)) <= possible


# -- what was missed -------------------------------------------------------------------------------

MISSED = {
    "parts": Program(
        ((Statement("read_both"), Statement("write", 1, 2)), (Statement("write", 1, 1),))
    ),
    "atomic and plain": Program(
        (
            (Statement("store", 0, 1), Statement("poke", 0, 2)),
            (Statement("load"), Statement("peek")),
        )
    ),
    # A deadlock of one task ends the execution: what others would have done then was not known.
    "cut off by a deadlock": Program(
        (
            (Statement("add", 1, 1), Statement("trylocked", 0)),
            (
                Statement("read", 1),
                Statement("timedlocked", 0, 1, (Statement("locked", 0),)),
            ),
        )
    ),
}
"""Programs of which outcomes were missing."""


@pytest.mark.parametrize("what", MISSED)
def test_what_was_missed_is_reached(what: str, tmp_path: Path) -> None:
    assert reached(MISSED[what], tmp_path, "dpor") == possible_outcomes(MISSED[what])
