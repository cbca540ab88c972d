"""Reports call a timer of asyncio by where the program has set it."""

from __future__ import annotations

import asyncio

import bohrbug
from bohrbug.report.text import failure_text


def _receive_in_time() -> None:
    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue()

        async def produce() -> None:
            await asyncio.sleep(0.04)
            await queue.put(1)

        async def receive() -> int:
            return await asyncio.wait_for(queue.get(), 0.05)  # the timer

        received, _ = await asyncio.gather(receive(), produce())
        assert received == 1

    asyncio.run(main())


def _line_of(text: str) -> int:
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(text))


def test_a_timer_has_the_place_where_it_was_set() -> None:
    result = bohrbug.explore(_receive_in_time, executions=300, seconds=None)
    (failure,) = result.failures
    text = " ".join(failure_text(failure).split())
    place = f"test_timers_in_reports.py:{_line_of('# the timer')}"
    assert f"It fails if and only if the timer ({place})" in text
    assert f"set at {place}, fires although" in text
    assert "the callback (tasks.py" not in text
