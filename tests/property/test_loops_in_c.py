"""With and without the accelerator the executions of event loops are the same, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.accelerator import native
from tests.property.loop_actions import LOOP_ACTIONS
from tests.property.test_accelerator_equivalence import Process, assert_same
from tests.thoroughness import examples

pytestmark = pytest.mark.skipif(native is None, reason="the accelerator is not in use")


@pytest.fixture(scope="module")
def processes() -> Iterator[tuple[Process, Process]]:
    both = Process(pure=True), Process(pure=False)
    yield both
    for process in both:
        process.close()


USUAL = {"executions": 15, "seed": 1, "late": True, "gil": False, "level": "racy"}

PROGRAMS = {
    "awaits": [[("add", 1)], [("add", 1), ("pause", 2)], [("pause", 1), ("add", 1)]],
    "locks": [[("locked", 1)], [("locked", 2), ("pause", 1)], [("locked", 1)]],
    "time": [[("sleep", 1), ("add", 1)], [("wait", 1)], [("sleep", 0), ("signal", 0)]],
    "queues": [[("exchange", 1)], [("exchange", 2), ("add", 1)]],
    "callbacks": [[("call", number)] for number in range(4)],
    "cancelled": [[("cancel", 2)], [("cancel", 1), ("add", 1)], [("add", 1)]],
    "joined": [[("group", 1)], [("first", 2)], [("generate", 2)]],
    "threads": [[("thread", 1), ("add", 1)], [("add", 1)]],
    "failing": [[("add", 3)], [("group", 3)], [("add", 3)]],
}


@pytest.mark.parametrize(
    ("strategy", "late"), [("random", False), ("pct", True), ("dpor", False), ("dpor", True)]
)
@pytest.mark.parametrize("tasks", PROGRAMS.values(), ids=PROGRAMS)
def test_the_traces_of_loops_are_the_same(
    processes: tuple[Process, Process],
    tasks: list[list[tuple[str, int]]],
    strategy: str,
    late: bool,
) -> None:
    assert_same(processes, {**USUAL, "loop": tasks, "strategy": strategy, "late": late})


actions = st.tuples(st.sampled_from(sorted(LOOP_ACTIONS)), st.integers(0, 3))


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    tasks=st.lists(st.lists(actions, min_size=1, max_size=3), min_size=1, max_size=4),
    strategy=st.sampled_from(["random", "dpor", "pct", "auto"]),
    late=st.booleans(),
)
def test_the_traces_of_random_loops_are_the_same(
    processes: tuple[Process, Process],
    tasks: list[list[tuple[str, int]]],
    strategy: str,
    late: bool,
) -> None:
    assert_same(processes, {**USUAL, "loop": tasks, "strategy": strategy, "late": late})
