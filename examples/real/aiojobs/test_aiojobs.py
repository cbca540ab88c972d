"""aiojobs 1.0.0: a scheduler that is at its limit never starts another job.

Promised: who spawns a job while too many are pending waits until there is room.
Order: a job that waits for room counts as active (aiojobs/_scheduler.py:70). If it comes while
one job runs and one is pending, the end of the first one starts none (114), and nothing ever does.
Reported: issue #98, pull request #135; fixed in 1.1.0.
"""

import asyncio

import aiojobs


def test_every_job_runs() -> None:
    ran = []

    async def main() -> None:
        if hasattr(aiojobs, "create_scheduler"):
            scheduler = await aiojobs.create_scheduler(limit=1, pending_limit=1)
        else:
            scheduler = aiojobs.Scheduler(limit=1, pending_limit=1)

        async def job(number: int) -> None:
            await asyncio.sleep(0)
            ran.append(number)

        async def spawn_later(number: int, turns: int) -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            await scheduler.spawn(job(number))

        await asyncio.gather(spawn_later(0, 1), spawn_later(1, 1), spawn_later(2, 5))
        while scheduler.active_count or scheduler.pending_count:
            await asyncio.sleep(0.1)
        await scheduler.close()

    asyncio.run(main())
    assert sorted(ran) == [0, 1, 2]
