"""Calls that fail because a data choice says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.operation import CHOOSE, fault_id
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, Segments, UniformRandom
from bohrbug.platforms.posix.outcomes import Expectation, NativeExplainer
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.runtime.posix.settings import NativeSettings
from tests.native.exploring import explored
from tests.native.test_command_line import bohrbug

Build = Callable[..., Path]

KINDS = {
    "connect": OutcomeKind.ASSERTION,
    "fork": OutcomeKind.EXCEPTION,
    "malloc": OutcomeKind.CRASH,
    "send": OutcomeKind.MISUSE,
}
"""For each call the outcome of error_paths.c where it fails."""


def runtime_for(program: Path, call: str, most_faults: int = 1) -> NativeRuntime:
    settings = NativeSettings(max_steps=1_000, faults=(call,), most_faults=most_faults)
    return NativeRuntime([str(program), call], settings, NativeExplainer(Expectation(0)))


@pytest.mark.parametrize("call", KINDS)
def test_a_program_that_does_not_expect_a_fault_fails(native_build: Build, call: str) -> None:
    result = explored(native_build("error_paths.c"), call, faults=(call,), executions=100)
    (failure,) = result.failures
    assert failure.outcome.kind is KINDS[call]
    assert failure.confirmed == 3
    (step,) = failure.trace.faults()
    assert failure.trace.operations[step].resource == fault_id(call)
    # No schedule is needed, only the fault.
    assert not failure.trace.preemptions()


@pytest.mark.parametrize("call", KINDS)
def test_its_corrected_twin_does_not(native_build: Build, call: str) -> None:
    program = native_build("error_paths.c", "-DFIXED")
    result = explored(program, call, faults=(call,), executions=40)
    assert not result.failures, result.failures[0].outcome
    assert str(result.verdict.conditions).endswith(f"at most 1 failing of {call}")


def test_without_the_option_nothing_fails(native_build: Build) -> None:
    result = explored(native_build("error_paths.c"), "fork", executions=20)
    assert not result.failures


@pytest.mark.parametrize("strategy", ["dfs", "ipb", "dpor", "pct", "surw", "random"])
def test_every_strategy_finds_it(native_build: Build, strategy: str) -> None:
    result = explored(
        native_build("error_paths.c"),
        "send",
        faults=("send",),
        strategy=strategy,
        executions=100,
        minimise=False,
        causes=0,
    )
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.MISUSE]


def test_a_fault_is_a_choice_that_a_plan_can_make(native_build: Build) -> None:
    with runtime_for(native_build("error_paths.c"), "fork") as runtime:
        passed = runtime.execute(Plan()).trace
        ((step, arity),) = passed.arities.items()
        assert arity == 2
        assert passed.operations[step].kind is CHOOSE
        assert passed.choices[step] == 0
        assert passed.tasks[step] == "0"
        assert passed.outcome.kind is OutcomeKind.PASSED
        failed = runtime.execute(Plan((*passed.choices[:step], 1))).trace
        assert failed.divergence is None
        assert failed.faults() == [step]
        assert failed.outcome.kind is OutcomeKind.EXCEPTION
        by_value = runtime.execute(Plan((), Segments((), (("0", (1,)),)))).trace
        assert by_value.choices == failed.choices
        # A value where a task is due, and the other way round.
        for prefix in ((1,), (*passed.choices[:step], "0")):
            divergence = runtime.execute(Plan(prefix)).trace.divergence
            assert divergence is not None
            assert divergence.step == len(prefix) - 1


def test_as_many_calls_fail_as_are_allowed(native_build: Build) -> None:
    program = native_build("error_paths.c", "-DFIXED")
    for most in (1, 2):
        with runtime_for(program, "send", most) as runtime:
            runtime.execute(Plan())
            faults = {
                len(runtime.execute(Plan((), UniformRandom(seed))).trace.faults())
                for seed in range(30)
            }
        assert faults == set(range(most + 1))


def test_the_report_tells_the_fault_and_a_replay_makes_it_again(
    native_build: Build, tmp_path: Path
) -> None:
    command = (str(native_build("error_paths.c")), "send")
    result = bohrbug(tmp_path, "run", "-q", "--fault", "connect,send", "--", *command)
    assert result.returncode == 1, result.stdout + result.stderr
    words = " ".join(result.stdout.split())
    assert "It needs a fault: send fails with ECONNRESET in task 0." in words
    (file,) = (tmp_path / ".bohrbug").glob("*.json")
    replayed = bohrbug(tmp_path, "replay", str(file))
    assert replayed.returncode == 1
    assert "send fails with ECONNRESET" in replayed.stdout


def test_a_fault_can_be_chosen_by_hand(native_build: Build, tmp_path: Path) -> None:
    command = (str(native_build("error_paths.c")), "fork")
    result = bohrbug(tmp_path, "step", "--fault", "fork", "--", *command, stdin="1\n")
    assert "task 0 chooses whether fork fails with EAGAIN: 0 (next), 1" in result.stdout
    assert result.returncode == 1, result.stdout + result.stderr


def test_an_unknown_call_is_refused(native_build: Build, tmp_path: Path) -> None:
    program = str(native_build("error_paths.c"))
    result = bohrbug(tmp_path, "run", "--fault", "connect,frok", "--", program)
    assert result.returncode == 2
    assert "frok is not one of the calls that can fail: connect, " in result.stderr
