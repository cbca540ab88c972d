"""What asyncio logs, while it is under control and after."""

from __future__ import annotations

import asyncio

import pytest

import bohrbug


def test_asyncio_logs_nothing_of_an_execution_that_has_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What its tasks leave behind dies with it; natively that would be told once, at most."""

    async def fails() -> None:
        raise ValueError("lost")

    async def main() -> None:
        task = asyncio.ensure_future(fails())
        await asyncio.wait([task])
        raise AssertionError

    result = bohrbug.explore(lambda: asyncio.run(main()), timeouts="late")
    assert result.failures
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_a_loop_that_goes_on_after_its_execution_logs_as_always(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    def test() -> None:
        loops.append(asyncio.new_event_loop())
        loops[-1].run_until_complete(asyncio.sleep(0))

    bohrbug.explore(test)
    loops[0].call_soon(lambda: 1 / 0)
    loops[0].run_until_complete(asyncio.sleep(0))
    for loop in loops:
        loop.close()
    assert [record.name for record in caplog.records] == ["asyncio"]
