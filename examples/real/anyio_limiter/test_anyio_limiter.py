"""anyio 4.9.0: a task that is cancelled when it is its turn keeps the token of a limiter.

Promised: as many tasks can go on as there are tokens.
Order: ``CapacityLimiter.acquire_on_behalf_of`` (_backends/_asyncio.py:2011) raises the cancellation
of a task that ``release`` has chosen already, and chooses no other one; the next waits for ever.
Reported: issue #947; fixed in 4.10.0.
"""

import asyncio

import anyio


def test_the_third_task_gets_the_token() -> None:
    async def main() -> None:
        limiter = anyio.CapacityLimiter(1)

        async def use() -> None:
            async with limiter:
                await asyncio.sleep(0)

        first, second, third = [asyncio.create_task(use()) for _ in range(3)]
        await asyncio.sleep(0)
        second.cancel()
        await first
        await third

    asyncio.run(main())
