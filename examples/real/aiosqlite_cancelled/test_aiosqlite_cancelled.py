"""aiosqlite 0.15.0: the result of a query that was cancelled raises InvalidStateError in the loop.

Promised: a query can be cancelled, or time out.
Order: the thread sets the result of the query (aiosqlite/core.py:97) although its future was
cancelled before it had found it.
Reported: issue #80; fixed in 0.16.0.
"""

import asyncio

import aiosqlite


def test_a_query_that_is_cancelled() -> None:
    errors = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: errors.append(context["message"]))
        async with aiosqlite.connect(":memory:") as connection:
            query = asyncio.create_task(connection.execute_fetchall("select 1"))
            await asyncio.sleep(0.1)
            query.cancel()
            await asyncio.wait([query])
            rows = await connection.execute_fetchall("select 2")
            assert list(rows) == [(2,)]

    asyncio.run(main())
    assert not errors, errors
