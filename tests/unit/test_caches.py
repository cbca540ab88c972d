"""Calls of an ``lru_cache``: those that find their result conflict with none that do, too."""

from __future__ import annotations

import functools

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from tests.programs.together import together


def _executions(maxsize: int | None, kept: int) -> int:
    """How many schedules there are of two tasks that ask a cache for the same result, twice."""

    def test() -> None:
        @functools.lru_cache(maxsize=maxsize)
        def boxed(number: int) -> list[int]:
            return [number]

        for number in range(kept):
            boxed(number)
        together(*[lambda: (boxed(0), boxed(0))] * 2)

    result = bohrbug.explore(test, strategy="dpor", causes=0)
    assert result.verdict.kind is VerdictKind.HOLDS
    return result.executions


def test_hits_are_not_permuted_as_long_as_nothing_is_dropped() -> None:
    hits = _executions(None, 1)
    assert hits == _executions(8, 1) <= 4
    # The order of calls says which result is dropped next.
    assert _executions(2, 2) > hits
    # One of them is a miss.
    assert _executions(8, 0) > hits


@pytest.mark.parametrize("maxsize", [None, 8])
def test_object_that_is_made_twice_is_found(maxsize: int | None) -> None:
    def test() -> None:
        @functools.lru_cache(maxsize=maxsize)
        def boxed(number: int) -> list[int]:
            return [number]

        boxes: list[list[int]] = []
        together(*[lambda: boxes.append(boxed(0))] * 2)
        assert boxes[0] is boxes[1]

    assert bohrbug.explore(test).failures


def test_hit_depends_on_who_clears_the_cache() -> None:
    def test() -> None:
        calls: list[int] = []

        @functools.cache
        def boxed(number: int) -> list[int]:
            calls.append(number)
            return [number]

        boxed(0)
        together(lambda: boxed(0), boxed.cache_clear)
        assert len(calls) == 1

    assert bohrbug.explore(test).failures
