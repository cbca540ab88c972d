"""asyncio-connection-pool 1.1.1: a task that is cancelled when its turn comes keeps the connection.

Promised: a connection that nobody uses is given to one who waits.
Order: a task of the pool's own waits for a connection (__init__.py:97) on behalf of the one that
wants to use it; if that one is cancelled (141) when a connection has come, nobody puts it back.
Found by exploring.
"""

import asyncio

from asyncio_connection_pool import ConnectionPool, ConnectionStrategy


class Strategy(ConnectionStrategy):
    """Connections that are nothing but objects."""

    async def make_connection(self) -> object:
        await asyncio.sleep(0)
        return object()

    def connection_is_closed(self, connection: object) -> bool:
        return False

    async def close_connection(self, connection: object) -> None:
        pass


def test_who_is_not_cancelled_gets_a_connection() -> None:
    async def main() -> None:
        pool = ConnectionPool(strategy=Strategy(), max_size=1)

        async def use() -> None:
            async with pool.get_connection():
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(use()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await tasks[0]
        await tasks[2]

    asyncio.run(main())
