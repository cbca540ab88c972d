"""Before every schedule is said to be covered, a test is executed again under the same one."""

from __future__ import annotations

import threading
from itertools import count
from typing import Any, cast

import pytest

import bohrbug
from bohrbug.exploration.repeating import difference_when_repeated
from bohrbug.exploration.verdicts import CaveatKind, VerdictKind
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

    def execute(self, plan: Plan, **_: Any) -> Executed:
        return Executed(next(self._traces), 0, 2)


def ending(*kinds: Kind, outcome: Outcome = PASSED) -> Trace:
    operations = [Operation(kind, "0:1", None) for kind in kinds]
    return Trace(operations=operations, tasks=["0.1"] * len(kinds), outcome=outcome)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (ending(ACQUIRE, RELEASE), ending(ACQUIRE, RELEASE), None),
        (ending(ACQUIRE), ending(ACQUIRE, RELEASE), "it has ended at step 1, and then did release"),
        (ending(ACQUIRE), ending(RELEASE), "it did acquire in task 0.1 at step 0, and then"),
        (
            ending(ACQUIRE),
            ending(ACQUIRE, outcome=Outcome(OutcomeKind.EXCEPTION, "KeyError: 1", "0", "KeyError")),
            "it ended with: passed, and then ended with: KeyError: 1",
        ),
    ],
)
def test_steps_and_ends_are_compared(first: Trace, second: Trace, words: str | None) -> None:
    said = difference_when_repeated(cast(Runtime, Given(first, second)))
    assert said == "" if words is None else words in said


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
