"""trio-util 0.4.0: a value that is composed of others misses a change of one of them.

Promised: a composite value changes with its parts.
Order: ``compose_values`` (_async_value.py:229) reads the parts, and then starts tasks that wait for
changes of them (238); what changes before such a task has begun is not seen.
Reported: the changes of 0.4.1, where it is fixed.
"""

import trio
from trio_util import AsyncValue, compose_values


def test_a_change_is_seen() -> None:
    async def main() -> None:
        x, y = AsyncValue(0), AsyncValue(0)

        async def change() -> None:
            x.value = 10

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            async with compose_values(x=x, y=y) as both:
                await both.wait_value(lambda value: value.x == 10)

    trio.run(main)
