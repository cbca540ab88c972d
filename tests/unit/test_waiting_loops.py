"""When an event loop under control waits, and when time passes for it."""

from __future__ import annotations

import asyncio
import math
import socket
import threading

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.threads.loops.spinning import BUSY_TURNS, IDLE_TURNS


def test_a_loop_waits_whose_last_callback_was_cancelled() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(print).cancel()
        await loop.run_in_executor(None, threading.get_ident)

    result = bohrbug.explore(lambda: asyncio.run(main()), hang_seconds=1)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert not result.verdict.caveats


def test_a_loop_waits_whose_timer_was_over_and_is_cancelled() -> None:
    """That of ``wait_for`` may be over early, and late behind what it limits."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(5, print)
        await asyncio.sleep(0)
        timer.cancel()
        await loop.run_in_executor(None, threading.get_ident)

    result = bohrbug.explore(lambda: asyncio.run(main()), hang_seconds=1, timeouts="early")
    assert not result.failures
    assert not result.verdict.caveats


def test_a_timer_in_infinity_is_never_over() -> None:
    """As that of ``sleep(math.inf)``, by which anyio sleeps for ever."""

    async def main() -> None:
        sleeps = asyncio.create_task(asyncio.sleep(math.inf))
        await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(None, threading.get_ident)
        sleeps.cancel()
        await asyncio.wait([sleeps])
        assert sleeps.cancelled()

    result = bohrbug.explore(lambda: asyncio.run(main()), timeouts="early", hang_seconds=1)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert math.isfinite(result.virtual_seconds)


def test_who_sleeps_for_ever_waits_for_ever() -> None:
    result = bohrbug.explore(lambda: asyncio.run(asyncio.sleep(math.inf)), hang_seconds=1)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]


def test_who_spins_beside_one_who_sleeps_for_ever_goes_on() -> None:
    """Time passes for who spins, up to the next timer, if there is one."""

    async def main() -> None:
        sleeps = asyncio.create_task(asyncio.sleep(math.inf))
        for _ in range(2 * (BUSY_TURNS + IDLE_TURNS)):
            await asyncio.sleep(0)
        assert math.isfinite(asyncio.get_running_loop().time())
        sleeps.cancel()

    result = bohrbug.explore(lambda: asyncio.run(main()), executions=2, timeouts="late")
    assert not result.failures


def test_no_time_passes_for_many_tasks_that_come_further() -> None:
    """In reality a thousand of these take some milliseconds."""

    async def main() -> None:
        one_at_a_time = asyncio.Semaphore(1)

        async def works() -> None:
            async with asyncio.timeout(1), one_at_a_time:
                await asyncio.sleep(0)

        await asyncio.gather(*[works() for _ in range(800)])

    result = bohrbug.explore(lambda: asyncio.run(main()), executions=2, timeouts="late")
    assert not result.failures
    assert result.virtual_seconds < 1


def test_no_time_passes_while_messages_come() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        mine, yours = socket.socketpair()
        with mine, yours:
            mine.setblocking(False)
            yours.setblocking(False)

            async def answers() -> None:
                while await loop.sock_recv(yours, 1):
                    await loop.sock_sendall(yours, b"y")

            async def asks() -> None:
                for _ in range(400):
                    await loop.sock_sendall(mine, b"x")
                    async with asyncio.timeout(1):
                        await loop.sock_recv(mine, 1)
                mine.shutdown(socket.SHUT_WR)

            await asyncio.gather(answers(), asks())

    result = bohrbug.explore(lambda: asyncio.run(main()), executions=2, timeouts="late")
    assert not result.failures
    assert result.virtual_seconds < 1


@pytest.mark.parametrize("looks_at_the_time", [True, False])
def test_time_passes_for_a_loop_that_spins(looks_at_the_time: bool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + 5
        over: list[int] = []
        loop.call_at(end, over.append, 1)
        while loop.time() < end if looks_at_the_time else not over:
            await asyncio.sleep(0)

    result = bohrbug.explore(lambda: asyncio.run(main()), executions=2, timeouts="late")
    assert not result.failures
    assert result.virtual_seconds >= 5
    assert result.points < 2 * BUSY_TURNS
