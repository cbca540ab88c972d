"""anyio 3.4.0: a task that is cancelled where it takes a free lock keeps it.

Promised: a lock that nobody holds can be acquired.
Order: who takes a lock that is free lets others run before it goes on
(anyio/_core/_synchronization.py:137); if it is cancelled there by asyncio, it never releases the
lock. ``Semaphore`` does the same (312).
Reported: issue #398; fixed in 3.5.0.
"""

import asyncio

import anyio


def use_after_a_cancellation(make) -> None:
    async def main() -> None:
        lock = make()

        async def use() -> None:
            async with lock:
                pass

        first = asyncio.create_task(use())
        for _ in range(3):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        await use()

    asyncio.run(main())


def test_a_lock_after_a_task_was_cancelled() -> None:
    use_after_a_cancellation(anyio.Lock)


def test_a_semaphore_after_a_task_was_cancelled() -> None:
    use_after_a_cancellation(lambda: anyio.Semaphore(1))
