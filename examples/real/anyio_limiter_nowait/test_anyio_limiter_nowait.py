"""anyio 4.14.1: two tasks use a limiter of one token at the same time.

Promised: no more tasks go on than there are tokens.
Order: ``CapacityLimiter._notify_next_waiter`` (_backends/_asyncio.py:2073) wakes the next task,
which takes its token only when it runs (2109). Until then ``acquire_nowait`` gives it away.
Reported: issue #1170; fixed in 4.14.2.
"""

import asyncio

import anyio


def test_one_task_at_a_time() -> None:
    async def main() -> None:
        limiter = anyio.CapacityLimiter(1)
        users = 0

        async def work() -> None:
            nonlocal users
            users += 1
            assert users == 1
            await asyncio.sleep(0)
            users -= 1

        async def use() -> None:
            async with limiter:
                await work()

        async def use_if_free() -> None:
            await asyncio.sleep(0)
            try:
                limiter.acquire_nowait()
            except anyio.WouldBlock:
                return
            await work()
            limiter.release()

        await asyncio.gather(use(), use(), use_if_free())

    asyncio.run(main())
