"""A program that waits before main finds its surroundings as one that is started anew."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.runtime.posix.engines import Engine
from tests.native.exploring import runtime_for

Build = Callable[..., Path]

WORDS = [
    "session",
    "status",
    "positions",
    "positions some positions",
    "lines positions",
    "all positions",
    "much positions",
]


@pytest.fixture
def input_file(tmp_path: Path) -> Iterator[Path]:
    """A file that is standard input meanwhile."""
    file = tmp_path / "input"
    file.write_text("".join(f"line {number}\n" for number in range(2_000)))
    kept = os.dup(0)
    with file.open() as opened:
        os.dup2(opened.fileno(), 0)
    yield file
    os.dup2(kept, 0)
    os.close(kept)


@pytest.mark.usefixtures("input_file")
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("fibers", [True, False])
def test_each_execution_finds_the_same(
    native_build: Build, words: str, engine: Engine, fibers: bool
) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(30)]
    asked: list[Plan] = []
    program = native_build("surroundings.c")
    with runtime_for(program, words.split(), engine=engine.value, fibers=fibers) as runtime:
        # Started anew, whatever the engine.
        runtime.execute(Plan())
        expected = runtime.printed
        runtime.foresee(lambda most: [p for p in plans if p not in asked][:most])
        for plan in plans:
            trace = runtime.execute(plan).trace
            assert trace.outcome.kind is OutcomeKind.PASSED
            assert trace.engine is engine, runtime.engine_note
            assert runtime.printed == expected
            asked.append(plan)
