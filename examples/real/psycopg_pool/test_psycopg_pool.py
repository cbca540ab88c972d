"""psycopg-pool 3.3.0: a task that is cancelled while it waits for a connection goes on.

Promised: ``Task.cancel`` ends a task that waits.
Order: if the pool has handed on a connection before the cancelled task runs, ``WaitingClient.wait``
(pool_async.py:960) returns that connection and forgets the cancellation.
Reported: issue #1275; fixed in 3.3.1 (on Python 3.11 ``asyncio.wait_for`` still forgets it).
"""

import asyncio
from types import SimpleNamespace
from typing import Self

from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool


class Connection:
    """As much of a connection to a database as the pool asks for."""

    autocommit = True

    def __init__(self) -> None:
        self.pgconn = SimpleNamespace(transaction_status=TransactionStatus.IDLE)

    @classmethod
    async def connect(cls, *args, **kwargs) -> "Connection":
        return cls()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *args) -> None:
        pass

    async def close(self) -> None:
        self.pgconn.transaction_status = TransactionStatus.UNKNOWN


def test_a_task_that_is_cancelled_ends() -> None:
    async def main() -> None:
        pool = AsyncConnectionPool(connection_class=Connection, min_size=1, max_size=1, open=False)
        async with pool:

            async def use() -> None:
                async with pool.connection():
                    for _ in range(3):
                        await asyncio.sleep(0)

            first, second = asyncio.create_task(use()), asyncio.create_task(use())
            await asyncio.sleep(0)
            if second.cancel():
                await asyncio.wait([second])
                assert second.cancelled()
            await asyncio.wait([first])

    asyncio.run(main())
