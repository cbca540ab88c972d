"""Deadlocks of some tasks beside others that go on, and what is expected of a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.model.outcome import OutcomeKind
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from bohrbug.report.deadlock import cycle_in_words
from bohrbug.report.naming import Names
from bohrbug.report.text import failure_text
from tests.native.exploring import explored
from tests.native.test_command_line import bohrbug

Build = Callable[..., Path]


@pytest.mark.parametrize("fibers", [True, False], ids=["fibers", "threads"])
@pytest.mark.parametrize("meanwhile", ["ends", "polls", "spins"])
@pytest.mark.parametrize("what", ["locks", "join", "readers"])
def test_a_circle_is_a_deadlock_whatever_others_do(
    native_build: Build, what: str, meanwhile: str, fibers: bool
) -> None:
    command = Command((str(native_build("circles.c")), what, meanwhile), exit_code=0, fibers=fibers)
    options = ExploreOptions(strategy="random", executions=300, minimise=False, causes=0)
    [failure] = native_explorer(command, options)[0].explore().failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert len(failure.outcome.cycle) == 2


def test_who_waits_for_itself_is_in_a_deadlock(native_build: Build) -> None:
    [failure] = explored(native_build("circles.c"), "itself", "ends", causes=0).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK


def test_a_reader_waits_behind_the_writer_that_is_let_in_first(native_build: Build) -> None:
    [failure] = explored(native_build("circles.c"), "behind", "ends", causes=0).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert len(failure.outcome.cycle) == 2
    text = cycle_in_words(failure.outcome, Names(failure.trace))
    assert text.startswith("Task 0.1 (reads_twice) holds reader-writer lock ")
    assert ", behind task 0.2 (writes), which waits for reader-writer lock " in text
    assert text.endswith(", held by task 0.1.")
    drawn = failure_text(failure, color=False)
    assert "behind task 0.2, which comes first" in drawn
    assert "held by task 0.2" not in drawn


def explored_freely(program: Path, *arguments: str, **expected: object) -> Result:
    """An exploration in which nobody says what the program should exit with."""
    command = Command((str(program), *arguments), **expected)  # type: ignore[arg-type]
    options = ExploreOptions(strategy="dfs", executions=2_000, keep_going=True, causes=0)
    return native_explorer(command, options)[0].explore()


def test_zero_is_right_even_if_the_first_execution_fails(native_build: Build) -> None:
    result = explored_freely(native_build("first_fails.c"), "code")
    [failure] = result.failures
    assert failure.outcome.message == "exit code 3 instead of 0"


def test_another_code_is_right_if_it_is_always_the_same(native_build: Build) -> None:
    result = explored_freely(native_build("first_fails.c"), "always")
    assert not result.failures


def test_what_is_printed_by_an_execution_that_fails_is_not_expected(
    native_build: Build, tmp_path: Path
) -> None:
    kept = tmp_path / "order"
    check = ("/bin/sh", "-c", f"test $(cat {kept}) = 21")
    result = explored_freely(
        native_build("first_fails.c"), str(kept), check=check, same_output=True
    )
    # Each execution that fails the check prints something else, too: that comes first.
    messages = {failure.outcome.message for failure in result.failures}
    assert all("check exits with 1" in each or "output differs" in each for each in messages)
    assert result.failures


def test_a_replay_knows_that_zero_is_right(native_build: Build, tmp_path: Path) -> None:
    program = native_build("first_fails.c")
    found = bohrbug(tmp_path, "run", "--strategy", "dfs", "--", str(program), "code")
    assert found.returncode == 1
    [file] = (tmp_path / ".bohrbug").glob("*.json")
    assert bohrbug(tmp_path, "replay", str(file)).returncode == 1
