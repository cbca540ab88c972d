"""Waits that the kernel ends: by timers, signals and what other processes do."""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from bohrbug.exploration.result import VerdictKind
from bohrbug.model.conditions import Conditions
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.report.deadlock import alone_in_words
from bohrbug.report.naming import Names
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
        "other-mask-select",
        "other-mask-epoll",
        "kept-out",
        "kept-out-select",
        "kept-out-epoll",
        "let-in",
        "look-at-child",
        "interrupted-calls",
        "signal-descriptor",
        "kill",
        "thread-exit",
    ],
)
def test_a_wait_ends_as_it_does_natively(wait: str, native_build: Build) -> None:
    # A timer that fires early may do so before `pause`, which it does not end then.
    conditions = Conditions(late_timeouts=wait.startswith("pause"))
    with runtime_for(native_build("kernel_timers.c"), [wait]) as runtime:
        for seed in range(6):
            plan = Plan(policy=UniformRandom(seed)) if seed else Plan()
            outcome = runtime.execute(plan.under(conditions)).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, (seed, outcome)


def test_a_question_that_a_signal_interrupts_is_answered(native_build: Build) -> None:
    with runtime_for(native_build("slow_answers.c")) as runtime:
        for seed in range(3):
            outcome = runtime.execute(Plan(policy=UniformRandom(seed))).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, (seed, outcome)


@pytest.mark.parametrize("what", ["flock", "fcntl", "queue", "semaphore", "messages"])
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


@pytest.mark.parametrize("what", ["descriptor", "stream", "reopened"])
def test_a_fifo_is_opened_once_both_ends_are(
    what: str, native_build: Build, tmp_path: Path
) -> None:
    with runtime_for(native_build("fifos.c"), [what, str(tmp_path)]) as runtime:
        for seed in range(4):
            plan = Plan(policy=UniformRandom(seed)) if seed else Plan()
            executed = runtime.execute(plan)
            assert executed.trace.outcome.kind is OutcomeKind.PASSED, (seed, executed.trace.outcome)
            assert not executed.nudged


def test_fifos_can_deadlock(
    native_build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with runtime_for(native_build("fifos.c"), ["crosswise", str(tmp_path)]) as runtime:
        # Or else somebody from outside is waited for, who might open one.
        monkeypatch.setattr(runtime._learnt, "nobody_comes", True)
        trace = runtime.execute(Plan()).trace
    assert trace.outcome.kind is OutcomeKind.DEADLOCK
    waiting = {trace.resources[b.operation.resource].type for b in trace.outcome.blocked}
    assert waiting == {"pipe"}
    names = Names(trace)
    for blocked in trace.outcome.blocked:
        assert alone_in_words(blocked, names, "pipe").endswith("could open its other end.")


def test_a_process_that_was_stopped_is_named(native_build: Build) -> None:
    # Only where the build works can anything be explored.
    native_build("lock_order.c")
    with runtime_for(Path("/bin/sh"), ["-c", "kill -STOP $$"]) as runtime:
        outcome = runtime.execute(Plan()).trace.outcome
    assert outcome.kind is OutcomeKind.HANG
    assert "SIGSTOP" in outcome.message


def test_children_that_can_not_be_controlled_are_waited_for(native_build: Build) -> None:
    program = native_build("lock_order.c", "-DFIXED", "-static")
    with runtime_for(
        Path("/bin/sh"), ["-c", f"{program}; {program} | cat & wait; exit 5"], exit_code=5
    ) as runtime:
        for plan in (Plan(), Plan(policy=UniformRandom(1))):
            trace = runtime.execute(plan).trace
            assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome
            assert any("linked statically" in what for what in trace.uncontrolled.counts)


def test_a_program_that_has_given_up_its_rights_takes_part(native_build: Build) -> None:
    if os.getuid() != 0:
        pytest.skip("needs rights that can be given up")
    with runtime_for(native_build("gives_up_rights.c")) as runtime:
        for plan in (Plan(), Plan(policy=UniformRandom(1))):
            trace = runtime.execute(plan).trace
            assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome


@contextmanager
def locked_by_us(path: Path) -> Iterator[TextIO]:
    """A file with a lock that this process has."""
    with path.open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield file


def test_a_lock_is_waited_for_that_somebody_outside_lets_go(
    native_build: Build, tmp_path: Path
) -> None:
    path = tmp_path / "lock"
    with (
        runtime_for(native_build("file_locks.c"), ["fcntl", str(path)]) as runtime,
        locked_by_us(path) as file,
    ):
        timer = threading.Timer(0.5, fcntl.lockf, (file, fcntl.LOCK_UN))
        timer.start()
        outcome = runtime.execute(Plan()).trace.outcome
        timer.join()
    assert outcome.kind is OutcomeKind.PASSED


@pytest.mark.slow
def test_who_outside_holds_a_lock_is_told(native_build: Build, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        runtime_for(native_build("file_locks.c"), ["fcntl", str(path)]) as runtime,
        locked_by_us(path),
    ):
        outcome = runtime.execute(Plan()).trace.outcome
    assert outcome.kind is OutcomeKind.HANG
    assert f"process {os.getpid()} holds" in outcome.message


@pytest.mark.slow
def test_a_lock_whose_owner_outside_nobody_knows_is_no_deadlock(
    native_build: Build, tmp_path: Path
) -> None:
    path = tmp_path / "lock"
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with (
        runtime_for(native_build("file_locks.c"), ["open-file", str(path)]) as runtime,
        path.open("w") as file,
    ):
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
        outcome = runtime.execute(Plan()).trace.outcome
    assert outcome.kind is OutcomeKind.HANG
    assert "somebody holds who is not of the test" in outcome.message


@pytest.mark.slow
def test_a_fifo_that_was_there_before_may_be_opened_outside(
    native_build: Build, tmp_path: Path
) -> None:
    native_build("lock_order.c")
    os.mkfifo(tmp_path / "fifo")
    time.sleep(0.05)  # clocks of file systems have steps
    with runtime_for(Path("/bin/cat"), [str(tmp_path / "fifo")]) as runtime:
        outcome = runtime.execute(Plan()).trace.outcome
    assert outcome.kind is OutcomeKind.HANG
    assert "FIFO that was there before the test" in outcome.message


def test_locks_of_files_can_deadlock(native_build: Build, tmp_path: Path) -> None:
    result = explored(native_build("file_locks.c"), "crosswise", str(tmp_path / "lock"))
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed


@pytest.mark.parametrize("way", ["-DCHECKED", "-DEPOLL"])
def test_less_usual_waits_for_descriptors_are_scheduling_points(
    native_build: Build, way: str
) -> None:
    broken = explored(native_build("waits_for_events.c", way), hang_seconds=2.0)
    assert [each.outcome.kind for each in broken.failures] == [OutcomeKind.DEADLOCK]
    fixed = explored(native_build("waits_for_events.c", way, "-DFIXED"))
    assert fixed.verdict.kind is VerdictKind.HOLDS, fixed.verdict
    assert not fixed.failures


def test_no_handler_runs_before_it_is_its_turn(native_build: Build) -> None:
    """The signal comes as soon as another process goes on, and may end, at once."""
    with runtime_for(native_build("handler_collects.c"), hang_seconds=3.0) as runtime:
        for seed in range(60):
            outcome = runtime.execute(Plan((), UniformRandom(seed))).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, outcome.message
