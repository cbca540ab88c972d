"""limits 5.2.0: three requests of one user pass a limit of two.

Promised: the moving window lets two requests a day pass.
Order: ``MemoryStorage.__expire_events`` (aio/storage/memory.py:70) counts in a thread how many
requests to keep, and keeps that many once it has the lock (76). Of the requests that came
meanwhile, as many are forgotten.
Reported: issue #277; fixed in 5.3.0.
"""

import asyncio

from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter


def test_two_requests_a_day() -> None:
    async def main() -> None:
        limiter = MovingWindowRateLimiter(MemoryStorage())
        limit = parse("2/day")

        async def request(number: int) -> bool:
            for _ in range(number):
                await asyncio.sleep(0)
            return await limiter.hit(limit, "user")

        allowed = await asyncio.gather(*[request(number) for number in range(3)])
        assert sum(allowed) == 2

    asyncio.run(main())
