"""All engines give the same executions: the fork server with fibers, and programs started anew."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.operation import SPAWN
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import NonPreemptive, Plan, Priorities, Segments, UniformRandom
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.search.dfs import DepthFirst
from tests.native.exploring import runtime_for, shape

Build = Callable[..., Path]


PLANS = [
    Plan(),
    Plan((), UniformRandom(1)),
    Plan((), UniformRandom(2)),
    Plan((), Priorities(3, 3, 20)),
    Plan(("0",), NonPreemptive()),
    Plan((), Segments((("0", 5), ("0.1", 3), ("0", 2)))),
]


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("lock_order.c", Engine.FORK_SERVER),
        ("if_for_while.c", Engine.FORK_SERVER),
        ("pipe_ends.c", Engine.FORK_SERVER),
        ("lock_order.c", Engine.SNAPSHOT),
        ("if_for_while.c", Engine.SNAPSHOT),
        ("c11.c", Engine.SNAPSHOT),
        ("cplusplus.cpp", Engine.SNAPSHOT),
        ("rust.rs", Engine.SNAPSHOT),
    ],
)
def test_all_engines_do_the_same(native_build: Build, name: str, engine: Engine) -> None:
    program = native_build(name, "-DFIXED")
    with (
        runtime_for(program, engine=engine.value) as served,
        runtime_for(program, engine="anew", fibers=False) as anew,
    ):
        served.execute(Plan())
        assert served.engine is engine
        for plan in PLANS:
            first, second = served.execute(plan).trace, anew.execute(plan).trace
            assert first.outcome == second.outcome
            assert shape(first) == shape(second)
        assert served.engine is engine, served.engine_note
        assert ("forks" in served.engine_note) is (engine is Engine.FORK_SERVER)
        assert anew.engine is Engine.ANEW


def count_schedules(runtime: NativeRuntime) -> dict[OutcomeKind, int]:
    strategy = DepthFirst()
    counts: dict[OutcomeKind, int] = {}
    while (plan := strategy.next_plan()) is not None:
        trace = runtime.execute(plan).trace
        assert trace.divergence is None
        strategy.observe(trace)
        counts[trace.outcome.kind] = counts.get(trace.outcome.kind, 0) + 1
    return counts


def test_exhaustive_searches_give_the_same_counts(native_build: Build) -> None:
    program = native_build("destroy_locked.c")
    counts = []
    for engine in Engine:
        with runtime_for(program, after_release=False, engine=engine.value) as runtime:
            counts.append(count_schedules(runtime))
            assert runtime.engine is engine
    assert counts[0] == counts[1] == counts[2]
    assert set(counts[0]) == {OutcomeKind.PASSED, OutcomeKind.MISUSE}


def test_a_choice_sequence_replays_the_execution(native_build: Build) -> None:
    with runtime_for(native_build("philosophers.c")) as runtime:
        for seed in range(5):
            found = runtime.execute(Plan((), UniformRandom(seed))).trace
            again = runtime.execute(Plan(tuple(found.choices)), learn=False).trace
            assert again.divergence is None
            assert again.outcome.signature() == found.outcome.signature()
            assert shape(again) == shape(found)


@pytest.mark.parametrize("fibers", [False, True])
def test_what_one_task_does_before_main_is_no_step(native_build: Build, fibers: bool) -> None:
    with runtime_for(native_build("before_main.cpp"), fibers=fibers) as runtime:
        shapes = []
        for _ in range(3):
            trace = runtime.execute(Plan()).trace
            assert trace.outcome.kind is OutcomeKind.PASSED
            assert runtime.printed.stdout == b"3\n"
            shapes.append(shape(trace))
        assert trace.engine is Engine.SNAPSHOT, runtime.engine_note
        assert shapes[0] == shapes[1] == shapes[2]


def test_a_program_that_starts_a_thread_before_main_is_started_anew(native_build: Build) -> None:
    with runtime_for(native_build("before_main.cpp", "-DSTARTS")) as runtime:
        for _ in range(3):
            assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.PASSED
            assert runtime.printed.stdout == b"4\n"
        assert runtime.engine is Engine.ANEW


@pytest.mark.parametrize("engine", ["anew", "fork-server", "snapshot"])
def test_who_has_locked_a_mutex_before_main_is_known(native_build: Build, engine: str) -> None:
    with runtime_for(native_build("before_main.cpp", "-DHELD"), engine=engine) as runtime:
        for seed in range(3):
            outcome = runtime.execute(Plan((), UniformRandom(seed))).trace.outcome
            assert outcome.kind is OutcomeKind.DEADLOCK
            (waiting,) = [each for each in outcome.blocked if each.task == "0.1"]
            assert waiting.holders == ("0",)


def test_a_plan_that_does_not_fit_diverges(native_build: Build) -> None:
    with runtime_for(native_build("lock_order.c", "-DFIXED")) as runtime:
        trace = runtime.execute(Plan(("0", "0.7"))).trace
        assert trace.divergence is not None
        assert trace.divergence.step == 1
        assert trace.divergence.expected == "0.7"
        assert trace.outcome.kind is OutcomeKind.PASSED


def test_tasks_have_their_path_as_id(native_build: Build) -> None:
    with runtime_for(native_build("philosophers.c", "-DFIXED")) as runtime:
        trace = runtime.execute(Plan()).trace
        assert list(trace.task_infos) == ["0", "0.1", "0.2", "0.3"]
        assert trace.task_infos["0.2"].target == "dine"
        started = [
            step.operation.resource for step in trace.steps() if step.operation.kind is SPAWN
        ]
        assert started == ["0.1", "0.2", "0.3"]
        labels = {resource.label for resource in trace.resources.values()}
        assert {"mutex forks", "mutex forks+0x28", "mutex forks+0x50"} <= labels


@pytest.mark.parametrize("engine", [Engine.FORK_SERVER, Engine.SNAPSHOT])
def test_the_server_may_die(native_build: Build, engine: Engine) -> None:
    with runtime_for(native_build("lock_order.c", "-DFIXED"), engine=engine.value) as runtime:
        for _ in range(2):
            runtime.execute(Plan())
        assert runtime.engine is engine
        orders = runtime.means.launcher.orders
        assert orders.server is not None
        orders.server._socket.shutdown(2)
        assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.engine is not engine


def test_a_hang_is_ended(native_build: Build) -> None:
    program = native_build("spins_unseen.c", "-DNEVER")
    with runtime_for(program, hang_seconds=1.0) as runtime:
        for _ in range(2):
            assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.HANG


def test_children_of_a_forked_program_are_none_of_its_servers(native_build: Build) -> None:
    program = native_build("own_environment.c", "-rdynamic")
    with runtime_for(program, engine="fork-server") as runtime:
        for _ in range(3):
            assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.engine is Engine.FORK_SERVER


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended, and that nobody has waited for, does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


@pytest.mark.parametrize("engine", [Engine.FORK_SERVER, Engine.ANEW])
def test_what_an_execution_leaves_running_ends_with_it(
    native_build: Build, engine: Engine, tmp_path: Path
) -> None:
    written = tmp_path / "pids"
    pids: list[int] = []
    try:
        with runtime_for(
            native_build("leaves_a_child.c"), [str(written)], engine=engine.value
        ) as runtime:
            for _ in range(4):
                assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.CRASH
                pids = [int(line) for line in written.read_text().split()]
                # Who is killed may take a while to be gone, on a busy machine.
                left = 200
                while left and any(map(lives, pids)):
                    time.sleep(0.05)
                    left -= 1
                assert not any(map(lives, pids))
            assert runtime.engine is engine, runtime.engine_note
        assert len(pids) >= 4
    finally:
        for pid in pids:
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
