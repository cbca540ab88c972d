"""aiorwlock 1.1.0: two tasks write at the same time.

Promised: a writer is alone.
Order: ``_wake_up`` wakes the next writer, which counts itself only when it runs
(aiorwlock/__init__.py:123). Who asks for the lock before that gets it, too.
Reported: issue #235, pull request #236; fixed in 1.2.0.
"""

import asyncio

from aiorwlock import RWLock


def test_a_writer_is_alone() -> None:
    async def main() -> None:
        lock = RWLock()
        writers = 0

        async def write() -> None:
            nonlocal writers
            async with lock.writer:
                writers += 1
                assert writers == 1
                await asyncio.sleep(0)
                writers -= 1

        async def read_and_write() -> None:
            await asyncio.sleep(0)
            await write()

        await asyncio.gather(write(), write(), read_and_write())

    asyncio.run(main())
