"""anyio 4.3.0: what is sent to a task that is just being cancelled is lost.

Promised: an item that was sent is received, or is still in the stream.
Order: ``MemoryObjectSendStream.send_nowait`` (streams/memory.py:194) hands the item to the first
task that waits for one. If it was cancelled before, and has not run since, it drops the item.
Reported: issue #728; fixed in 4.4.0.
"""

import asyncio

import anyio


def test_the_job_is_not_lost() -> None:
    async def main() -> None:
        send, receive = anyio.create_memory_object_stream(1)
        received = []
        scope = anyio.CancelScope()

        async def work() -> None:
            with scope:
                received.append(await receive.receive())

        async def produce() -> None:
            for _ in range(2):
                await asyncio.sleep(0)
            await send.send("job")

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            group.start_soon(produce)
            for _ in range(2):
                await asyncio.sleep(0)
            scope.cancel()
        if not received:
            received.append(receive.receive_nowait())
        assert received == ["job"]

    asyncio.run(main())
