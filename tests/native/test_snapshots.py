"""A process that is restored is as new each time, and is used only where it can be restored."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug.exploration.figures import race_key
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, Priorities, UniformRandom
from bohrbug.platforms.posix.command import Command, command_from
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.runtime.posix.serving import Server
from bohrbug.search.auto import Auto
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.pct import PCT
from bohrbug.search.pos import PartialOrderSampling
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.reads_from import ReadsFromFuzzing
from bohrbug.search.strategy import Strategy
from bohrbug.search.surw import SelectivelyUniform
from tests.native.building import build
from tests.native.exploring import executed, runtime_for, shape

Build = Callable[..., Path]


def server_of(runtime: NativeRuntime) -> int:
    orders = runtime.means.launcher.orders
    assert orders.server is not None
    assert orders.server.pid is not None
    return orders.server.pid


def test_nothing_is_left_of_an_execution(native_build: Build) -> None:
    program = native_build("remembers.c")
    printed, sizes = set(), set()
    with runtime_for(program) as runtime:
        runtime.execute(Plan())
        process = 0
        for seed in range(150):
            trace = runtime.execute(Plan((), UniformRandom(seed))).trace
            assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome
            printed.add(runtime.printed.stdout)
            process = process or server_of(runtime)
            assert trace.engine is Engine.SNAPSHOT, runtime.engine_note
            if seed % 50 == 40:
                # While it waits for the next order.
                runtime.execute(Plan())
                pages = int(Path(f"/proc/{process}/statm").read_text().split()[0])
                sizes.add((pages, len(os.listdir(f"/proc/{process}/fd"))))
        assert server_of(runtime) == process
    assert len(printed) == 1
    # A look may come before everything is put back.
    assert len(sizes) <= 2


def test_long_executions_are_put_back_too(native_build: Build) -> None:
    """They ask for memory for their trace as they go."""
    with runtime_for(native_build("rounds.c")) as runtime:
        for seed in range(4):
            trace = runtime.execute(Plan((), UniformRandom(seed))).trace
            assert trace.outcome.kind is OutcomeKind.PASSED
            assert len(trace.choices) > 2000
        assert trace.engine is Engine.SNAPSHOT, runtime.engine_note


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.mark.parametrize("name", ["store_after_unlock.c", "lost_update.c"])
@given(seeds=st.lists(st.integers(0, 10_000), min_size=1, max_size=4), depth=st.integers(1, 4))
@settings(max_examples=6, deadline=None)
def test_random_plans_give_the_traces_of_the_fork_server(
    folder: Path, native_build: Build, name: str, seeds: list[int], depth: int
) -> None:
    program = build(folder, name)
    with (
        runtime_for(program, engine="snapshot") as restored,
        runtime_for(program, engine="fork-server") as forked,
    ):
        for plan in [Plan(), *(Plan((), Priorities(seed, depth, 20)) for seed in seeds)]:
            first, second = restored.execute(plan).trace, forked.execute(plan).trace
            assert first.outcome.kind is second.outcome.kind
            assert shape(first) == shape(second)


def threads_of(process: int) -> set[str]:
    return set(os.listdir(f"/proc/{process}/task"))


def test_threads_are_as_new_though_they_are_used_again(native_build: Build) -> None:
    program = native_build("attributes.c")
    with runtime_for(program) as restored, runtime_for(program, engine="fork-server") as forked:
        for seed in range(12):
            plan = Plan((), UniformRandom(seed)) if seed else Plan()
            first, second = restored.execute(plan).trace, forked.execute(plan).trace
            assert first.outcome.kind is OutcomeKind.PASSED, first.outcome
            assert shape(first) == shape(second)
            if seed == 1:
                threads = threads_of(server_of(restored))
        assert restored.engine is Engine.SNAPSHOT, restored.engine_note
        assert forked.engine is Engine.FORK_SERVER, forked.engine_note
        # Those with a stack of their own are made anew.
        assert len(threads_of(server_of(restored)) & threads) == 1 + 4
        assert len(threads_of(server_of(forked))) == 1 + 4


def test_what_the_kernel_does_at_the_end_of_a_thread_is_left_to_it(native_build: Build) -> None:
    with runtime_for(native_build("left_locked.c", "-DROBUST")) as runtime:
        kinds = [
            runtime.execute(Plan((), UniformRandom(seed)) if seed else Plan()).trace.outcome.kind
            for seed in range(4)
        ]
        assert kinds == [OutcomeKind.PASSED] * 4
        assert runtime.fibers.forbidden_by == "a mutex left locked"


def test_a_process_that_fails_is_started_again(native_build: Build) -> None:
    with runtime_for(native_build("lost_update.c")) as runtime:
        kinds = Counter(
            runtime.execute(Plan((), UniformRandom(seed)) if seed else Plan()).trace.outcome.kind
            for seed in range(12)
        )
        assert runtime.engine is Engine.SNAPSHOT, runtime.engine_note
    assert kinds[OutcomeKind.ASSERTION] >= 2
    assert kinds[OutcomeKind.PASSED] >= 2


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pthreads.c", "signals"),
        ("semaphores.c", "openat"),
        ("error_paths.c", "system call"),
        ("processes.c", "processes"),
    ],
)
def test_what_can_not_be_undone_is_left_to_forks(
    native_build: Build, name: str, reason: str
) -> None:
    with runtime_for(native_build(name)) as runtime:
        for seed in range(3):
            trace = runtime.execute(Plan((), UniformRandom(seed)) if seed else Plan()).trace
            assert trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.engine is Engine.FORK_SERVER
        assert reason in runtime.engine_note


def test_a_hang_ends_the_process_that_is_restored(native_build: Build) -> None:
    program = native_build("hangs_seldom.c")
    with runtime_for(program, hang_seconds=0.5) as runtime:
        passes = runtime.execute(Plan()).trace
        assert passes.outcome.kind is OutcomeKind.PASSED
        before = passes.choices[: passes.choices.index("0.1")]
        hangs = runtime.execute(Plan((*before, "0.2"))).trace
        assert hangs.outcome.kind is OutcomeKind.HANG
        assert "last seen at hangs_seldom.c:" in hangs.outcome.message
        assert hangs.divergence is None
        assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.engine is Engine.SNAPSHOT, runtime.engine_note


def test_a_command_remembers_the_engine_that_was_asked_for() -> None:
    command = Command(("true",), engine="anew")
    assert command_from(command.target()) == command
    assert "engine" not in Command(("true",)).target()


@pytest.mark.parametrize("program", [("lost_update.c",), ("orders.c", "-DPRINTS")])
@pytest.mark.parametrize(
    "strategy_of",
    [
        lambda: RandomWalk(3),
        lambda: PCT(seed=3),
        lambda: PartialOrderSampling(3),
        lambda: SelectivelyUniform(3),
        lambda: ReadsFromFuzzing(3),
        DepthFirst,
        PreemptionBounding,
        lambda: Auto([DepthFirst()], [(RandomWalk(1), 1.0), (PCT(seed=2), 1.0)], 60),
    ],
    ids=["random", "pct", "pos", "surw", "rff", "dfs", "ipb", "auto"],
)
def test_what_is_executed_ahead_is_what_would_have_been_executed(
    native_build: Build, program: tuple[str, ...], strategy_of: Callable[[], Strategy]
) -> None:
    built = native_build(*program)
    with runtime_for(built) as one_by_one, runtime_for(built) as ahead:
        expected = executed(one_by_one, strategy_of(), 40, False)
        assert executed(ahead, strategy_of(), 40, True) == expected
        assert one_by_one.engine is ahead.engine is Engine.SNAPSHOT, ahead.engine_note


def test_a_segment_is_read_before_it_is_used_again(
    native_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = native_build("lost_update.c")
    orders: list[int] = []
    order = Server.order

    def counted(server: Server, starts: Sequence[int]) -> None:
        orders.append(len(starts))
        order(server, starts)

    monkeypatch.setattr(Server, "order", counted)
    plans = [Plan((), UniformRandom(seed)) for seed in range(40)]
    with runtime_for(program) as runtime:
        runtime.execute(Plan())
        runtime.foresee(lambda most: plans[:most])
        kept = [runtime.execute(plan).trace for plan in plans]
        assert max(orders) > 2
        runtime.foresee(None)
        assert [shape(trace) for trace in kept] == [
            shape(runtime.execute(plan).trace) for plan in plans
        ]
        last = runtime.execute(plans[0]).trace
    # What they were read from is gone now.
    assert shape(last) == shape(kept[0])


def test_what_was_made_ahead_is_not_taken_once_its_engine_was_left(native_build: Build) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(40)]
    asked: list[Plan] = []
    # What carries the tasks stays the same, so that nothing else lets it be made again.
    with runtime_for(native_build("lock_order.c", "-DFIXED"), fibers=False) as runtime:
        runtime.execute(Plan())
        runtime.foresee(lambda most: [plan for plan in plans if plan not in asked][:most])

        def engine_for(plan: Plan) -> Engine:
            engine = runtime.execute(plan).trace.engine
            asked.append(plan)
            return engine

        assert {engine_for(plan) for plan in plans[:20]} == {Engine.SNAPSHOT}
        runtime._choice.drop(Engine.SNAPSHOT, "a failure did not come again")
        assert {engine_for(plan) for plan in plans[20:]} == {Engine.FORK_SERVER}


@pytest.mark.parametrize("flags", [(), ("-DFIXED",)])
def test_places_that_turn_out_to_be_racy_leave_the_engine_as_it_is(
    native_build: Build, flags: tuple[str, ...]
) -> None:
    """They make executions longer: that a plan has more steps now says nothing of the engine."""
    program = native_build("many_threads_race.c", "-fsanitize=thread", *flags)
    with runtime_for(program) as runtime:
        for seed in range(40):
            trace = runtime.execute(Plan(policy=UniformRandom(seed))).trace
        assert runtime.engine is Engine.SNAPSHOT, runtime.engine_note
        assert bool(runtime.point_keys()) is not bool(flags)
        with runtime_for(program, engine="anew") as anew:
            anew.want_points(runtime.point_keys())
            again = anew.execute(trace.plan).trace
        assert shape(again) == shape(trace)
        assert [race_key(race) for race in again.races] == [race_key(r) for r in trace.races]
