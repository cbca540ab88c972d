"""cached-property 2.0.1: if one task that reads a property is cancelled, so is another one.

Promised: an async property is computed once, and gives its value to all who read it.
Order: all wait for one future (cached_property.py:36), which is cancelled with whoever of them is.
Found by reading the source.
"""

import asyncio

from cached_property import cached_property


class Page:
    """Has a text that takes a while to load."""

    @cached_property
    async def text(self) -> str:
        await asyncio.sleep(0)
        return "text"


def test_a_reader_is_not_cancelled_with_another() -> None:
    async def main() -> None:
        page = Page()

        async def read() -> str:
            return await page.text

        first, second = asyncio.create_task(read()), asyncio.create_task(read())
        for _ in range(4):
            await asyncio.sleep(0)
        first.cancel()
        assert await second == "text"

    asyncio.run(main())
