"""aiostream: a merge of three streams; the test expects that the first one is the first to end."""

import asyncio
import random

from aiostream import stream


async def ticks(name):
    for number in range(3):
        await asyncio.sleep(random.random() * 0.002)
        yield name, number


async def merged():
    async with stream.merge(ticks("a"), ticks("b"), ticks("c")).stream() as streamer:
        return [item async for item in streamer]


def test_the_first_stream_ends_first():
    result = asyncio.run(merged())
    last = [name for name, number in result if number == 2]
    assert last[0] == "a"
