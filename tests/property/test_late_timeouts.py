"""Where no timeout fires early, those that are due at the same moment fire in any order."""

from __future__ import annotations

import threading
import time

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bohrbug
from bohrbug.exploration.result import Result, VerdictKind
from tests.thoroughness import examples

Code = list[list[str]]
"""For each task what it does."""

_WAITS = ("sleep", "sleep", "sleep longer", "wait", "wait for a notification")
_STEPS = (*_WAITS, "read", "write", "write", "set", "notify")


def _outcomes_of(code: Code, strategy: str, executions: int) -> tuple[set[str], Result]:
    """What the tasks see in all executions, and the result."""
    seen: set[str] = set()

    def test() -> None:
        box = [0]
        condition, event = threading.Condition(), threading.Event()
        results: list[list[object]] = [[] for _ in code]

        def work(number: int) -> None:
            for position, step in enumerate(code[number]):
                if step == "sleep":
                    time.sleep(0.1)
                elif step == "sleep longer":
                    time.sleep(0.2)
                elif step == "read":
                    results[number].append(box[0])
                elif step == "write":
                    box[0] = 10 * number + position + 1
                elif step == "wait":
                    results[number].append(event.wait(0.1))
                elif step == "set":
                    event.set()
                else:
                    with condition:
                        if step == "notify":
                            condition.notify()
                        else:
                            results[number].append(condition.wait(0.1))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(code))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.add(repr((results, box)))

    result = bohrbug.explore(
        test,
        strategy=strategy,
        executions=executions,
        bound=None,
        seconds=None,
        timeouts="late",
        minimise=False,
        causes=0,
    )
    return seen, result


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(_STEPS), min_size=1, max_size=3),
        min_size=2,
        max_size=3,
    ).filter(lambda code: any(step in _WAITS for steps in code for step in steps))
)
def test_the_reduction_finds_what_depth_first_search_does(code: Code) -> None:
    every, result = _outcomes_of(code, "dfs", 400)
    assume(result.verdict.kind is VerdictKind.HOLDS)
    reduced, result = _outcomes_of(code, "dpor", 4_000)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert reduced == every


def test_who_wakes_up_at_the_same_moment_may_come_in_between() -> None:
    seen, result = _outcomes_of(
        [["sleep", "read", "write"], ["sleep", "read", "write"]], "dpor", 99
    )
    assert result.verdict.kind is VerdictKind.HOLDS
    assert "([[0], [0]], [13])" in seen
    assert "([[0], [0]], [3])" in seen


def test_who_wakes_up_later_does_not() -> None:
    seen, result = _outcomes_of(
        [["sleep", "read", "write"], ["sleep longer", "read", "write"]], "dpor", 99
    )
    assert result.verdict.kind is VerdictKind.HOLDS
    assert seen == {"([[0], [3]], [13])"}
