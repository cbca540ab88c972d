"""The rules of scheduling of native programs, by schedules that are written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from itertools import groupby
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.conditions import ORDINARY, Conditions
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import NonPreemptive, Plan, Priorities, Segments, UniformRandom
from bohrbug.model.trace import Trace
from tests.native.exploring import explored, runtime_for

Build = Callable[..., Path]

TIME_SLICE = 2_000
"""As in going_on.h."""


LATE = Conditions(late_timeouts=True)


def executed(
    build: Build, which: str, *plans: Plan, conditions: Conditions = ORDINARY
) -> list[Trace]:
    """What executions of a program of scheduling.c did."""
    with runtime_for(build("scheduling.c", f"-D{which}")) as runtime:
        traces = [runtime.execute(plan.under(conditions)).trace for plan in plans]
    assert {trace.outcome.kind for trace in traces} == {OutcomeKind.PASSED}
    return traces


def stretches(trace: Trace) -> list[tuple[str, int]]:
    return [(task, len(list(steps))) for task, steps in groupby(trace.tasks)]


def test_without_preemptions_it_goes_round_robin(native_build: Build) -> None:
    [trace] = executed(native_build, "ALIKE", Plan())
    assert [task for task, _ in stretches(trace)] == ["0", "0.1", "0.2", "0.3", "0"]
    # From the second, which is the running one, to the third, and not back to the first.
    [trace] = executed(native_build, "ALIKE", Plan(("0", "0", "0", "0", "0", "0", "0.2")))
    assert [task for task, _ in stretches(trace)] == ["0", "0.2", "0.3", "0.1", "0"]
    assert trace.divergence is None


def test_a_trace_of_a_native_program_has_all_that_traces_have(native_build: Build) -> None:
    for column in fields(Trace):
        # Each is read when somebody asks for it.
        [trace] = executed(native_build, "ALIKE", Plan())
        assert hasattr(trace, column.name), column.name


def test_a_plan_that_can_not_be_followed_is_given_up(native_build: Build) -> None:
    [trace] = executed(native_build, "ALIKE", Plan(("0", "0", "0", "0.9", "0.2")))
    assert trace.divergence is not None
    assert (trace.divergence.step, trace.divergence.expected) == (3, "0.9")
    assert [task for task, _ in stretches(trace)] == ["0", "0.1", "0.2", "0.3", "0"]


def test_who_yields_is_held_back_until_the_others_have_run(native_build: Build) -> None:
    steps = (("0", 6), ("0.2", 1), ("0.3", 1), ("0.1", 2), ("0.2", 3), ("0.3", 1), ("0.1", 500))
    [trace] = executed(native_build, "YIELDS", Plan((), Segments(steps)))
    assert list(zip(trace.tasks, trace.enabled, trace.yielded, strict=True))[8:15] == [
        ("0.1", ("0.1", "0.2", "0.3"), False),
        # Its first yield: all have run since the beginning.
        ("0.1", ("0.1", "0.2", "0.3"), True),
        # At its second one the others have not run since the first.
        ("0.2", ("0.2", "0.3"), True),
        # When one of them has, it still waits for the other.
        ("0.2", ("0.2", "0.3"), False),
        ("0.2", ("0.2", "0.3"), False),
        ("0.3", ("0.2", "0.3"), False),
        ("0.1", ("0.1", "0.2", "0.3"), False),
    ]


def test_without_preemptions_a_yield_passes_control(native_build: Build) -> None:
    [trace] = executed(native_build, "YIELDS", Plan())
    assert [task for task, _ in stretches(trace)][:3] == ["0", "0.1", "0.2"]
    assert trace.preemptions() == []
    # Also where fairness holds nobody back.
    plan = Plan(("0",) * 6 + ("0.2", "0.3", "0.1"))
    [trace] = executed(native_build, "YIELDS", plan)
    assert trace.yielded[9]
    assert trace.enabled[9] == ("0.1", "0.2", "0.3")
    assert trace.tasks[9] == "0.2"


def test_who_has_had_a_time_slice_yields(native_build: Build) -> None:
    [trace] = executed(native_build, "SLICE", Plan())
    assert stretches(trace)[:3] == [("0", 4), ("0.1", TIME_SLICE), ("0.2", 2)]
    assert trace.yielded.index(True) == TIME_SLICE + 4


def test_an_execution_has_no_more_steps_than_its_limit(native_build: Build) -> None:
    with runtime_for(native_build("scheduling.c", "-DSLICE"), max_steps=500) as runtime:
        for policy in (NonPreemptive(), UniformRandom(1)):
            trace = runtime.execute(Plan((), policy)).trace
            assert trace.outcome.kind in (OutcomeKind.LIVELOCK, OutcomeKind.STEP_LIMIT)
            assert len(trace) == 500


def test_where_nothing_is_enabled_the_earliest_timeout_fires(native_build: Build) -> None:
    [trace] = executed(native_build, "SLEEPS", Plan())
    fired = [step for step, task in enumerate(trace.tasks) if task in trace.timed[step]]
    assert [trace.tasks[step] for step in fired] == ["0.2", "0.1"]
    assert [trace.timed[step] for step in fired] == [("0.1", "0.2"), ("0.1",)]
    assert trace.early_timeouts == fired
    assert trace.virtual_time == pytest.approx(2.0, abs=0.001)


def test_late_timeouts_are_no_choice(native_build: Build) -> None:
    plans = [Plan((), UniformRandom(seed)) for seed in range(8)]
    for trace in executed(native_build, "SLEEPS", *plans, conditions=LATE):
        fired = [timed for timed in trace.timed if timed]
        assert not any(t for e, t in zip(trace.enabled, trace.timed, strict=True) if e)
        assert all(len(timed) == 1 for timed in fired)


def changes_of_control(trace: Trace) -> int:
    """How often one of the threads is preempted by another of them."""
    return sum(
        trace.tasks[step - 1] != "0" != trace.tasks[step] for step in trace.preemptions() if step
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_pct_changes_as_often_as_its_depth_says(native_build: Build, depth: int) -> None:
    plans = [Plan((), Priorities(seed, depth, 30)) for seed in range(60)]
    changes = [changes_of_control(trace) for trace in executed(native_build, "ALIKE", *plans)]
    # A change may also fall on a step of the root, or on one before which nobody else is there.
    assert max(changes) == depth - 1


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_who_counts_its_rounds_may_come_to_an_end(native_build: Build, flag: str) -> None:
    result = explored(native_build("in_turn.c", flag), executions=1)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "after 20,000 steps, and it still comes further" in result.verdict.reason


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_who_goes_round_as_before_never_will(native_build: Build, flag: str) -> None:
    result = explored(native_build("in_turn.c", flag, "-DFOREVER"), executions=1)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.LIVELOCK]
