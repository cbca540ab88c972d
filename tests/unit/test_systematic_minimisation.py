"""What is said of a failure is true of all schedules with few preemptions, not only of one."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

import bohrbug
from bohrbug import Interpreter
from bohrbug.exploration import findings, follow_up
from bohrbug.exploration.minimisation import preemptions, systematic
from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.systematic import Looked, at_random, fewest_preemptions
from bohrbug.model.operation import Site
from bohrbug.model.outcome import PASSED, Frame, Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from tests.simulated import execute, tasks, writes


def together(*functions: Callable[[], object]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def called_between() -> None:
    pass


def writes_around_a_call() -> None:
    """With the GIL the reader can come in at the call, and only there."""
    state = SimpleNamespace(a=0, b=0)
    seen: list[tuple[int, int]] = []

    def write() -> None:
        state.a = 1
        called_between()
        state.b = 1

    def read() -> None:
        seen.append((state.a, state.b))

    together(write, read)
    assert seen[0] in ((0, 0), (1, 1))


def increments() -> None:
    """With the GIL nobody can come in between."""
    state = SimpleNamespace(a=0)

    def increment() -> None:
        state.a += 1

    together(increment, increment)
    assert state.a == 2


def digits(number: int) -> int:
    return len(str(number))


def takes_from_an_iterator() -> None:
    """It fails without a preemption, if the other is first."""
    source = map(digits, [1, 2, 3])
    taken: list[int] = []

    def take_two() -> None:
        for _ in range(2):
            taken.append(next(source))

    def take_all() -> None:
        for _ in source:
            pass

    together(take_two, take_all)


def test_what_is_possible_with_the_gil_is_said_to_be_so() -> None:
    (failure,) = bohrbug.explore(writes_around_a_call).failures
    assert failure.interpreter in (Interpreter.ANOTHER_SCHEDULE, Interpreter.GIL)
    assert bohrbug.explore(writes_around_a_call, interpreter="gil").failures


def test_what_is_not_needs_a_build_without_the_gil() -> None:
    (failure,) = bohrbug.explore(increments).failures
    assert failure.interpreter is Interpreter.FREE_THREADED
    assert not bohrbug.explore(increments, interpreter="gil").failures


def test_the_same_error_at_another_line_is_the_same_kind_of_failure() -> None:
    one, other = (
        Outcome(OutcomeKind.EXCEPTION, "'k'", exception="KeyError", stack=(Frame(Site(*site)),))
        for site in (("a.py", 1, "f"), ("a.py", 2, "f"))
    )
    assert one.signature() != other.signature()
    assert one.is_like(other)
    assert not one.is_like(Outcome(OutcomeKind.EXCEPTION, "'k'", exception="IndexError"))


def test_the_fewest_preemptions_of_all_schedules_are_reported() -> None:
    (failure,) = bohrbug.explore(takes_from_an_iterator).failures
    assert not failure.trace.preemptions()
    assert failure.interpreter is Interpreter.GIL


FAILED = Outcome(OutcomeKind.ASSERTION, "no")


def test_the_search_ends_with_its_budget() -> None:
    made: list[Plan] = []

    def passes(plan: Plan) -> Trace:
        made.append(plan)
        return Trace(plan=plan)

    assert fewest_preemptions(passes, FAILED.is_like, 2, Budget(1)).found is None
    assert len(made) == 1


def test_what_fails_alike_is_found() -> None:
    found, to_the_end = fewest_preemptions(
        lambda plan: Trace(plan=plan, outcome=FAILED), FAILED.is_like, 0, Budget(1)
    )
    assert found is not None and found.outcome is FAILED
    assert to_the_end


def test_a_search_that_found_nothing_says_whether_it_came_to_its_end() -> None:
    program = tasks(writes(2), writes(2))

    def look(bound: int, executions: int) -> Looked:
        return fewest_preemptions(
            lambda plan: execute(program, plan)[0], FAILED.is_like, bound, Budget(executions)
        )

    assert look(0, 100) == look(1, 100) == (None, True)
    assert look(1, 3) == (None, False)


def test_a_few_schedules_are_drawn_at_random() -> None:
    made: list[Plan] = []

    def execute_once(plan: Plan) -> Trace:
        made.append(plan)
        return Trace(plan=plan, outcome=FAILED if len(made) == 3 else PASSED)

    found = at_random(execute_once, FAILED.is_like, Budget(10))
    assert found is not None and found.plan is made[2]
    made[:] = [Plan()] * 3
    assert at_random(execute_once, FAILED.is_like, Budget(10)) is None
    assert len(made) == 13


def test_a_part_of_a_budget() -> None:
    budget = Budget(8, until=math.inf)
    part = budget.part(0.75)
    assert (part.executions, part.until, budget.executions) == (6, math.inf, 2)
    short = Budget(8, time.perf_counter() + 100)
    assert 70 < short.part(0.75).until - time.perf_counter() < 76


def test_random_schedules_may_show_that_the_gil_does_not_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(systematic, "fewest_preemptions", lambda *_: Looked(None, False))
    (failure,) = bohrbug.explore(writes_around_a_call, strategy="rff").failures
    assert failure.interpreter is Interpreter.ANOTHER_SCHEDULE


def test_of_long_executions_fewer_are_looked_at_for_the_gil(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budgets: list[int] = []

    def note(*arguments: object) -> None:
        budget = arguments[-1]
        assert isinstance(budget, Budget)
        budgets.append(budget.executions)

    monkeypatch.setattr(systematic, "fewest_preemptions", lambda *_: Looked(None, False))
    monkeypatch.setattr(systematic, "at_random", note)
    bohrbug.explore(increments)
    monkeypatch.setattr(preemptions, "LONG", 1)
    bohrbug.explore(increments)
    ordinary, of_long = budgets
    assert 0 < of_long < ordinary / 3


def test_fewer_preemptions_are_not_looked_for_among_long_executions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow_up, "LONG", 1)
    monkeypatch.setattr(follow_up, "fewest_preemptions", lambda *_: pytest.fail("looked for"))
    (failure,) = bohrbug.explore(increments).failures
    assert failure.trace.preemptions()


def test_without_the_budget_to_look_for_others_only_this_schedule_is_spoken_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(findings, "MOST_WITH_THE_GIL", 1)
    (failure,) = bohrbug.explore(increments).failures
    assert failure.interpreter is Interpreter.THIS_SCHEDULE
