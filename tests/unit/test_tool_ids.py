"""Tools of ``sys.monitoring`` that a test has beside ours."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.runtime.threads.tool_ids import CALLED
from tests.programs.together import together

monitoring: Any = getattr(sys, "monitoring", None)

pytestmark = pytest.mark.skipif(monitoring is None, reason="came with 3.12")


def _counting(lock: Any) -> None:
    counts = [0]

    def add() -> None:
        with lock:
            counts[0] += 1

    together(add, add)
    assert counts == [2]


@pytest.mark.parametrize("tool", [3, 4, 5])
def test_a_test_gets_the_id_that_it_asks_for_and_all_is_seen_as_without(tool: int) -> None:
    def test() -> None:
        assert monitoring.get_tool(tool) is None
        monitoring.use_tool_id(tool, "of the test")
        try:
            assert monitoring.get_tool(tool) == "of the test"
            _counting(threading.Lock())
        finally:
            monitoring.free_tool_id(tool)

    without = bohrbug.explore(lambda: _counting(threading.Lock()))
    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.executions == without.executions
    assert monitoring.get_tool(tool) is None


def test_to_free_an_id_that_nobody_has_changes_nothing() -> None:
    def test() -> None:
        for tool in (3, 4, 5):
            monitoring.free_tool_id(tool)
        _counting(threading.Lock())

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict


def test_functions_that_a_test_has_called_are_a_condition() -> None:
    tool, events = 3, monitoring.events

    def watched() -> None: ...

    def test() -> None:
        counts = [0]

        def count(*_: object) -> None:
            seen = counts[0]
            counts[0] = seen + 1

        monitoring.use_tool_id(tool, "of the test")
        try:
            monitoring.register_callback(tool, events.PY_START, count)
            monitoring.set_local_events(tool, watched.__code__, events.PY_START)
            together(watched, watched)
        finally:
            monitoring.set_local_events(tool, watched.__code__, 0)
            monitoring.register_callback(tool, events.PY_START, None)
            monitoring.free_tool_id(tool)

    result = bohrbug.explore(test)
    assert CALLED in str(result.verdict.conditions), result.verdict
