"""async-lru 2.0.3: whoever calls a cached function while the cache is cleared waits for ever.

Promised: a cached function returns what the function returns.
Order: ``cache_clear`` forgets the tasks that run the function (async_lru/__init__.py:121), so that
``_task_done_callback`` (165) raises KeyError before it hands on the result.
Reported: issue #503; fixed in 2.0.4.
"""

import asyncio

from async_lru import alru_cache


def test_a_value_while_the_cache_is_cleared() -> None:
    async def main() -> None:
        @alru_cache
        async def load(key: str) -> str:
            await asyncio.sleep(0)
            return key.upper()

        async def read() -> str:
            for _ in range(2):
                await asyncio.sleep(0)
            return await load("key")

        async def forget() -> None:
            await asyncio.sleep(0)
            load.cache_clear()

        value, _ = await asyncio.gather(read(), forget())
        assert value == "KEY"

    asyncio.run(main())
