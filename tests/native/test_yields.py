"""A native program may yield although it makes progress: what fairness leaves out is not silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import LONG_RUNS, REPEATED_YIELDS, TAKING, OutcomeKind
from bohrbug.model.plan import Plan, Segments
from bohrbug.model.trace import Trace
from tests.native.exploring import runtime_for

Build = Callable[..., Path]

WAYS = {
    "sched_yield": "sched_yield()",
    "by number": "syscall(SYS_sched_yield)",
    "usleep": "usleep(1000)",
    "thrd_sleep": "thrd_sleep(&(struct timespec){0,1000},NULL)",
}

of_each_way = pytest.mark.parametrize(
    ("way", "level"), [("sched_yield", "-O0"), *((way, "-O2") for way in WAYS)]
)

UNHEEDED = 7
"""Yields that hold nobody back, as UNHEEDED_YIELDS in fairness.c."""

STEPS = (("0", 5), ("0.1", 1), ("0.2", 500), ("0.1", 500))
"""Both have begun; from then on who looks goes on as long as it may."""


def executed(
    build: Build, way: str, rounds: int | None, level: str, steps: tuple[tuple[str, int], ...]
) -> Trace:
    flags = [f"-DGIVE_WAY={WAYS[way]}", level]
    if rounds is not None:
        flags.append(f"-DROUNDS={rounds}")
    with runtime_for(build("yields.c", *flags)) as runtime:
        return runtime.execute(Plan((), Segments(steps))).trace


def assumed(trace: Trace) -> list[str]:
    return [
        what.removeprefix(TAKING) for what in trace.uncontrolled.counts if what.startswith(TAKING)
    ]


def rounds_before_the_other(trace: Trace) -> int:
    """How often the task that looks had yielded when the other one came to its second step."""
    at = [step for step, task in enumerate(trace.tasks) if task == "0.1"][1]
    return sum(trace.yielded[: at + 1])


@of_each_way
def test_who_counts_its_tries_may_go_on_a_few_times(
    native_build: Build, way: str, level: str
) -> None:
    trace = executed(native_build, way, UNHEEDED, level, STEPS)
    assert trace.outcome.kind is OutcomeKind.CRASH
    assert not assumed(trace)


@of_each_way
def test_who_is_held_back_then_is_a_condition(native_build: Build, way: str, level: str) -> None:
    trace = executed(native_build, way, UNHEEDED + 2, level, STEPS)
    assert rounds_before_the_other(trace) == UNHEEDED + 1
    assert assumed(trace) == [REPEATED_YIELDS]


@of_each_way
def test_a_loop_that_only_waits_is_no_condition(native_build: Build, way: str, level: str) -> None:
    trace = executed(native_build, way, None, level, STEPS)
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert rounds_before_the_other(trace) == 2
    assert not assumed(trace)


LOOKS = ("-DONLY_LOOKS", "-DGIVE_WAY=(void)0", "-O1")
MADE_TO_YIELD = 50
"""Looks in vain, as twice FRUITLESS in going_on.h."""


def looked(build: Build, *flags: str) -> Trace:
    with runtime_for(build("yields.c", *LOOKS, *flags)) as runtime:
        return runtime.execute(Plan((), Segments(STEPS))).trace


def test_who_counts_its_looks_may_go_on_a_few_times(native_build: Build) -> None:
    trace = looked(native_build, f"-DROUNDS={(UNHEEDED + 1) * MADE_TO_YIELD - 1}")
    assert trace.outcome.kind is OutcomeKind.CRASH
    assert trace.yielded.count(True) == UNHEEDED
    assert not assumed(trace)


def test_who_looks_is_held_back_then(native_build: Build) -> None:
    trace = looked(native_build, f"-DROUNDS={(UNHEEDED + 2) * MADE_TO_YIELD}")
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert trace.yielded.count(True) == UNHEEDED + 1
    assert assumed(trace) == [REPEATED_YIELDS]


def test_a_loop_that_only_looks_is_no_condition(native_build: Build) -> None:
    trace = looked(native_build)
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert trace.yielded.index(True) > MADE_TO_YIELD
    assert trace.yielded.count(True) == 2
    assert not assumed(trace)


@pytest.mark.parametrize("slices", [1, 2], ids=["first", "second"])
def test_who_runs_long_is_held_back_which_is_a_condition(native_build: Build, slices: int) -> None:
    # Where the other has run meanwhile, only the second time slice holds the task back.
    others = () if slices == 1 else (("0.2", 1),)
    steps = (("0", 5), *others, ("0.1", 10_000))
    with runtime_for(native_build("scheduling.c", "-DSLICE", "-DTIMES=3000")) as runtime:
        trace = runtime.execute(Plan((), Segments(steps))).trace
    assert trace.yielded.count(True) == slices
    assert assumed(trace) == [LONG_RUNS]
