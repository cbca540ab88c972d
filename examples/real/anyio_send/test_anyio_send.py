"""anyio 4.16.0: an item is sent although the task that sends it was cancelled.

Expected: what is not sent has not been received, and is sent once if the sender tries again.
Order: the receiver takes the item from the task that waits in ``send``, and sets its event; if that
task is cancelled before it runs again, ``send`` (streams/memory.py:278) raises the cancellation.
Reported: issue #536.
"""

import asyncio
import contextlib

import anyio


def test_what_was_received_was_sent() -> None:
    async def main() -> None:
        sender, receiver = anyio.create_memory_object_stream(0)
        sent, received, scopes = [], [], []

        async def send() -> None:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                await sender.send("item")
                sent.append("item")

        async def receive() -> None:
            await asyncio.sleep(0)
            with contextlib.suppress(anyio.EndOfStream):
                received.append(await receiver.receive())

        first, second = asyncio.create_task(send()), asyncio.create_task(receive())
        await asyncio.sleep(0)
        scopes[0].cancel()
        await first
        sender.close()
        await asyncio.wait([second])
        assert received == sent

    asyncio.run(main())
