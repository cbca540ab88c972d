"""Functions that are not there before the test begins, by default options: what is broken is
found, and the same with a lock holds without a condition."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.exploration.result import Interpreter

from .made_code import PROGRAMS, Guard
from .together import together

Program = Callable[[Guard], None]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_without_a_lock_it_fails(program: Program) -> None:
    result = bohrbug.explore(lambda: program(nullcontext()), minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_with_a_lock_it_holds(program: Program) -> None:
    result = bohrbug.explore(lambda: program(threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert not result.verdict.caveats


WITH_A_CALL = """
def increment():
    global count
    value = count
    helper()
    count = value + 1

def helper():
    pass
"""
WITHOUT_A_CALL = WITH_A_CALL.replace("    helper()\n", "")


@pytest.mark.parametrize(
    ("source", "interpreter"),
    [(WITH_A_CALL, Interpreter.GIL), (WITHOUT_A_CALL, Interpreter.FREE_THREADED)],
)
def test_where_it_can_happen_is_known(source: str, interpreter: Interpreter) -> None:
    """A build with the GIL switches threads where a function begins, not between accesses."""

    def test() -> None:
        variables: dict[str, Any] = {"count": 0}
        exec(source, variables)
        together(variables["increment"], variables["increment"])
        assert variables["count"] == 2

    result = bohrbug.explore(test, causes=0)
    assert [failure.interpreter for failure in result.failures] == [interpreter]
