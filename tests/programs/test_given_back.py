"""What code in C does with what functions in Python give back to it is seen."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial

import pytest

import bohrbug
from bohrbug import VerdictKind

from .given_back import GOES_THROUGH, SEES_BOTH_ALIKE, View, gone_through_twice, looked_at
from .guarding import Guard
from .together import together

PROGRAMS: dict[str, Callable[[Guard], None]] = {
    **{name: partial(looked_at, is_alike=look) for name, look in SEES_BOTH_ALIKE.items()},
    **{
        f"go through it: {name}": partial(gone_through_twice, go_through=go)
        for name, go in GOES_THROUGH.items()
    },
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_change_that_comes_in_the_middle_is_found(name: str) -> None:
    result = bohrbug.explore(
        lambda: PROGRAMS[name](contextlib.nullcontext()),
        strategy="dpor",
        executions=300,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_a_lock_it_holds_without_a_condition(name: str) -> None:
    result = bohrbug.explore(
        lambda: PROGRAMS[name](threading.Lock()), strategy="dpor", executions=300
    )
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_code_in_a_function_that_tells_nothing_itself_goes_on_to_tell() -> None:
    """It is made anew by a function of which nothing is wanted once it is known where races are."""
    result = bohrbug.explore(lambda: _look_twice(list, lambda view: view.items.append(3)))
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


def _look_twice(look: Callable[[View], object], change: Callable[[View], None]) -> None:
    view = View([1, 2])

    def look_twice() -> None:
        first, second = look(view), look(view)
        assert first == second

    together(lambda: change(view), look_twice)
