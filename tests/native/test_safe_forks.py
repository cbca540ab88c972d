"""Forks that leave nothing behind execute ahead, and those of other programs do not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.strategy import Strategy
from tests.native.exploring import executed, runtime_for

Build = Callable[..., Path]


def makes_safe_forks(runtime: NativeRuntime) -> bool:
    orders = runtime.means.launcher.orders
    assert orders.server is not None
    assert orders.server.engine is Engine.FORK_SERVER
    return orders.server.is_safe


@pytest.mark.parametrize("program", [("lost_update.c",), ("orders.c", "-DPRINTS")])
@pytest.mark.parametrize("strategy_of", [lambda: RandomWalk(3), DepthFirst], ids=["random", "dfs"])
def test_what_forks_execute_ahead_is_what_would_have_been_executed(
    native_build: Build, program: tuple[str, ...], strategy_of: Callable[[], Strategy]
) -> None:
    built = native_build(*program)
    with (
        runtime_for(built) as one_by_one,
        runtime_for(built, engine="fork-server") as ahead,
        runtime_for(built, engine="fork-server", fibers=False) as on_kernel_threads,
    ):
        expected = executed(one_by_one, strategy_of(), 40, False)
        assert executed(ahead, strategy_of(), 40, True) == expected
        assert executed(on_kernel_threads, strategy_of(), 40, True) == expected
        assert makes_safe_forks(ahead)
        assert makes_safe_forks(on_kernel_threads)


@contextmanager
def standard_input(path: Path, text: str) -> Iterator[None]:
    """A file in the place of this process's standard input."""
    path.write_text(text)
    before = os.dup(0)
    try:
        with path.open() as file:
            os.dup2(file.fileno(), 0)
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


@pytest.mark.parametrize("fibers", [True, False])
@pytest.mark.parametrize(
    "what", ["input", "session", "group", "group-of", "file", "id", "code", "descriptors"]
)
def test_a_fork_is_as_a_program_that_was_just_started(
    what: str, fibers: bool, native_build: Build, tmp_path: Path
) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(12)]
    program = native_build("as_new.c")
    with (
        standard_input(tmp_path / "input", "hello\n"),
        runtime_for(
            program, [what], exit_code=3 * (what == "code"), engine="fork-server", fibers=fibers
        ) as runtime,
    ):
        runtime.foresee(lambda most: plans[:most])
        for plan in plans:
            outcome = runtime.execute(plan).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, outcome
        assert makes_safe_forks(runtime)


def test_what_forks_print_ahead_is_all_there(native_build: Build) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(6)]
    with runtime_for(native_build("as_new.c"), ["much"], engine="fork-server") as runtime:
        runtime.foresee(lambda most: plans[:most])
        for plan in plans:
            assert runtime.execute(plan).trace.outcome.kind is OutcomeKind.PASSED
            lines = runtime.printed.stdout.decode().splitlines()
            assert lines == [f"line {number}" for number in range(4000)]
        assert makes_safe_forks(runtime)


def test_the_kernel_knows_the_first_thread_of_a_fork(native_build: Build) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(6)]
    program = native_build("as_new.c")
    with runtime_for(program, ["first-thread"], engine="fork-server", fibers=False) as runtime:
        runtime.foresee(lambda most: plans[:most])
        for plan in plans:
            outcome = runtime.execute(plan).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, outcome
        assert runtime.engine is Engine.FORK_SERVER, runtime.engine_note


@pytest.mark.usefixtures("native_build")
def test_what_leaves_something_behind_is_not_executed_ahead(tmp_path: Path) -> None:
    written = tmp_path / "written"
    command = ["-c", f"echo line >> {written}"]
    plans = [Plan((), UniformRandom(seed)) for seed in range(40)]
    with runtime_for(Path("/bin/sh"), command, engine="fork-server") as runtime:
        runtime.foresee(lambda most: plans[:most])
        for number, plan in enumerate(plans[:20], 1):
            assert runtime.execute(plan).trace.outcome.kind is OutcomeKind.PASSED
            assert written.read_text() == "line\n" * number
        assert runtime.engine is Engine.FORK_SERVER, runtime.engine_note
        assert not makes_safe_forks(runtime)


def test_a_call_that_can_not_be_looked_at_is_no_failure(native_build: Build) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(6)]
    with runtime_for(native_build("blocks_signals.c"), engine="fork-server") as runtime:
        runtime.foresee(lambda most: plans[:most])
        for plan in plans:
            assert runtime.execute(plan).trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.engine is Engine.FORK_SERVER, runtime.engine_note
        assert not makes_safe_forks(runtime)


@pytest.mark.parametrize("engine", [Engine.FORK_SERVER, Engine.SNAPSHOT])
def test_a_hang_ahead_is_one_when_its_turn_comes(native_build: Build, engine: Engine) -> None:
    program = native_build("hangs_seldom.c")
    with runtime_for(program, hang_seconds=0.5, engine=engine.value) as runtime:
        choices = tuple(runtime.execute(Plan()).trace.choices)
        passing = [Plan(choices, UniformRandom(seed)) for seed in range(60)]
        hangs = Plan((*choices[: choices.index("0.1")], "0.2"))
        plans = [*passing[:50], hangs, *passing[50:]]
        asked: list[Plan] = []
        runtime.foresee(lambda most: [p for p in plans if p not in asked][:most])
        kinds = []
        for plan in plans:
            kinds.append(runtime.execute(plan).trace.outcome.kind)
            asked.append(plan)
        assert kinds.index(OutcomeKind.HANG) == 50
        assert kinds.count(OutcomeKind.PASSED) == 60
        assert runtime.engine is engine, runtime.engine_note


def test_the_server_may_die_while_it_executes_ahead(native_build: Build) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(200)]
    with runtime_for(native_build("lock_order.c", "-DFIXED"), engine="fork-server") as runtime:
        runtime.execute(Plan())
        runtime.foresee(lambda most: [p for p in plans if p not in asked][:most])
        asked: list[Plan] = []
        for plan in plans:
            if len(asked) == 100:
                orders = runtime.means.launcher.orders
                assert orders.server is not None
                orders.server.kill()
            assert runtime.execute(plan).trace.outcome.kind is OutcomeKind.PASSED
            asked.append(plan)
        assert runtime.engine is Engine.FORK_SERVER, runtime.engine_note
