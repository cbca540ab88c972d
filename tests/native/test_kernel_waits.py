"""Waits that the kernel ends: by timers, signals and what other processes do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from tests.native.exploring import explored, runtime_for

Build = Callable[..., Path]


@pytest.mark.parametrize(
    "wait",
    [
        "pause",
        "pause-beside-a-child",
        "timer-descriptor",
        "epoll",
        "timer",
        "own-pipe",
        "own-pipe-for-children",
        "other-mask",
        "interrupted-calls",
        "signal-descriptor",
        "kill",
        "thread-exit",
    ],
)
def test_a_wait_ends_as_it_does_natively(wait: str, native_build: Build) -> None:
    with runtime_for(native_build("kernel_timers.c"), [wait]) as runtime:
        for seed in range(6):
            plan = Plan(policy=UniformRandom(seed)) if seed else Plan()
            outcome = runtime.execute(plan).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, (seed, outcome)


def test_a_question_that_a_signal_interrupts_is_answered(native_build: Build) -> None:
    with runtime_for(native_build("slow_answers.c")) as runtime:
        for seed in range(3):
            outcome = runtime.execute(Plan(policy=UniformRandom(seed))).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, (seed, outcome)


@pytest.mark.parametrize("what", ["flock", "fcntl", "queue", "semaphore"])
def test_locks_of_files_and_system_v_are_waited_for(
    what: str, native_build: Build, tmp_path: Path
) -> None:
    arguments = [what, str(tmp_path / "lock")]
    with runtime_for(native_build("file_locks.c"), arguments) as runtime:
        for seed in range(5):
            plan = Plan(policy=UniformRandom(seed)) if seed else Plan()
            executed = runtime.execute(plan)
            assert executed.trace.outcome.kind is OutcomeKind.PASSED, (seed, executed.trace.outcome)
            assert not executed.nudged


def test_locks_of_files_can_deadlock(native_build: Build, tmp_path: Path) -> None:
    result = explored(native_build("file_locks.c"), "crosswise", str(tmp_path / "lock"))
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed
