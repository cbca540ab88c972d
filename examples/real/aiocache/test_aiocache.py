"""aiocache 0.12.3: leaving a lock raises KeyError.

Promised: who has a lock of a cache can leave it.
Order: a task leaves the lock; the cache has forgotten it, and has not answered yet. Another one
takes it, and puts its event in the place of the first one's (aiocache/lock.py:78). Now the first
task removes that event (96), which is missing when the second one leaves.
Reported: issue #979, with Redis; here a cache in memory answers a turn later.
"""

import asyncio

from aiocache import SimpleMemoryCache
from aiocache.lock import RedLock


class SlowCache(SimpleMemoryCache):
    async def _add(self, *args, **kwargs):
        result = await super()._add(*args, **kwargs)
        await asyncio.sleep(0)
        return result

    async def _redlock_release(self, *args, **kwargs):
        result = await super()._redlock_release(*args, **kwargs)
        await asyncio.sleep(0)
        return result


def test_who_has_the_lock_can_leave_it() -> None:
    async def main() -> None:
        cache = SlowCache()

        async def call() -> None:
            async with RedLock(cache, "key", lease=10):
                pass

        async def call_later() -> None:
            for _ in range(4):
                await asyncio.sleep(0)
            await call()

        await asyncio.gather(call(), call_later())

    asyncio.run(main())
