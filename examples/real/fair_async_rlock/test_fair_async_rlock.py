"""fair-async-rlock 1.0.5: a task that is cancelled when its turn comes keeps the lock.

Promised: a lock that nobody holds can be acquired.
Order: the holder sets the event of the task that comes next; if that is cancelled before it runs,
it looks for its event in the queue (fair_async_rlock.py:47), where it is no longer, and wakes
nobody.
Reported: issue #14; fixed in 1.0.7 or before.
"""

import asyncio

from fair_async_rlock import FairAsyncRLock


def test_who_is_not_cancelled_gets_the_lock() -> None:
    async def main() -> None:
        lock = FairAsyncRLock()

        async def use() -> None:
            async with lock:
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(use()) for _ in range(3)]
        for _ in range(5):
            await asyncio.sleep(0)
        tasks[1].cancel()
        await tasks[0]
        await tasks[2]

    asyncio.run(main())
