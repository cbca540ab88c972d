"""anyio 3.3.4: of two tasks that wait for a lock one is cancelled, and the other never gets it.

Promised: a lock that nobody holds can be acquired.
Order: the holder releases the lock (_core/_synchronization.py:159) to the task that has waited
longest; if that is cancelled before it runs, it remains the owner.
Reported: the changes of 3.4.0, where it is fixed.
"""

import asyncio

import anyio


def test_who_is_not_cancelled_gets_the_lock() -> None:
    async def main() -> None:
        lock = anyio.Lock()
        scopes = []

        async def use() -> None:
            async with lock:
                await asyncio.sleep(0)

        async def use_in_a_scope() -> None:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                await use()

        async with anyio.create_task_group() as group:
            group.start_soon(use)
            group.start_soon(use_in_a_scope)
            group.start_soon(use)
            await asyncio.sleep(0)
            for scope in scopes:
                scope.cancel()

    asyncio.run(main())
