"""py-memoize 3.1.1: a call of a cached function raises AttributeError if another one is cancelled.

Promised: a cached function returns its value.
Order: the second call waits for the value that the first one computes; if that is cancelled, the
second takes the CancelledError for an entry of the cache (wrapper.py:166).
Found by exploring.
"""

import asyncio

from memoize.wrapper import memoize


def test_a_call_is_not_cancelled_with_another() -> None:
    async def main() -> None:
        @memoize()
        async def load(key: str) -> str:
            await asyncio.sleep(0)
            return key

        first, second = asyncio.create_task(load("key")), asyncio.create_task(load("key"))
        for _ in range(8):
            await asyncio.sleep(0)
        first.cancel()
        assert await second == "key"

    asyncio.run(main())
