"""anyio 4.16.0: a call of a cached function raises KeyError.

Promised: a function with ``lru_cache`` returns its value.
Order: what is still being computed is an entry of the cache, too. If the cache is full, a call with
other arguments throws it out (functools.py:201); who waits for it then looks for it (198).
Found by exploring.
"""

import asyncio

from anyio.functools import lru_cache


def test_each_call_gives_its_value() -> None:
    async def main() -> None:
        @lru_cache(maxsize=1)
        async def load(key: str) -> str:
            await asyncio.sleep(0)
            return key

        async def read_and_load(key: str) -> str:
            for _ in range(5):
                await asyncio.sleep(0)
            return await load(key)

        assert await asyncio.gather(load("a"), load("a"), read_and_load("b")) == ["a", "a", "b"]

    asyncio.run(main())
