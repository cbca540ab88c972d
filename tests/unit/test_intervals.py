"""Accesses that take a while are intervals on every version of Python.

Where code written in Python stands while code in C, or a loop, calls functions for it differs
from version to version.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind
from tests.programs.broken import intervals
from tests.programs.together import together


@pytest.mark.parametrize(
    "program",
    [
        intervals.shared_generator,
        intervals.shared_generator_expression,
        intervals.shared_map_over_a_generator,
    ],
)
def test_a_generator_runs_over_an_interval(program: Callable[[], None]) -> None:
    result = bohrbug.explore(program, strategy="dpor", executions=100, minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict
    assert "already executing" in result.failures[0].outcome.message


def test_an_access_is_over_when_the_same_line_calls_something_else() -> None:
    def add(one: int, other: int) -> int:
        return one + other

    def apply(function: Callable[[int, int], int], _: list[int]) -> int:
        return function(1, 2)

    def executions(*calls: Callable[..., Any]) -> int:
        def test() -> None:
            items = [1, 2]

            def call() -> None:
                for function in calls:
                    function(add, items)

            together(call, lambda: items.append(3))

        return bohrbug.explore(test, strategy="dpor", level="all").executions

    # What the second function calls is not in the middle of what the first one looks at.
    assert executions(functools.reduce, apply) == executions(functools.reduce)
    assert executions(functools.reduce, functools.reduce) > executions(functools.reduce)
