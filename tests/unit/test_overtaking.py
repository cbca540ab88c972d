"""Timers of an event loop that overtake others, as the loop was busy before these were set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import permutations
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.report.text import failure_text
from tests.unit.logs_of_loops import Main, reached

Sleeps = dict[str, float]


def sleeping(sleeps: Sleeps) -> Main:
    async def main(log: list[Any]) -> None:
        async def later(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            log.append(name)

        await asyncio.gather(*(later(name, seconds) for name, seconds in sleeps.items()))

    return main


def test_a_busy_loop_may_set_a_timer_too_late() -> None:
    assert reached(sleeping({"a": 2, "b": 1}), timeouts="early") == {("a", "b"), ("b", "a")}


def test_reports_say_that_the_timer_is_scheduled_too_late() -> None:
    def test() -> None:
        log: list[Any] = []
        asyncio.run(sleeping({"a": 0.02, "b": 0.01})(log))  # type: ignore[arg-type]
        assert log == ["b", "a"]

    (failure,) = bohrbug.explore(test, seconds=None).failures
    text = " ".join(failure_text(failure).split())
    assert "before the scheduling on event loop " in text
    assert "· schedule on event loop " in text


def test_a_timer_that_was_set_first_and_is_shorter_is_never_overtaken() -> None:
    assert reached(sleeping({"a": 1, "b": 2}), timeouts="early") == {("a", "b")}
    assert reached(sleeping({"a": 1, "b": 1}), timeouts="early") == {("a", "b")}


def test_a_loop_is_busy_for_as_long_as_it_takes() -> None:
    three = reached(sleeping({"a": 3, "b": 2, "c": 1}), timeouts="early")
    assert three == {*permutations("abc")}
    # The last one may be set so late that the first one is over before it.
    assert ("b", "a", "c") in reached(sleeping({"a": 2, "b": 1, "c": 1}), timeouts="early")


def test_a_timer_of_an_earlier_turn_may_come_in_between() -> None:
    async def main(log: list[Any]) -> None:
        loop = asyncio.get_running_loop()

        async def sets(name: str) -> None:
            loop.call_later(1, log.append, name)

        loop.call_later(2, log.append, "first")
        await asyncio.sleep(0)
        await asyncio.gather(sets("a"), sets("b"))
        await asyncio.sleep(10)

    assert ("a", "first", "b") in reached(main, timeouts="early")


@pytest.mark.parametrize(
    "timeout",
    [
        lambda: asyncio.timeout(1),
        lambda: asyncio.timeout_at(asyncio.get_running_loop().time() + 1),
    ],
)
def test_a_timeout_may_be_set_too_late(timeout: Callable[[], asyncio.Timeout]) -> None:
    async def main(log: list[Any]) -> None:
        async def limited() -> None:
            with suppress(TimeoutError):
                async with timeout():
                    await asyncio.Event().wait()
            log.append("timeout")

        async def sleeps() -> None:
            await asyncio.sleep(2)
            log.append("sleep")

        await asyncio.gather(sleeps(), limited())

    assert reached(main, timeouts="early") == {("timeout", "sleep"), ("sleep", "timeout")}


def test_the_program_may_compute_too_late_when_a_timer_is_over() -> None:
    async def main(log: list[Any]) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(2, log.append, "long")
        loop.call_at(loop.time() + 1, log.append, "short")
        loop.call_at(loop.time() + 1.5, log.append, "medium")
        await asyncio.sleep(5)

    assert reached(main, timeouts="early") == {
        ("short", "medium", "long"),
        ("short", "long", "medium"),
        ("long", "short", "medium"),
    }


async def looks_at_clock(readings: int) -> None:
    loop = asyncio.get_running_loop()
    loop.call_later(1, str)
    for _ in range(readings):
        loop.time()
    await asyncio.sleep(2)


async def computes_deadline(readings: int) -> None:
    loop = asyncio.get_running_loop()
    loop.call_later(1, str)
    for _ in range(readings):
        loop.time()
    await asyncio.sleep(2)
    loop.call_at(0, str)


@pytest.mark.parametrize("main", [looks_at_clock, computes_deadline])
def test_time_passes_once_where_the_clock_is_read_again_and_again(main: Any) -> None:
    def executions(readings: int) -> int:
        found = bohrbug.explore(lambda: asyncio.run(main(readings)), seconds=None, timeouts="early")
        assert found.verdict.kind is VerdictKind.HOLDS
        return found.executions

    assert executions(1) == executions(50)
    assert (executions(0) == executions(1)) == (main is looks_at_clock)


def test_how_long_a_loop_was_busy_counts() -> None:
    def test(sleeps: Sleeps) -> VerdictKind:
        log: list[Any] = []

        def in_order() -> None:
            log.clear()
            asyncio.run(sleeping(sleeps)(log))  # type: ignore[arg-type]
            assert log == ["b", "a"]

        return bohrbug.explore(in_order, timeouts="short").verdict.kind

    assert test({"a": 2, "b": 1.5}) is VerdictKind.FAILED
    assert test({"a": 3, "b": 1.5}) is VerdictKind.NO_FAILURE_FOUND
