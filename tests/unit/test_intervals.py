"""Accesses that take a while are intervals on every version of Python.

Where code written in Python stands while code in C, or a loop, calls functions for it differs
from version to version.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import bohrbug
from bohrbug import VerdictKind
from tests.programs.broken import intervals


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
