"""aiosqlite 0.22.1: the thread of a connection dies of the end of its event loop.

Promised: a task that uses a connection can be cancelled at the end of a program.
Order: ``asyncio.run`` cancels the task, and closes the loop, before the thread has given it what it
has found (aiosqlite/core.py:66); the exception of that can't be given to the loop either (75).
Reported: issue #241.
"""

import asyncio

import aiosqlite


def test_a_connection_is_in_use_at_the_end() -> None:
    async def use() -> None:
        async with aiosqlite.connect(":memory:") as connection:
            await connection.execute("select 1")

    async def main() -> None:
        user = asyncio.create_task(use())
        await asyncio.sleep(0.1)
        user.cancel()

    asyncio.run(main())
