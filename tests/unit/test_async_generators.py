"""Reports look into async generators: those of ``asynccontextmanager`` wait and hold locks, too."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import bohrbug
from bohrbug.report.text import failure_text


@asynccontextmanager
async def locked(lock: asyncio.Lock) -> AsyncIterator[None]:
    async with lock:  # taken here
        await asyncio.sleep(0)
        yield


def both_ways() -> None:
    async def main() -> None:
        first, second = asyncio.Lock(), asyncio.Lock()

        async def here() -> None:
            async with locked(first), locked(second):
                pass

        async def there() -> None:
            async with locked(second), locked(first):
                pass

        await asyncio.gather(here(), there())

    asyncio.run(main())


async def numbers() -> AsyncIterator[int]:
    for number in range(2):
        await asyncio.sleep(0)  # in the generator
        yield number


def lost_update() -> None:
    total = [0]

    async def add() -> None:
        seen = total[0]
        async for number in numbers():
            seen += number
        total[0] = seen

    async def later() -> None:
        for _ in range(4):
            await asyncio.sleep(0)
        await add()

    async def main() -> None:
        await asyncio.gather(add(), later())

    asyncio.run(main())
    assert total == [2]


def report_on(test: Callable[[], None]) -> str:
    (failure,) = bohrbug.explore(test).failures
    return " ".join(failure_text(failure, width=200).split())


def at(function: object, text: str) -> str:
    """The place of a line of a function, as reports write it."""
    lines, first = inspect.getsourcelines(function)  # type: ignore[arg-type]
    return f"test_async_generators.py:{first + next(n for n, x in enumerate(lines) if text in x)}"


def test_who_holds_a_lock_through_a_context_manager_is_told() -> None:
    report = report_on(both_ways)
    assert "Deadlock: 2 tasks wait for each other" in report
    assert f"(taken at {at(inspect.unwrap(locked), 'taken here')})" in report


def test_steps_in_generators_are_told() -> None:
    cause = report_on(lost_update).partition("Schedule")[0]
    assert at(numbers, "in the generator") in cause, cause
