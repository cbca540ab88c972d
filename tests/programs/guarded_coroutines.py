"""Programs around coroutines, each with a lock of asyncio that it takes or a stand-in.

With a lock each is correct, without one some order of what a loop does breaks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import types
from collections.abc import AsyncIterator
from typing import Any

Guard = contextlib.AbstractAsyncContextManager[Any]


def counter_across_an_await(guard: Guard) -> None:
    """One of two increments is lost: who waits in between lets the other one in."""
    state = types.SimpleNamespace(n=0)

    async def add() -> None:
        async with guard:
            seen = state.n
            await asyncio.sleep(0)
            state.n = seen + 1

    async def both() -> None:
        await asyncio.gather(add(), add())

    asyncio.run(both())
    assert state.n == 2


def asynchronous_generator_of_two(guard: Guard) -> None:
    """RuntimeError: it is running already."""

    async def numbers() -> AsyncIterator[int]:
        for number in range(2):
            await asyncio.sleep(0)
            yield number

    async def both() -> None:
        shared = numbers()
        taken: list[int] = []

        async def take() -> None:
            async with guard:
                number = await anext(shared)
            taken.append(number)

        await asyncio.gather(take(), take())
        assert sorted(taken) == [0, 1]

    asyncio.run(both())


def coroutines_from_other_threads(guard: Guard) -> None:
    """One of two increments is lost: they run in one loop, but wait in between."""
    state = types.SimpleNamespace(n=0)

    async def add() -> None:
        async with guard:
            seen = state.n
            await asyncio.sleep(0)
            state.n = seen + 1

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def submit() -> None:
            asyncio.run_coroutine_threadsafe(add(), loop).result()

        await asyncio.gather(asyncio.to_thread(submit), asyncio.to_thread(submit))

    asyncio.run(main())
    assert state.n == 2


def value_made_across_an_await(guard: Guard) -> None:
    """Both make it."""
    made: dict[str, object] = {}

    async def get() -> object:
        async with guard:
            if "a" not in made:
                await asyncio.sleep(0)
                made["a"] = object()
            return made["a"]

    async def both() -> list[object]:
        return await asyncio.gather(get(), get())

    first, second = asyncio.run(both())
    assert first is second
