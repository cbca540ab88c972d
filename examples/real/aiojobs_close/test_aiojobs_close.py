"""aiojobs 1.4.0: a task that is cancelled while it closes a job goes on.

Promised: ``Task.cancel`` ends a task that waits.
Order: ``Job._close`` (_job.py:125) waits for the job that it has cancelled, and takes any
cancellation for the end of the job.
Reported: issue #606.
"""

import asyncio

import aiojobs


def test_who_closes_a_job_can_be_cancelled() -> None:
    async def main() -> None:
        async with aiojobs.Scheduler() as scheduler:

            async def work() -> None:
                try:
                    await asyncio.sleep(1)
                finally:
                    await asyncio.sleep(0)

            job = await scheduler.spawn(work())
            await asyncio.sleep(0)
            closing = asyncio.create_task(job.close())
            for _ in range(6):
                await asyncio.sleep(0)
            if closing.cancel():
                await asyncio.wait([closing])
                assert closing.cancelled()

    asyncio.run(main())
