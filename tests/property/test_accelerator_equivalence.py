"""With and without the accelerator executions are the same, step by step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.accelerator import native
from tests.property.executing import ACTIONS
from tests.thoroughness import examples

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.skipif(native is None, reason="the accelerator is not in use")


class Process:
    """Executes programs in a process of its own."""

    def __init__(self, pure: bool) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.property.executing"],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
                "PYTHONHASHSEED": "0",
                "BOHRBUG_PURE_PYTHON": "1" if pure else "",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process has ended"
        return json.loads(line)

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def processes() -> Iterator[tuple[Process, Process]]:
    both = Process(pure=True), Process(pure=False)
    yield both
    for process in both:
        process.close()


actions = st.tuples(st.sampled_from(sorted(ACTIONS)), st.integers(0, 3))
requests = st.fixed_dictionaries(
    {
        "threads": st.lists(st.lists(actions, min_size=1, max_size=4), min_size=1, max_size=4),
        "strategy": st.sampled_from(["ipb", "dfs", "pct", "random", "auto", "dpor"]),
        "executions": st.just(15),
        "seed": st.integers(0, 1000),
        "late": st.booleans(),
        "gil": st.sampled_from([False, False, False, True]),
        "level": st.sampled_from(["racy", "racy", "all", "sync"]),
    }
)


def assert_same(processes: tuple[Process, Process], request: dict[str, Any]) -> None:
    pure, accelerated = (process.ask(request) for process in processes)
    assert len(pure) == len(accelerated)
    for one, other in zip(pure, accelerated, strict=True):
        for field in one:
            assert one[field] == other[field], field


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(request=requests)
def test_the_traces_are_the_same(
    processes: tuple[Process, Process], request: dict[str, Any]
) -> None:
    assert_same(processes, request)


PROGRAMS = {
    "variables": [[("add", 1), ("add_global", 1)], [("add", 2), ("looks", 0)], [("add_global", 3)]],
    "yields": [[("spins", 0), ("add", 1)], [("spins", 0), ("locked", 0)], [("locked", 1)]],
    "items": [[("add_item", 0), ("add_to_table", 1)], [("add_to_table", 1)], [("add_item", 0)]],
    "waits": [[("waits", 0), ("add", 1)], [("notifies", 0), ("puts", 1)], [("gets", 0)]],
    "time": [[("sleeps", 1), ("timed", 1), ("add", 1)], [("locked", 0), ("sleeps", 1)]],
}


@pytest.mark.parametrize("strategy", ["pos", "surw", "rff"])
@pytest.mark.parametrize("threads", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("level", ["racy", "all"])
def test_strategies_that_know_pending_operations_choose_the_same(
    processes: tuple[Process, Process],
    strategy: str,
    threads: list[list[tuple[str, int]]],
    level: str,
) -> None:
    request = {
        "threads": threads,
        "strategy": strategy,
        "executions": 25,
        "seed": 1,
        "late": False,
        "gil": False,
        "level": level,
    }
    assert_same(processes, request)


@pytest.mark.parametrize("strategy", ["random", "pct", "pos", "surw", "rff", "idb"])
def test_the_traces_of_many_tasks_are_the_same(
    processes: tuple[Process, Process], strategy: str
) -> None:
    many = [[("locked", 0)] if number % 3 else [("add", 1)] for number in range(120)]
    request = {
        "threads": many,
        "strategy": strategy,
        "executions": 4,
        "seed": 1,
        "late": False,
        "gil": False,
        "level": "racy",
    }
    assert_same(processes, request)
