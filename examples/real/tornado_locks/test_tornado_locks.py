"""tornado 6.6.1: a task that is cancelled when it is its turn keeps the lock.

Promised: a lock that nobody holds can be acquired.
Order: ``Semaphore.release`` (locks.py:415) hands the lock to the future of a task that waits. If
the task is cancelled before it runs, nobody is there to release it.
Reported: found by exploring this test; issue #2826 tells of the same in ``tornado.queues``.
"""

import asyncio

from tornado.locks import Lock


def test_the_third_task_gets_the_lock() -> None:
    async def main() -> None:
        lock = Lock()

        async def use() -> None:
            async with lock:
                await asyncio.sleep(0)

        first, second, third = [asyncio.create_task(use()) for _ in range(3)]
        await asyncio.sleep(0)
        second.cancel()
        await first
        await third

    asyncio.run(main())
