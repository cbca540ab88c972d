"""broadcaster 0.3.1: of two subscribers one never hears anything.

Promised: each subscriber of a channel gets what is published after it has subscribed.
Order: two tasks find that the channel has no subscriber yet. Both ask the backend, and the second
one puts a set of its own in the place of the first one's (broadcaster/_base.py:101).
Found by reading the source; here the backend in memory answers a turn later, as others do.
"""

import asyncio

from broadcaster import Broadcast
from broadcaster._backends.memory import MemoryBackend


class SlowBackend(MemoryBackend):
    async def subscribe(self, channel: str) -> None:
        await asyncio.sleep(0)
        await super().subscribe(channel)


def test_each_subscriber_gets_the_message() -> None:
    heard = []

    async def main() -> None:
        async with Broadcast(backend=SlowBackend("memory://")) as broadcast:

            async def listen(turns: int) -> None:
                for _ in range(turns):
                    await asyncio.sleep(0)
                async with broadcast.subscribe("news") as subscriber:
                    subscribed.release()
                    heard.append((await subscriber.get()).message)

            subscribed = asyncio.Semaphore(0)
            listeners = [asyncio.create_task(listen(turns)) for turns in (0, 4)]
            for _ in listeners:
                await subscribed.acquire()
            await broadcast.publish("news", "hello")
            await asyncio.wait(listeners)

    asyncio.run(main())
    assert heard == ["hello", "hello"]
