"""python-telegram-bot 22.8: a request is sent although Telegram has asked all to wait.

Promised: ``AIORateLimiter`` halts all requests for as long as one of them is told to wait.
Order: another request is on its way when one is told to wait. When it ends, it lets all others go
on (telegram/ext/_aioratelimiter.py:292), although it was not the one that has halted them (288).
Reported: issue #5338.
"""

import asyncio

from telegram.error import RetryAfter
from telegram.ext import AIORateLimiter


def test_nobody_asks_during_the_halt() -> None:
    async def main() -> None:
        limiter = AIORateLimiter(overall_max_rate=0, group_max_rate=0, max_retries=1)
        time = asyncio.get_running_loop().time
        halted_until = []

        async def request(callback, turns: int) -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            await limiter.process_request(callback, (), {}, "sendMessage", {}, None)

        async def is_told_to_wait() -> bool:
            for _ in range(3):
                await asyncio.sleep(0)
            if not halted_until:
                halted_until.append(time() + 2)
                raise RetryAfter(2)
            return True

        async def answers() -> bool:
            await asyncio.sleep(0)
            assert not halted_until or time() >= halted_until[0], "asked during the halt"
            return True

        await asyncio.gather(request(is_told_to_wait, 0), request(answers, 0), request(answers, 6))

    asyncio.run(main())
