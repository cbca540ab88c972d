"""Small programs that must fail, and their corrected twins that must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import runtime_of
from tests.native.exploring import explored, runtime_for

Build = Callable[..., Path]

BROKEN = {
    "lock_order.c": OutcomeKind.DEADLOCK,
    "lost_signal.c": OutcomeKind.DEADLOCK,
    "if_for_while.c": OutcomeKind.ASSERTION,
    "philosophers.c": OutcomeKind.DEADLOCK,
    "lost_update.c": OutcomeKind.ASSERTION,
    "store_after_unlock.c": OutcomeKind.DEADLOCK,
    "buffer.c": OutcomeKind.DEADLOCK,
    "early_exit.c": OutcomeKind.EXCEPTION,
    "foreign_unlock.c": OutcomeKind.MISUSE,
    "destroy_locked.c": OutcomeKind.MISUSE,
    "left_locked.c": OutcomeKind.MISUSE,
    "upgrade.c": OutcomeKind.DEADLOCK,
    "use_after_free.c": OutcomeKind.CRASH,
    "aborts.c": OutcomeKind.CRASH,
    "early_timeout.c": OutcomeKind.ASSERTION,
    "spins.c": OutcomeKind.LIVELOCK,
    "pipe_ends.c": OutcomeKind.DEADLOCK,
    "shared_mutexes.c": OutcomeKind.DEADLOCK,
    "fork_with_lock.c": OutcomeKind.DEADLOCK,
    "dies_on_purpose.c": OutcomeKind.DEADLOCK,
    "not_reentrant.c": OutcomeKind.MISUSE,
    "static_buffer.c": OutcomeKind.ASSERTION,
    "talk.c": OutcomeKind.DEADLOCK,
    "dies_with_a_mutex.c": OutcomeKind.DEADLOCK,
    "closed_while_used.c": OutcomeKind.DEADLOCK,
    "barrier_of_processes.c": OutcomeKind.DEADLOCK,
    "spin_lock_of_processes.c": OutcomeKind.ASSERTION,
    "not_for_processes.c": OutcomeKind.DEADLOCK,
}
"""For each program the outcome of its failure; with ``-DFIXED`` it has none."""

STEPS = {"spins.c": 2_000}
"""The limit for those that reach it; all of their steps are looked at."""

CORRECT = (
    "pthreads.c",
    "c11.c",
    "semaphores.c",
    "processes.c",
    "killed_children.c",
    "own_malloc.c",
    "cplusplus.cpp",
    "rust.rs",
    "small_writes.c",
    "atfork.c",
    "exec_lists.c",
    "closed_while_blocked.c",
    "daemon.c",
)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_fails(native_build: Build, name: str) -> None:
    result = explored(native_build(name), max_steps=STEPS.get(name, 20_000))
    assert [failure.outcome.kind for failure in result.failures] == [BROKEN[name]], result.verdict
    failure = result.failures[0]
    assert failure.confirmed >= 1
    assert failure.trace.divergence is None


@pytest.mark.parametrize("name", BROKEN)
def test_its_corrected_twin_does_not(native_build: Build, name: str) -> None:
    result = explored(native_build(name, "-DFIXED"), executions=60)
    assert not result.failures, result.failures[0].outcome
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict
    assert not result.diverged, result.verdict


@pytest.mark.parametrize("way", ["kill", "exec"])
def test_a_robust_mutex_outlives_its_process(native_build: Build, way: str) -> None:
    result = explored(native_build("dies_with_a_mutex.c", "-DFIXED"), way, executions=60)
    assert not result.failures, result.failures[0].outcome


def test_handlers_of_forks_may_be_older_than_the_shim(native_build: Build) -> None:
    result = explored(native_build("atfork.c", "-DEARLY"), executions=60)
    assert not result.failures, result.failures[0].outcome
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict


def test_a_mutex_left_locked_is_told_with_where_it_was_taken(native_build: Build) -> None:
    (failure,) = explored(native_build("left_locked.c"), executions=1).failures
    assert failure.outcome.message.endswith("(mutex mutex, taken at left_locked.c:10)")
    # Not where the C library ends threads.
    assert not failure.outcome.stack


def test_a_task_that_polls_hides_no_deadlock(native_build: Build) -> None:
    result = explored(native_build("talk.c", "-DPOLLS"), timeouts="late", executions=5)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]


def test_what_one_task_alone_can_see_is_no_scheduling_point(native_build: Build) -> None:
    steps = {}
    for flags in ((), ("-DSHARED",)):
        with runtime_for(native_build("own_locks.c", *flags)) as runtime:
            steps[flags] = len(runtime.execute(Plan()).trace)
    # Those of its own lock, its unlock and what follows that.
    assert steps[("-DSHARED",)] - steps[()] >= 50 * 3


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_address_sanitizer_works(
    native_build: Build, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("-fsanitize=address", f"--compiler={compiler}")
    program = native_build("use_after_free.c", *flags)
    with monkeypatch.context() as patched:
        # That of clang starts another program for names, which takes seconds each time.
        patched.setenv("ASAN_OPTIONS", "symbolize=0")
        result = explored(program, strategy="random", executions=200, minimise=False)
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.EXCEPTION
    assert "exit code 1 instead of 0" in failure.outcome.message
    assert "AddressSanitizer: " in failure.outcome.message
    with runtime_of(Command((str(program),), exit_code=0), ExploreOptions()) as runtime:
        with_names = runtime.execute(failure.plan, learn=False).trace
    assert with_names.divergence is None
    assert with_names.outcome.kind is OutcomeKind.EXCEPTION
    assert "AddressSanitizer: " in with_names.outcome.message
    assert "in worker" in with_names.outcome.message
    fixed = explored(native_build("use_after_free.c", "-DFIXED", *flags), executions=20)
    assert not fixed.failures, fixed.failures[0].outcome
    # Not those of a loop that waits for the thread that looks for leaks.
    assert fixed.points < 2_000


@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_openmp_is_under_control(native_build: Build, strategy: str) -> None:
    result = explored(native_build("openmp.c", "-fopenmp"), strategy=strategy, executions=30)
    assert not result.failures, result.failures[0].outcome
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict


def test_waiting_in_openmp_takes_no_nudge(native_build: Build) -> None:
    with runtime_for(native_build("openmp.c", "-fopenmp")) as runtime:
        for seed in range(10):
            assert not runtime.execute(Plan((), UniformRandom(seed))).nudged


def test_a_race_in_openmp_fails(native_build: Build) -> None:
    result = explored(native_build("openmp.c", "-fopenmp", "-DRACY"), executions=300)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.EXCEPTION]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [(), ("-fsanitize=thread",)])
def test_what_openmp_does_unseen_is_told(
    native_build: Build, compiler: str, flags: tuple[str, ...]
) -> None:
    """An update in two critical sections, of which no call tells; and order by the runtime."""
    shared = ("-shared-libsan",) if flags and compiler == "clang" else ()
    try:
        program = native_build(
            "critical_sections.c", "-fopenmp", f"--compiler={compiler}", *flags, *shared
        )
    except AssertionError as error:
        pytest.skip(f"needs the libraries of {compiler}: {error}")
    result = explored(program, executions=400)
    if flags:
        assert result.failures
        assert any("data races may be none" in what for what in result.verdict.caveats)
    else:
        assert result.verdict.kind is not VerdictKind.HOLDS, result.verdict
        assert any("locks of OpenMP" in what for what in result.verdict.caveats)


@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_a_correct_program_passes(native_build: Build, name: str, strategy: str) -> None:
    result = explored(native_build(name), strategy=strategy, executions=30)
    assert not result.failures, result.failures[0].outcome
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict
    assert not result.diverged, result.verdict
    # Locks that no call tells of are a caveat, where there are any.
    told = any("futexes" in caveat for caveat in result.verdict.caveats)
    assert told is (name in ("rust.rs", "cplusplus.cpp")), result.verdict


def test_a_loop_that_nobody_sees_is_made_to_yield(native_build: Build) -> None:
    result = explored(native_build("spins_unseen.c"), strategy="random", executions=4)
    assert not result.failures, result.failures[0].outcome
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict
