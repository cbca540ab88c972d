"""In which order ``asyncio.as_completed`` begins coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind


def _results(make: Callable[[int], Any]) -> list[int]:
    async def main() -> list[int]:
        awaited = asyncio.as_completed([make(number) for number in range(2)])
        return [await each for each in awaited]

    return asyncio.run(main())


async def _number(number: int) -> int:
    await asyncio.sleep(0.01)
    return number


def test_any_order_of_coroutines_is_tried_and_replayed() -> None:
    def test() -> None:
        assert _results(_number) == [0, 1]

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.failures[0].confirmed


def test_all_orders_are_some_order() -> None:
    def test() -> None:
        assert sorted(_results(_number)) == [0, 1]

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert not result.verdict.caveats


def test_tasks_have_begun_in_their_order() -> None:
    begun: list[int] = []

    async def number(which: int) -> int:
        begun.append(which)
        return which

    def test() -> None:
        begun.clear()
        _results(lambda which: asyncio.create_task(number(which)))
        assert begun == [0, 1]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_what_is_no_iterable_is_refused_as_always() -> None:
    async def main() -> None:
        coroutine = _number(0)
        try:
            with pytest.raises(TypeError):
                next(iter(asyncio.as_completed(coroutine)))  # type: ignore[call-overload]
        finally:
            coroutine.close()

    assert bohrbug.explore(lambda: asyncio.run(main())).verdict.kind is VerdictKind.HOLDS
