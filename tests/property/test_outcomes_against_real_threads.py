"""Where an exploration says that a program holds, real threads come to nothing that it missed.

``benchmarks/outcomes.py`` tries many more programs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.comparing import RealThreads, explored
from tests.oracle.families import FAMILIES
from tests.oracle.programs import source_of
from tests.thoroughness import examples

RUNS = 40
PROGRAMS_AT_ONCE = 10


@pytest.fixture(scope="module")
def real_threads() -> Iterator[RealThreads]:
    with RealThreads() as real:
        yield real


MISSED = (1016, 1050, 1084, 1608, 1690, 2226, 3198, 4239)
"""Programs that were said to hold although real threads came to something else."""


def test_families_call_what_they_make_differently() -> None:
    """Else what one family shows would be of another one."""
    made = [set(re.findall(r"\bs\.(\w+)\s*=[^=]", family.made)) for family in FAMILIES]
    defined = [_names(family.before) for family in FAMILIES]
    for names in (made, defined):
        assert sum(map(len, names)) == len(set().union(*names))


def _names(source: str) -> set[str]:
    """What is defined at the top of a module."""
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@pytest.mark.parametrize("seed", MISSED)
def test_what_was_missed_once_is_reached(
    tmp_path: Path, real_threads: RealThreads, seed: int
) -> None:
    path = tmp_path / f"program_{seed}.py"
    path.write_text(source_of(seed), encoding="utf-8")
    found = explored(path, executions=3_000, seconds=20)
    assert not found.result.failures
    assert real_threads.outcomes(path, seed, 100) <= found.outcomes


@pytest.mark.parametrize("first", range(0, examples(60), PROGRAMS_AT_ONCE))
def test_what_real_threads_do_is_reached(
    tmp_path: Path, real_threads: RealThreads, first: int
) -> None:
    missed = {}
    promises = 0
    for seed in range(first, first + PROGRAMS_AT_ONCE):
        path = tmp_path / f"program_{seed}.py"
        path.write_text(source_of(seed), encoding="utf-8")
        found = explored(path, executions=1_000, seconds=10)
        assert not found.result.failures
        promises += found.promises
        if found.promises:
            missing = real_threads.outcomes(path, seed, RUNS) - found.outcomes
            if missing:
                missed[seed] = sorted(missing)
    assert not missed
    assert promises
