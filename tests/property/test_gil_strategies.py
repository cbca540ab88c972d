"""Under the rules of the GIL all strategies that promise everything see the same outcomes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bohrbug
from bohrbug.exploration.result import VerdictKind
from tests.programs.together import together
from tests.thoroughness import examples

LINES = [
    "s['x'] = 1",
    "s['x'] = s['y'] + 2",
    "s['y'] = s['x'] + 3",
    "a = s['x']",
    "b = s['y']",
    "tick()",
    "lock.acquire(); a = s['x']; s['y'] = a; lock.release()",
    "with lock: a = s['x']; s['x'] = a + 1",
    "with lock, other: s['y'] = s['x']",
]
"""Only at a call, and where a function begins, can such a build switch threads."""

bodies = st.lists(st.sampled_from(LINES), min_size=2, max_size=4)


def tick() -> None:
    """A place to switch at."""


def task(name: str, body: list[str]) -> Callable[[dict[str, Any]], None]:
    """A function that does what some lines say, and notes what it has read."""
    lines = ["def run():", " a = b = 0", *[f" {line}" for line in body], f" s['{name}'] = (a, b)"]

    def run(names: dict[str, Any]) -> None:
        exec("\n".join(lines), names)
        names["run"]()

    return run


def outcomes(strategy: str, first: list[str], second: list[str]) -> set[tuple[Any, ...]]:
    """What two tasks can have left behind in the end."""
    seen: set[tuple[Any, ...]] = set()

    def test() -> None:
        shared: dict[str, Any] = {"x": 0, "y": 0, "one": None, "two": None}
        names = {"s": shared, "tick": tick, "lock": threading.Lock(), "other": threading.Lock()}
        one, two = task("one", first), task("two", second)
        together(lambda: one({**names}), lambda: two({**names}))
        seen.add(tuple(shared.values()))

    result = bohrbug.explore(
        test, strategy=strategy, interpreter="gil", bound=None, executions=20_000, seconds=None
    )
    assert result.verdict.kind is VerdictKind.HOLDS, (strategy, result.verdict)
    return seen


@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@given(bodies, bodies)
def test_what_a_step_does_beside_its_access_counts(first: list[str], second: list[str]) -> None:
    everything = outcomes("dfs", first, second)
    for strategy in ("dpor", "ipb", "idb"):
        assert outcomes(strategy, first, second) == everything, strategy


@pytest.mark.parametrize("strategy", ["dpor", "ipb", "idb"])
def test_what_is_written_before_the_next_switch_is_part_of_the_step(strategy: str) -> None:
    first = ["s['x'] = s['y'] + 2", "tick()", "s['x'] = s['y'] + 2"]
    second = ["s['y'] = s['x'] + 3", "s['x'] = 1", "a = s['x']"]
    assert outcomes(strategy, first, second) == outcomes("dfs", first, second)
