"""async-timeout 4.0.3: a task that is cancelled at the moment of its timeout goes on.

Promised: who is cancelled gets ``CancelledError``, and not that its time is over.
Order: the timer cancels the task (async_timeout/__init__.py:234), and the task is cancelled once
more before it goes on; ``__aexit__`` makes ``TimeoutError`` of the one exception that it gets
(228).
Fixed in 5.0.0, which uses asyncio's own timeout with Python 3.11 and newer.
"""

import asyncio

import async_timeout


def test_who_is_cancelled_does_not_go_on() -> None:
    async def main() -> None:
        async def work() -> str:
            try:
                async with async_timeout.timeout(1):
                    await asyncio.Event().wait()
            except TimeoutError:
                pass
            return "went on"

        worker = asyncio.create_task(work())
        await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(None, len, "")
        was_cancelled = worker.cancel()
        await asyncio.wait([worker])
        assert worker.cancelled() or not was_cancelled

    asyncio.run(main())
