"""strawberry 0.311.0: if one who loads a key is cancelled, others never hear that loading failed.

Promised: ``load`` raises what the function that loads has raised.
Order: ``dispatch_batch`` (dataloader.py:263) sets the exception of all futures of a batch; at one
that was cancelled meanwhile it raises InvalidStateError, and those behind it get none.
Reported: pull request #4300; fixed in 0.311.1.
"""

import asyncio

import pytest
from strawberry.dataloader import DataLoader


def test_who_loads_hears_of_the_error() -> None:
    async def main() -> None:
        async def load(keys: list[int]) -> list[int]:
            await asyncio.sleep(0)
            raise ValueError("no database")

        loader = DataLoader(load_fn=load)

        async def ask(key: int) -> int:
            return await loader.load(key)

        first, second = asyncio.create_task(ask(1)), asyncio.create_task(ask(2))
        for _ in range(5):
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(ValueError, match="no database"):
            await second
        await asyncio.wait([first])

    asyncio.run(main())
