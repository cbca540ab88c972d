"""Stepping through native programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.stepping.session import Session
from bohrbug.model.conditions import Conditions
from bohrbug.model.decision import Decision, Readiness
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Ask, Plan
from bohrbug.model.trace import Trace
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.stepping import stepped_program

from .test_command_line import bohrbug

Build = Callable[..., Path]


@contextmanager
def session_of(*words: str) -> Iterator[Session]:
    with stepped_program(Command(words), ExploreOptions()) as test:
        yield Session(test)


def decision(session: Session) -> Decision:
    found = session.stop.decision
    assert found is not None
    return found


def test_a_decision_tells_where_every_task_stands(native_build: Build) -> None:
    with session_of(str(native_build("lock_order.c"))) as session:
        session.go_on(2)
        for task in ("0.1", "0.1", "0.2"):
            session.choose(task)
        found = decision(session)
        assert found.options == ("0", "0.1", "0.2")
        assert found.running == found.default == "0.2"
        first = found.standing("0.1")
        assert first is not None
        assert first.operation is not None
        assert first.operation.kind.name == "acquire"
        assert [frame.site.function for frame in first.stack][-1] == "forwards"
        assert len(first.holding) == 1
        assert first.holding[0].acquired is not None
        session.choose("0.2")
        assert session.stop.trace.outcome.kind is OutcomeKind.DEADLOCK
        session.undo()
        assert decision(session) == found


def test_blocked_tasks_name_who_holds_what_they_wait_for(native_build: Build) -> None:
    with session_of(str(native_build("philosophers.c", "-DFIXED"))) as session:
        random = Random(3)
        seen = set()
        for _ in range(6):
            session.start_again()
            while not session.is_over:
                found = decision(session)
                for standing in found.standings:
                    seen.add(standing.readiness)
                    operation = standing.operation
                    if standing.readiness is Readiness.BLOCKED and operation is not None:
                        for holder in standing.holders:
                            holding = found.standing(holder)
                            assert holding is not None
                            held = {each.resource for each in holding.holding}
                            assert operation.resource in held | {holder}
                choice = random.choice(found.options)
                foretold = found.is_preemption(choice)
                session.choose(choice)
                assert (found.step in session.stop.trace.preemptions()) == foretold
            assert session.stop.trace.outcome.kind is OutcomeKind.PASSED
        assert {Readiness.ENABLED, Readiness.BLOCKED} <= seen


def test_decisions_are_passed_as_if_they_were_made_one_by_one(native_build: Build) -> None:
    with session_of(str(native_build("if_for_while.c", "-DFIXED"))) as session:
        session.go_on(4)
        at_once = session.choices
        session.start_again()
        for _ in range(4):
            session.go_on()
        assert session.choices == at_once


def test_processes_are_tasks_like_others() -> None:
    with session_of("sh", "-c", "(echo child) & echo parent; wait") as session:
        while not session.is_over and "0.1" not in decision(session).options:
            session.go_on()
        session.choose("0.1")
        session.to_end()
        assert session.stop.trace.outcome.kind is OutcomeKind.PASSED
        assert set(session.stop.printed.split()) == {"child", "parent"}


def test_nothing_is_asked_in_a_program_with_one_thread() -> None:
    with stepped_program(Command(("true",)), ExploreOptions()) as test:
        assert Session(test).is_over
        assert test.runtime.execute(Plan((), Ask())).trace.outcome.kind is OutcomeKind.PASSED


def test_commands_come_from_standard_input(native_build: Build, tmp_path: Path) -> None:
    program = str(native_build("lock_order.c"))
    script = "next 2\n0.1\n0.1\n0.2\nstacks 0.1\n# the deadlock\n0.2\nheld\nsave made.json\n"
    result = bohrbug(tmp_path, "step", "--", program, stdin=script)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "acquire mutex right  preempts 0.2" in result.stdout
    assert "2 tasks wait for each other" in result.stdout
    assert "task 0.1 holds mutex left, taken at lock_order.c:8; wanted by task 0.2" in result.stdout
    assert "wrote" in result.stdout
    replayed = bohrbug(tmp_path, "replay", "--trust", "--times=3", "made.json")
    assert replayed.returncode == 1
    assert "reproduced in 3 of 3 replays" in replayed.stdout
    stepped = bohrbug(tmp_path, "step", "--trust", "made.json", stdin="preemption\n")
    assert stepped.returncode == 1
    assert "following the plan" in stepped.stdout
    departed = bohrbug(
        tmp_path, "step", "--trust", "made.json", stdin="preemption\npreemption\nundo 2\n0\n"
    )
    assert departed.returncode == 0, departed.stdout


def test_the_program_reads_an_empty_standard_input(tmp_path: Path) -> None:
    result = bohrbug(tmp_path, "step", "--", "cat", stdin="# only a comment\n")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "comment" not in result.stdout


RACE = "plain_lost_update.c", "-fsanitize=thread"


def _operations(trace: Trace) -> list[str]:
    return [operation.kind.name for operation in trace.operations]


def test_accesses_that_race_are_found_before_the_first_decision(native_build: Build) -> None:
    program = str(native_build(*RACE))
    with session_of(program) as session:
        session.to_end()
        assert {"read", "write"} <= set(_operations(session.stop.trace))
    options = ExploreOptions(level="sync")
    with stepped_program(Command((program,)), options) as test:
        assert not {"read", "write"} & set(_operations(test.finish(()).trace))


def test_timeouts_are_as_late_as_they_were_for_the_file(native_build: Build) -> None:
    command = Command((str(native_build("lock_order.c")),))
    with stepped_program(command, ExploreOptions()) as test:
        trace = test.finish(()).trace
        assert not trace.plan.conditions.late_timeouts
        failure = test.as_failure(trace)
    failure.plan = Plan(conditions=Conditions(late_timeouts=True, most_stall=1.0))
    with stepped_program(command, ExploreOptions(), (), failure) as test:
        conditions = test.finish(()).trace.plan.conditions
        assert conditions.late_timeouts
        assert conditions.most_stall == 1.0


@pytest.mark.parametrize(
    ("build", "options"),
    [(RACE, ()), (("tso.c", "-fsanitize=thread", "-DDEKKER"), ("--memory=tso", "--strategy=ipb"))],
    ids=["accesses", "stores that wait"],
)
def test_the_plan_of_a_file_is_followed_under_its_conditions(
    native_build: Build, tmp_path: Path, build: tuple[str, ...], options: tuple[str, ...]
) -> None:
    program = str(native_build(*build))
    run = ("run", "--causes=0", "--minimise", *options, "--", program)
    assert bohrbug(tmp_path, *run).returncode == 1
    (file,) = (tmp_path / ".bohrbug").glob("*.json")
    stepped = bohrbug(tmp_path, "step", "--trust", str(file), stdin="")
    assert stepped.returncode == 1, stepped.stdout
    assert "took another path" not in stepped.stdout
