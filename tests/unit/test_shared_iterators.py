"""The iterators that ``threading`` lets tasks share, from Python 3.15 on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from tests.programs.together import together

pytestmark = pytest.mark.skipif(sys.version_info < (3, 15), reason="there are none")

MADE_BEFORE: list[Any] = []


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _shared() -> Any:
    return threading.serialize_iterator(_numbers())  # type: ignore[attr-defined]


def _drawn_in_order(make: Callable[[], Any]) -> None:
    numbers, drawn = make(), {}

    def draw(name: str) -> None:
        drawn[name] = next(numbers)

    together(lambda: draw("first"), lambda: draw("second"))
    assert drawn["first"] < drawn["second"]


def test_tasks_may_draw_from_a_shared_iterator_in_any_order() -> None:
    (failure,) = bohrbug.explore(lambda: _drawn_in_order(_shared)).failures
    assert failure.outcome.message.startswith("AssertionError")


def test_the_order_matters_where_the_iterator_was_made_before_the_exploration() -> None:
    MADE_BEFORE[:] = [_shared()]
    assert bohrbug.explore(lambda: _drawn_in_order(lambda: MADE_BEFORE[0])).failures


def test_nobody_draws_from_a_generator_while_another_does() -> None:
    def test() -> None:
        numbers, drawn = _shared(), []
        together(*[lambda: drawn.append(next(numbers))] * 2)
        assert sorted(drawn) == [0, 1]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_who_goes_on_with_the_iterator_behind_concurrent_ones_depends_on_the_order() -> None:
    def test() -> None:
        drawing: list[str] = []

        def names() -> Iterator[str]:
            while True:
                drawing.append(threading.current_thread().name)
                yield ""

        first, second = threading.concurrent_tee(names(), 2)  # type: ignore[attr-defined]
        together(lambda: next(first), lambda: next(second))
        assert len(drawing) == 1
        if "2" in drawing[0]:
            raise LookupError

    (failure,) = bohrbug.explore(test).failures
    assert failure.outcome.message.startswith("LookupError")
