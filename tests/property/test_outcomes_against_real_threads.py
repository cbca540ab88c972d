"""Where an exploration says that a program holds, real threads come to nothing that it missed.

``benchmarks/outcomes.py`` tries many more programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.comparing import RealThreads, explored
from tests.oracle.programs import source_of
from tests.thoroughness import examples

RUNS = 40
PROGRAMS_AT_ONCE = 10


@pytest.fixture(scope="module")
def real_threads() -> Iterator[RealThreads]:
    with RealThreads() as real:
        yield real


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
