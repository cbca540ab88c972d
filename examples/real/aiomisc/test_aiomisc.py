"""aiomisc 18.0.37: a pool from which a task is cancelled has room for nobody any more.

Promised: a pool of one lends its instance to one task after the other.
Order: a task is cancelled while it makes an instance. It has taken a place in the semaphore before
(aiomisc/pool.py:132), and never gives it back; who comes then waits for an instance (147) for ever.
Found by exploring.
"""

import asyncio

from aiomisc.pool import PoolBase


class Pool(PoolBase):
    async def _create_instance(self) -> object:
        await asyncio.sleep(0)
        return object()

    async def _destroy_instance(self, instance: object) -> None:
        pass

    async def _check_instance(self, instance: object) -> bool:
        return True


def test_a_pool_after_a_task_was_cancelled() -> None:
    async def main() -> None:
        pool = Pool(maxsize=1)

        async def use() -> None:
            async with pool.acquire():
                await asyncio.sleep(0)

        first = asyncio.create_task(use())
        for _ in range(3):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        await use()
        await pool.close()

    asyncio.run(main())
