"""asyncstdlib 3.14.0: of two readers of a ``tee`` one misses the last item.

Promised: if items may be asked for concurrently, the readers of a ``tee`` may be used concurrently,
and each of them sees all items.
Order: both readers ask for an item, and the one that asks last hears at once that there are no more
(itertools.py:396); it ends, although the other one's item is still to come.
Found by exploring.
"""

import asyncio

import asyncstdlib


class Numbers:
    """1 and 2."""

    def __init__(self) -> None:
        self.last = 0

    def __aiter__(self) -> "Numbers":
        return self

    async def __anext__(self) -> int:
        if self.last == 2:
            raise StopAsyncIteration
        self.last += 1
        number = self.last
        await asyncio.sleep(0)
        return number


def test_each_reader_sees_each_number() -> None:
    async def main() -> None:
        first, second = asyncstdlib.tee(Numbers(), 2)

        async def read_slowly() -> list[int]:
            numbers = []
            async for number in second:
                numbers.append(number)
                await asyncio.sleep(0)
            return numbers

        fast = asyncio.create_task(asyncstdlib.list(first))
        for _ in range(2):
            await asyncio.sleep(0)
        assert await read_slowly() == await fast == [1, 2]

    asyncio.run(main())
