"""strawberry 0.142.1: if one who loads a key is cancelled, others wait for ever for theirs.

Promised: ``load`` returns the value of its key.
Order: ``dispatch_batch`` (dataloader.py:210) sets the results of all futures of a batch; at one
that was cancelled meanwhile it raises InvalidStateError, and those behind it get none.
Reported: pull request #2339; fixed in 0.142.2.
"""

import asyncio

from strawberry.dataloader import DataLoader


def test_a_key_is_loaded_although_another_is_cancelled() -> None:
    async def main() -> None:
        async def load(keys: list[int]) -> list[int]:
            await asyncio.sleep(0)
            return keys

        loader = DataLoader(load_fn=load)

        async def ask(key: int) -> int:
            return await loader.load(key)

        first, second = asyncio.create_task(ask(1)), asyncio.create_task(ask(2))
        for _ in range(5):
            await asyncio.sleep(0)
        first.cancel()
        assert await second == 2

    asyncio.run(main())
