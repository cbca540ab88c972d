"""CPython 3.11.7's asyncio.

Each test tells what is expected and which order breaks it; numbers are those of CPython's tracker.
The cancellation that ``wait_for`` swallows is fixed in 3.12, the others in 3.13.
"""

import asyncio


def test_a_worker_takes_the_job() -> None:
    """``Condition.wait`` keeps a notification for a task that is cancelled (gh-112202)."""

    async def main() -> None:
        condition = asyncio.Condition()
        jobs: list[str] = []

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


def test_a_worker_that_is_cancelled_stops() -> None:
    """``wait_for`` swallows a cancellation that comes with the result (gh-86296)."""

    async def main() -> None:
        lock = asyncio.Lock()

        async def hold() -> None:
            async with lock:
                for _ in range(2):
                    await asyncio.sleep(0)

        async def work() -> None:
            await asyncio.wait_for(lock.acquire(), timeout=60)
            lock.release()

        holder, worker = asyncio.create_task(hold()), asyncio.create_task(work())
        await asyncio.sleep(0)
        if worker.cancel():
            await asyncio.wait([worker])
            assert worker.cancelled()
        await holder

    asyncio.run(main())


def test_groups_in_groups() -> None:
    """A group that fails while it is cancelled by another one hides that (gh-116720)."""

    async def main() -> None:
        async def fail() -> None:
            await asyncio.sleep(0)
            raise ValueError

        async def inner() -> None:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fail())
            except* ValueError:
                pass
            await asyncio.sleep(0)

        task = asyncio.create_task(inner())
        await asyncio.sleep(0)
        if task.cancel():
            await asyncio.wait([task])
            assert task.cancelled()

    asyncio.run(main())
