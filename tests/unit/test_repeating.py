"""Before every schedule is said to be covered, a test is executed again under the same one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any, cast

import pytest

import bohrbug
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.repeating import difference_when_repeated
from bohrbug.exploration.verdicts import CaveatKind, VerdictKind
from bohrbug.model.conditions import Conditions
from bohrbug.model.operation import ACQUIRE, RELEASE, Kind, Operation
from bohrbug.model.outcome import PASSED, Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.protocol import Executed, Runtime
from tests.programs.together import together


def test_a_test_that_does_something_else_each_time_does_not_hold() -> None:
    numbers = count()
    lock = threading.Lock()

    def work() -> None:
        takes_it_twice = next(numbers) % 2

        def task() -> None:
            for _ in range(1 + takes_it_twice):
                with lock:
                    pass

        together(task, task)

    verdict = bohrbug.explore(work, strategy="dpor").verdict
    assert verdict.kind is VerdictKind.NO_FAILURE_FOUND
    (caveat,) = verdict.caveats
    assert caveat.kind is CaveatKind.DIVERGENCE
    assert "executed twice under the same schedule, it did" in caveat


class Given:
    """A runtime whose executions are given."""

    def __init__(self, *traces: Trace) -> None:
        self._traces = iter(traces)
        self.asked: list[tuple[Plan, bool]] = []

    def execute(self, plan: Plan, *, learn: bool = True, watch: bool = False) -> Executed:
        self.asked.append((plan, learn))
        return Executed(next(self._traces), 2, is_concurrent=True)


def ending(
    *kinds: Kind, outcome: Outcome = PASSED, task: str = "0.1", resource: str = "0:1"
) -> Trace:
    operations = [Operation(kind, resource, None) for kind in kinds]
    tasks = [task] * len(kinds)
    return Trace(operations=operations, tasks=tasks, choices=list(tasks), outcome=outcome)


def raising(exception: str) -> Outcome:
    return Outcome(OutcomeKind.EXCEPTION, f"{exception}: 1", "0", exception)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (ending(ACQUIRE, RELEASE), ending(ACQUIRE, RELEASE), None),
        (ending(ACQUIRE), ending(ACQUIRE, RELEASE), "it has ended at step 1, and then did release"),
        (ending(ACQUIRE), ending(RELEASE), "it did acquire in task 0.1 at step 0, and then"),
        (ending(ACQUIRE), ending(ACQUIRE, task="0.2"), "in task 0.1 at step 0, and then did acqu"),
        (ending(ACQUIRE), ending(ACQUIRE, resource="0:2"), "at step 0 on 0:1, and then on 0:2"),
        (
            ending(ACQUIRE),
            ending(ACQUIRE, outcome=raising("KeyError")),
            "it ended with: passed, and then ended with: KeyError: 1",
        ),
        (
            ending(ACQUIRE, outcome=raising("ValueError")),
            ending(ACQUIRE, outcome=raising("KeyError")),
            "it ended with: ValueError: 1, and then ended with: KeyError: 1",
        ),
    ],
)
def test_steps_and_ends_are_compared(first: Trace, second: Trace, words: str | None) -> None:
    said = difference_when_repeated(Learner(cast(Runtime, Given(first, second)), Conditions()))
    assert said == "" if words is None else words in said


def test_the_same_schedule_is_executed_again_and_nothing_is_learnt() -> None:
    given = Given(ending(ACQUIRE, RELEASE), ending(ACQUIRE, RELEASE))
    assert difference_when_repeated(Learner(cast(Runtime, given), Conditions())) == ""
    assert given.asked == [(Plan(), False), (Plan(("0.1", "0.1")), False)]


@pytest.mark.parametrize("strategy", ["auto", "dpor", "dfs", "ipb"])
def test_what_is_done_only_once_makes_no_difference(strategy: str) -> None:
    cache: dict[str, int] = {}
    lock = threading.Lock()

    def work() -> None:
        def task() -> None:
            if "answer" not in cache:
                with lock:
                    cache["answer"] = 42

        together(task, task)

    verdict = bohrbug.explore(work, strategy=strategy).verdict
    assert verdict.kind in (VerdictKind.HOLDS, VerdictKind.HOLDS_WITHIN_BOUND)


@pytest.mark.parametrize(
    "make",
    [
        *(threading.Lock, threading.RLock, threading.Condition, threading.Semaphore),
        lambda: threading.BoundedSemaphore(1),
    ],
)
def test_each_primitive_that_a_test_makes_has_the_same_name_again(make: Callable[[], Any]) -> None:
    def test() -> None:
        primitive = make()

        def use() -> None:
            with primitive:
                pass

        together(use, use)

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_another_resource_is_named() -> None:
    locks = [threading.Lock() for _ in range(9)]

    def test() -> None:
        together(lambda: locks.pop().locked(), lambda: None)

    words = bohrbug.explore(test, level="sync", strategy="dpor").verdict.caveats
    assert any(" at step " in caveat and ", and then on " in caveat for caveat in words), words


def test_a_failure_that_no_replay_shows_again_is_named() -> None:
    """It has no report: the caveat is the only place that says what failed, and where."""
    calls: list[None] = []

    def fails_once() -> None:
        calls.append(None)
        if len(calls) == 1:
            raise ValueError("only the first time")

    result = bohrbug.explore(fails_once, seconds=None)
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    line = fails_once.__code__.co_firstlineno + 3
    assert any(
        f"(ValueError at tests/unit/test_repeating.py:{line})" in caveat
        for caveat in result.verdict.caveats
    )
