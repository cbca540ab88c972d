"""aiorwlock 1.5.0: after a task that waited for a lock is cancelled, nobody gets the lock any more.

Promised: a lock that nobody holds can be acquired.
Order: ``acquire_read`` (aiorwlock/__init__.py:103) takes a reader that is cancelled from the number
of those that read, also if it has not come to read yet; the number is -1 from then on.
Reported: issue #400; fixed in 1.5.1.
"""

import asyncio

from aiorwlock import RWLock


def test_writing_after_a_reader_was_cancelled() -> None:
    async def main() -> None:
        lock = RWLock()

        async def write() -> None:
            async with lock.writer:
                for _ in range(2):
                    await asyncio.sleep(0)

        async def read() -> None:
            async with lock.reader:
                pass

        writer, reader = asyncio.create_task(write()), asyncio.create_task(read())
        for _ in range(4):
            await asyncio.sleep(0)
        reader.cancel()
        await asyncio.wait([writer, reader])
        await write()

    asyncio.run(main())
