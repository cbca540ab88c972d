"""One kernel thread that wears all tasks gives the executions that kernel threads give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, Policy, Priorities, UniformRandom
from bohrbug.runtime.posix.runtime import NativeRuntime
from tests.native.exploring import runtime_for, shape

Build = Callable[..., Path]

MATHEMATICS = ("-Wl,--no-as-needed", "-lm")


def plans() -> list[Plan]:
    policies: list[Policy] = [UniformRandom(seed) for seed in range(1, 13)]
    policies += [Priorities(seed, 3, 40) for seed in range(1, 9)]
    return [Plan((), policy) for policy in policies]


def assert_same(fast: NativeRuntime, slow: NativeRuntime) -> int:
    """Execute plans by both; how many of them were executed on fibers to the end."""
    count = 0
    # What the first one shows, the others are prepared for.
    for runtime in (fast, slow):
        runtime.execute(Plan())
    for plan in plans():
        trace, expected = fast.execute(plan).trace, slow.execute(plan).trace
        assert shape(trace) == shape(expected)
        assert trace.outcome.signature() == expected.outcome.signature()
        assert fast.printed == slow.printed
        count += trace.on_fibers
        assert not expected.on_fibers
    return count


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("of_own_thread.c", MATHEMATICS),
        ("semaphores.c", ()),
        ("c11.c", ()),
        ("cplusplus.cpp", ()),
        ("rust.rs", ()),
        ("relaxed.c", ("-fsanitize=thread",)),
    ],
)
def test_traces_are_the_same(native_build: Build, name: str, flags: tuple[str, ...]) -> None:
    program = native_build(name, *flags)
    with runtime_for(program) as fast, runtime_for(program, fibers=False) as slow:
        count = assert_same(fast, slow)
        assert fast.fibers.in_use, fast.fibers.forbidden_by
        # Failures are executed again, by kernel threads.
        assert count == len(plans()) or name == "relaxed.c"


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("a signal", "raise"),
        ("a process", "another process"),
        ("a name", "pthread_getname_np"),
        ("the end of main", "pthread_exit in main"),
    ],
)
def test_what_only_the_kernel_has_forbids_them(native_build: Build, what: str, why: str) -> None:
    program = native_build("of_own_thread.c", *MATHEMATICS)
    with runtime_for(program, arguments=(what,)) as runtime:
        for seed in range(3):
            trace = runtime.execute(Plan((), UniformRandom(seed))).trace
            assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome
            assert not trace.on_fibers
        assert runtime.fibers.forbidden_by == why


def test_another_schedule_may_show_it(native_build: Build) -> None:
    program = native_build("of_own_thread.c", *MATHEMATICS)
    words = ("a signal", "sometimes")
    with (
        runtime_for(program, arguments=words) as fast,
        runtime_for(program, arguments=words, fibers=False) as slow,
    ):
        fast.execute(Plan())
        assert fast.fibers.in_use
        assert assert_same(fast, slow) < len(plans())
        assert fast.fibers.forbidden_by == "raise"


def test_a_loop_that_only_the_kernel_can_break_forbids_them(native_build: Build) -> None:
    with runtime_for(native_build("spins_unseen.c")) as runtime:
        assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.fibers.forbidden_by == "a standstill"


def test_a_sanitizer_forbids_them(native_build: Build) -> None:
    program = native_build("lock_order.c", "-DFIXED", "-fsanitize=address")
    with runtime_for(program) as runtime:
        assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.fibers.forbidden_by == "a sanitizer"
