"""Generated programs: complete strategies reach all that can come of them, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from bohrbug.exploration.native import Command, native_explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.posix.build import compiler
from tests.native.building import need_native
from tests.native.random_programs import (
    DEADLOCK,
    Program,
    compiled,
    native_outcomes,
    possible_outcomes,
    random_program,
)

SMALL: Program = ((("read", 0, 0, ()), ("read", 0, 0, ())), (("write", 0, 1, ()),))
"""Whose outcomes are known: both looks come before, after, or around the change."""


def outcomes_under_control(program: Path, strategy: str) -> set[str]:
    """What a program gives in the executions of a complete strategy.

    Parameters:
        program: compiled with hooks.
        strategy: the strategy, which has to execute all that there is.
    """
    found = set()
    options = ExploreOptions(
        strategy=strategy,
        executions=50_000,
        seconds=None,
        max_steps=20_000,
        keep_going=True,
        minimise=False,
        causes=0,
        predict=0,
    )
    explorer, _ = native_explorer(
        Command((str(program),), exit_code=0),
        options,
        on_printed=lambda printed: found.add(printed.stdout.decode()),
    )
    result = explorer.explore()
    assert explorer.strategy.complete
    # Whoever is in a deadlock has printed nothing.
    found.discard("")
    kinds = {failure.outcome.kind for failure in result.failures}
    assert kinds <= {OutcomeKind.DEADLOCK}
    return found | {DEADLOCK} if kinds else found


def built(program: Program, folder: Path, *flags: str) -> Path:
    need_native()
    cc = compiler()
    assert cc is not None
    return compiled(cc, program, folder / "".join(("program", *flags)), *flags)


def test_the_model_knows_what_comes_of_two_looks() -> None:
    ends = {"0,0,;;1,0,0,0,", "0,1,;;1,0,0,0,", "1,1,;;1,0,0,0,"}
    assert possible_outcomes(SMALL) == ends


@pytest.mark.parametrize("seed", range(24))
def test_dpor_reaches_all_outcomes(seed: int, tmp_path: Path) -> None:
    program = random_program(seed)
    hooked = built(program, tmp_path, "-fsanitize=thread")
    assert outcomes_under_control(hooked, "dpor") == possible_outcomes(program)


@pytest.mark.parametrize("seed", range(3))
def test_dfs_reaches_all_outcomes(seed: int, tmp_path: Path) -> None:
    program = tuple(statements[:1] for statements in random_program(seed)[:2])
    hooked = built(program, tmp_path, "-fsanitize=thread")
    assert outcomes_under_control(hooked, "dfs") == possible_outcomes(program)


@pytest.mark.parametrize("seed", range(4))
def test_the_model_allows_what_happens_natively(seed: int, tmp_path: Path) -> None:
    program = random_program(100 + seed, with_waits=False)
    native = built(program, tmp_path, "-DDELAYS")
    assert native_outcomes(native, range(40)) <= possible_outcomes(program)
