"""Descriptors that are used after they were closed, when another task may have got their number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug import VerdictKind
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import replay_native
from bohrbug.runtime.posix.recorded import Dependences
from bohrbug.runtime.posix.runtime import NUMBERS
from tests.native.exploring import explored, runtime_for

Build = Callable[..., Path]

pytestmark = pytest.mark.fast

MODES = ("twice", "after", "socket", "between")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", ["auto", "dfs", "dpor", "ipb"])
def test_what_meets_the_descriptor_of_another_task_is_found(
    native_build: Build, mode: str, strategy: str
) -> None:
    program = native_build("descriptor_numbers.c")
    result = explored(program, mode, strategy=strategy, bound=None, causes=0, executions=20_000)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.EXCEPTION]


def test_a_file_says_that_numbers_matter(native_build: Build) -> None:
    program = native_build("descriptor_numbers.c")
    failure = explored(program, "twice", causes=0).failures[0]
    assert NUMBERS in failure.points
    command = Command((str(program), "twice"), exit_code=0)
    points = [list(point) for point in failure.points]
    reproduction = Reproduction(command.target(), "twice", ExploreOptions(), points, failure)
    replayed, _ = replay_native(reproduction, times=3)
    assert replayed.reproduced == 3
    # Before any execution has shown it.
    with runtime_for(program, ["twice"]) as runtime:
        runtime.want_points(points)
        executed = runtime.execute(failure.plan, learn=False)
    assert executed.trace.outcome.kind is OutcomeKind.EXCEPTION
    assert executed.trace.divergence is None


def test_numbers_do_not_matter_to_who_uses_its_own_descriptors(native_build: Build) -> None:
    program = native_build("descriptor_numbers.c")
    result = explored(program, "once", strategy="dfs", executions=20_000)
    assert result.verdict.kind is VerdictKind.HOLDS
    with runtime_for(program, ["once"]) as runtime:
        trace = runtime.execute(Plan()).trace
        assert runtime.point_keys() == ()
    assert not any("numbers" in step.operation.resource for step in trace.steps())


def test_dependences_are_added_up() -> None:
    some, others = Dependences(kernel=True), Dependences(kernel=True, numbers=True)
    assert some | others == others
    assert others | some is others
