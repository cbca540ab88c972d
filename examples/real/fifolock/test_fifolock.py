"""fifolock 0.0.18: a task that is cancelled when its turn comes keeps the lock.

Promised: a lock that nobody holds can be acquired.
Order: a lock is given to the task that waits for it, which is cancelled before it runs again
(fifolock.py:42); the lock counts it as its holder for ever.
Reported: fixed in 0.0.19, whose source mentions it.
"""

import asyncio

from fifolock import FifoLock


class Mutex(asyncio.Future):
    @staticmethod
    def is_compatible(holds) -> bool:
        return not holds[Mutex]


def test_using_the_lock_after_a_task_was_cancelled() -> None:
    async def main() -> None:
        lock = FifoLock()

        async def use() -> None:
            async with lock(Mutex):
                await asyncio.sleep(0)

        first, second = asyncio.create_task(use()), asyncio.create_task(use())
        for _ in range(4):
            await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([first, second])
        await use()

    asyncio.run(main())
