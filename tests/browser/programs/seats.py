"""A seat is sold twice."""

import asyncio


class Seats:
    def __init__(self, free: int) -> None:
        self.free = free
        self.sold: list[str] = []

    async def pay(self, who: str) -> None:
        await asyncio.sleep(0)

    async def book(self, who: str) -> None:
        if self.free > 0:
            await self.pay(who)
            self.free -= 1
            self.sold.append(who)


async def late(seats: Seats, who: str) -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await seats.book(who)


async def main() -> None:
    seats = Seats(1)
    await asyncio.gather(seats.book("Ada"), late(seats, "Bob"))
    assert seats.free == 0, f"{seats.free} seats are free, sold to {seats.sold}"


asyncio.run(main())
