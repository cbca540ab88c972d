"""async-property 0.2.2: a cached property is loaded twice if a task that waits for it is cancelled.

Promised: a cached property is loaded once for all that await it.
Order: the task that loads it is cancelled while another one waits for the lock
(async_property/cached.py:111); that one finds nothing in the cache, and loads again.
Reported: pull request #20.
"""

import asyncio

from async_property import async_cached_property


class Account:
    def __init__(self) -> None:
        self.requests = 0

    @async_cached_property
    async def token(self) -> object:
        self.requests += 1
        await asyncio.sleep(0)
        return object()


def test_a_token_is_requested_once() -> None:
    async def main() -> None:
        account = Account()

        async def use() -> object:
            return await account.token

        first, second = asyncio.create_task(use()), asyncio.create_task(use())
        for _ in range(3):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first, second])
        assert account.requests == 1

    asyncio.run(main())
