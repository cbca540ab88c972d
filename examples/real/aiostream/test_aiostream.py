"""aiostream 0.4.1: leaving a merged stream early raises RuntimeError.

Promised: a stream can be left at any time.
Order: if another of the merged streams ends in the same turn of the loop, ``cancel_task``
(manager.py:36) waits for its task, and its StopAsyncIteration goes on from there.
Reported: the changes of 0.4.2.
"""

import asyncio
from collections.abc import AsyncIterator

from aiostream import stream


def test_the_first_item_is_enough() -> None:
    async def main() -> None:
        async def numbers() -> AsyncIterator[int]:
            await asyncio.sleep(0)
            yield 1
            await asyncio.sleep(0)
            yield 2

        async def nothing() -> AsyncIterator[int]:
            await asyncio.sleep(0)
            for number in ():
                yield number

        async with stream.merge(numbers(), nothing()).stream() as merged:
            async for _ in merged:
                break

    asyncio.run(main())
