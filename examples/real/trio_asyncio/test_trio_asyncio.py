"""trio-asyncio 0.12.0: a loop that is cancelled while it opens never ends.

Promised: a nursery in which a task fails cancels the others, and raises the exception.
Order: another task fails after ``open_loop`` has started the loop, and before that runs; whoever
waits for the loop to stop waits for ever.
Reported: issue #115; fixed in 0.13.0.
"""

import contextlib

import trio
import trio_asyncio


def test_a_task_fails_while_another_one_opens_a_loop() -> None:
    async def use() -> None:
        async with trio_asyncio.open_loop():
            await trio.sleep(0)

    async def fail() -> None:
        await trio.sleep(0)
        raise ValueError("failed")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(use)
            nursery.start_soon(fail)

    with contextlib.suppress(ValueError):
        trio.run(main)
