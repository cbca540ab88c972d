"""Searches of native programs against brute force over all schedules, by happens-before graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import VerdictKind
from bohrbug.model.happens_before import canonical_hash
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.search.bounded_dpor import BoundedReduction
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.pos import PartialOrderSampling
from bohrbug.search.strategy import Strategy
from bohrbug.search.surw import SelectivelyUniform
from tests.native.exploring import explored, runtime_for

Build = Callable[..., Path]

GRAPHS = {
    "USERS": 6,
    "TWO_MUTEXES": 2,
    "OPPOSITE": 3,
    "CONDITION": 2,
    "SEMAPHORE": 6,
    "TIMED": 16,
    "BARRIER": 2,
    "NOT_JOINED": 5,
    "CANCELLED": 4,
    "PROCESSES": 24,
    "POLLED": 80,
}
"""For each program of orders.c how many happens-before graphs its schedules have."""


def searched(runtime: NativeRuntime, strategy: Strategy) -> tuple[Counter[int], set[OutcomeKind]]:
    """How often each graph was executed until nothing was left, and the outcomes."""
    runtime.execute(Plan())
    graphs: Counter[int] = Counter()
    outcomes = set()
    while (plan := strategy.next_plan()) is not None:
        executed = runtime.execute(plan)
        trace = executed.trace
        if executed.new_points:
            strategy.restart()
            graphs.clear()
            continue
        strategy.observe(trace)
        graphs[canonical_hash(trace)] += 1
        outcomes.add(trace.outcome.kind)
    return graphs, outcomes


@pytest.mark.parametrize("name", GRAPHS)
def test_each_graph_is_executed_once(native_build: Build, name: str) -> None:
    program = native_build("orders.c", f"-D{name}")
    strategy = OptimalReduction()
    with runtime_for(program, after_release=False) as runtime:
        graphs, _ = searched(runtime, strategy)
    assert len(graphs) == graphs.total() == GRAPHS[name]
    assert strategy.redundant == 0
    assert strategy.complete


@pytest.mark.parametrize(
    "name",
    [
        "OPPOSITE",
        "CONDITION",
        "BARRIER",
        "NOT_JOINED",
        "CANCELLED",
        "PROCESSES",
        pytest.param("TWO_MUTEXES", marks=pytest.mark.slow),
        pytest.param("SEMAPHORE", marks=pytest.mark.slow),
        pytest.param("TIMED", marks=pytest.mark.slow),
        pytest.param("POLLED", marks=pytest.mark.slow),
    ],
)
def test_they_are_those_of_all_schedules(native_build: Build, name: str) -> None:
    program = native_build("orders.c", f"-D{name}")
    with runtime_for(program, after_release=False) as runtime:
        everything, outcomes = searched(runtime, DepthFirst())
        assert len(everything) == GRAPHS[name]
        for strategy in (OptimalReduction(), BoundedReduction(None)):
            graphs, found = searched(runtime, strategy)
            assert set(graphs) == set(everything)
            assert found == outcomes


def test_mutexes_that_nobody_has_made_are_told_apart(native_build: Build) -> None:
    """They are named by whoever comes first, which is another one in another execution."""
    with runtime_for(native_build("orders.c", "-DNOT_MADE"), after_release=False) as runtime:
        graphs, _ = searched(runtime, OptimalReduction())
    assert graphs.total() == 3


@pytest.mark.parametrize("strategy", [PartialOrderSampling(1, 200), SelectivelyUniform(1, 200)])
def test_samplers_meet_all_orders_about_equally_often(
    native_build: Build, strategy: Strategy
) -> None:
    with runtime_for(native_build("orders.c", "-DUSERS"), after_release=False) as runtime:
        graphs, _ = searched(runtime, strategy)
    # A random walk gives one of them 132 of 300, and another one 14.
    assert len(graphs) == 6
    assert min(graphs.values()) > 18
    assert max(graphs.values()) < 60


def test_a_seed_determines_the_executions(native_build: Build) -> None:
    with runtime_for(native_build("buffer.c", "-DFIXED")) as runtime:
        runtime.execute(Plan())
        for make in (PartialOrderSampling, SelectivelyUniform):
            first, second = (
                [runtime_choices(runtime, strategy) for _ in range(4)]
                for strategy in (make(7), make(7))
            )
            assert first == second
            assert len({tuple(choices) for choices in first}) > 1


def runtime_choices(runtime: NativeRuntime, strategy: Strategy) -> list[object]:
    plan = strategy.next_plan()
    assert plan is not None
    trace = runtime.execute(plan).trace
    strategy.observe(trace)
    return list(trace.choices)


@pytest.mark.parametrize("name", ["buffer.c", "pthreads.c", "semaphores.c"])
def test_samplers_choose_alike_on_the_short_and_on_the_long_way(
    native_build: Build, name: str
) -> None:
    with runtime_for(native_build(name, "-DFIXED")) as runtime:
        runtime.execute(Plan())
        for strategy in (PartialOrderSampling(3, 40), SelectivelyUniform(3, 40)):
            for _ in range(25):
                plan = strategy.next_plan()
                assert plan is not None
                trace = runtime.execute(plan).trace
                # With stacks every step takes the long way.
                assert runtime.execute(plan, learn=False).trace.choices == trace.choices
                strategy.observe(trace)


@pytest.mark.parametrize("strategy", ["dpor", "bpor", "pos", "surw", "rff"])
def test_a_lock_order_is_found(native_build: Build, strategy: str) -> None:
    program = native_build("lock_order.c")
    explorer, _ = native_explorer(
        Command((str(program),), exit_code=0), ExploreOptions(strategy=strategy, seconds=60.0)
    )
    result = explorer.explore()
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]


def test_a_reduction_proves_nothing_where_accesses_are_not_seen(native_build: Build) -> None:
    program = native_build("orders.c", "-DUSERS")
    options = ExploreOptions(strategy="dpor", level="sync", seconds=60.0)
    explorer, _ = native_explorer(Command((str(program),)), options)
    result = explorer.explore()
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert any("accesses to memory" in caveat for caveat in result.verdict.caveats)


def test_a_deadlock_is_predicted_from_an_execution_that_passed(native_build: Build) -> None:
    result = explored(native_build("lock_order.c"), strategy="random", seed=1, causes=0)
    (failure,) = result.failures
    assert failure.strategy == "prediction"
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed
    assert result.executions < 10


def test_what_is_locked_in_one_order_is_not_feared(native_build: Build) -> None:
    program = native_build("lock_order.c", "-DFIXED")
    result = explored(program, strategy="random", executions=40)
    assert not result.failures
    assert not result.unconfirmed
