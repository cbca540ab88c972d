"""Callbacks of asyncio that only count are not varied, and those that do more are."""

from __future__ import annotations

import asyncio
import gc
import math
import re
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import bohrbug

Coroutines = list[Coroutine[Any, Any, Any]]


async def gather(coroutines: Coroutines) -> None:
    await asyncio.gather(*coroutines)


async def gather_all(coroutines: Coroutines) -> None:
    await asyncio.gather(*coroutines, return_exceptions=True)


async def wait(coroutines: Coroutines) -> None:
    await asyncio.wait([asyncio.ensure_future(each) for each in coroutines])


async def wait_for_failure(coroutines: Coroutines) -> None:
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)


async def group(coroutines: Coroutines) -> None:
    async with asyncio.TaskGroup() as tasks:
        for each in coroutines:
            tasks.create_task(each)


JOINING = [gather, gather_all, wait, wait_for_failure, group]


def explored(main: Callable[[], Coroutine[Any, Any, object]]) -> tuple[int, set[object]]:
    """How many executions it takes to the proof, and all that they come to."""
    found: set[object] = set()
    done = bohrbug.explore(
        lambda: found.add(asyncio.run(main())), strategy="dpor", executions=2_000
    )
    assert not done.failures
    if done.verdict.reason == "the test never has a choice between tasks":
        return done.executions, found
    assert done.verdict.reason == "every schedule was executed", done.verdict
    covered = re.search(r"\((\d+) executions?\)", " ".join(done.verdict.covered))
    assert covered is not None, done.verdict
    return int(covered[1]), found


@pytest.mark.parametrize("join", JOINING)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_lost_update_takes_as_many_executions_as_there_are_orders_of_its_writes(
    join: Callable[[Coroutines], Coroutine[Any, Any, None]], count: int
) -> None:
    async def main() -> object:
        written = []

        async def task(number: int) -> None:
            await asyncio.sleep(0)
            written.append(number)

        await join([task(number) for number in range(count)])
        return tuple(written)

    executions, found = explored(main)
    assert executions == len(found) == math.factorial(count)


def test_an_empty_main_takes_one_execution() -> None:
    async def main() -> object:
        return None

    assert explored(main) == (1, {None})


def test_whose_exception_comes_first_is_varied() -> None:
    async def fails(name: str) -> None:
        await asyncio.sleep(0)
        raise ValueError(name)

    async def main() -> object:
        try:
            await asyncio.gather(fails("a"), fails("b"))
        except ValueError as error:
            return str(error)
        return None

    assert explored(main)[1] == {"a", "b"}


@pytest.mark.parametrize("join", JOINING)
def test_when_the_last_one_is_seen_is_varied(
    join: Callable[[Coroutines], Coroutine[Any, Any, None]],
) -> None:
    """Something else may come between the end of the last task and who waits for all."""

    async def main() -> object:
        log: list[str] = []

        async def task() -> None:
            await asyncio.sleep(0)
            log.append("end")

        async def waits() -> None:
            await join([task(), task()])
            log.append("waited")

        async def other() -> None:
            await asyncio.sleep(0)
            log.append("other")

        await asyncio.wait([asyncio.ensure_future(waits()), asyncio.ensure_future(other())])
        return tuple(log)

    usual = ["end", "end", "waited"]
    orders = {(*usual[:at], "other", *usual[at:]) for at in range(len(usual) + 1)}
    assert explored(main)[1] == orders


def test_the_death_of_a_task_that_somebody_watches_is_varied() -> None:
    async def main() -> object:
        log: list[str] = []

        async def task() -> None:
            await asyncio.sleep(0)
            log.append("end")

        async def other() -> None:
            await asyncio.sleep(0)
            log.append("other")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(other())
            weakref.finalize(tasks.create_task(task()), log.append, "dead")
        gc.collect()
        return tuple(log)

    assert ("end", "other", "dead") in explored(main)[1]
    assert ("end", "dead", "other") in explored(main)[1]
