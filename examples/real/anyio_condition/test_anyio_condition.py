"""anyio 4.12.1: a task that is notified and cancelled at the same time keeps the notification.

Promised: ``notify`` wakes one of those that wait.
Order: ``Condition.wait`` (_core/_synchronization.py:336) raises the cancellation of a task that was
notified already, and does not pass the notification on, so that the other one waits for ever.
Reported: pull request #1075; fixed in 4.13.0.
"""

import asyncio

import anyio


def test_a_worker_takes_the_job() -> None:
    async def main() -> None:
        condition = anyio.Condition()
        jobs = []

        async def work() -> None:
            async with condition:
                while not jobs:
                    await condition.wait()
                jobs.pop()

        async def produce() -> None:
            await asyncio.sleep(0)
            async with condition:
                jobs.append("job")
                condition.notify()

        first, second = asyncio.create_task(work()), asyncio.create_task(work())
        while condition.statistics().tasks_waiting < 2:
            await asyncio.sleep(0)
        producer = asyncio.create_task(produce())
        await asyncio.sleep(0)
        first.cancel()
        await producer
        await asyncio.wait([first])
        if first.cancelled():
            await second
        else:
            second.cancel()

    asyncio.run(main())
