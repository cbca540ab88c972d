"""tornado 6.6.1: what is put into a queue is lost with a task that is just being cancelled.

Promised: an item that was put is gotten by somebody, or is still in the queue.
Order: ``Queue.put_nowait`` (queues.py:221) hands the item to the future of a task that waits. If
the task is cancelled before it runs, the item is in that future.
Reported: issue #2826.
"""

import asyncio

from tornado.queues import Queue


def test_the_job_is_not_lost() -> None:
    async def main() -> None:
        queue = Queue()
        received = []

        async def work() -> None:
            received.append(await queue.get())

        async def produce() -> None:
            for _ in range(2):
                await asyncio.sleep(0)
            await queue.put("job")

        worker, producer = asyncio.create_task(work()), asyncio.create_task(produce())
        await asyncio.sleep(0)
        worker.cancel()
        await asyncio.wait([worker, producer])
        if not received:
            received.append(queue.get_nowait())
        assert received == ["job"]

    asyncio.run(main())
