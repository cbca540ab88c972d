"""anyio 4.13.0: after a task that waited for a lock is cancelled, nobody gets the lock any more.

Promised: a lock that nobody holds can be acquired.
Order: a task that is cancelled stays among those that wait until it runs again. If the lock is
released meanwhile, ``release`` (_backends/_asyncio.py:1867) finds nobody to hand it to; who comes
before the cancelled task has run sees somebody in front (1821), and waits for ever.
``Semaphore.release`` does the same.
Reported: pull request #1145; fixed in 4.14.0.
"""

import asyncio

import anyio


def use_while_another_is_cancelled(make) -> None:
    async def main() -> None:
        lock = make()

        async def use() -> None:
            async with lock:
                pass

        async def read_and_use() -> None:
            for _ in range(2):
                await asyncio.sleep(0)
            await use()

        async with lock:
            first = asyncio.create_task(use())
            second = asyncio.create_task(read_and_use())
            await asyncio.sleep(0)
            first.cancel()
        await second

    asyncio.run(main())


def test_who_is_not_cancelled_gets_the_lock() -> None:
    use_while_another_is_cancelled(anyio.Lock)


def test_who_is_not_cancelled_gets_the_semaphore() -> None:
    use_while_another_is_cancelled(lambda: anyio.Semaphore(1))
