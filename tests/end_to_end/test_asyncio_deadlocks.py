"""Deadlocks of asyncio: who waits for what, who has it and since where, and who has failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import bohrbug
from bohrbug.model.outcome import BlockedTask, OutcomeKind
from bohrbug.report.text import failure_text

Main = Callable[[], Coroutine[Any, Any, None]]


def _stuck(main: Main) -> tuple[dict[str, BlockedTask], str]:
    """The blocked tasks by the functions that they run, and the report."""
    (failure,) = bohrbug.explore(main, executions=50).failures
    outcome = failure.outcome
    assert outcome.kind is OutcomeKind.DEADLOCK
    infos = failure.trace.task_infos
    blocked = {infos[each.task].target.rpartition(".")[2]: each for each in outcome.blocked}
    return blocked, " ".join(failure_text(failure, width=1000).split())


async def _in_opposite_orders() -> None:
    left, right = asyncio.Lock(), asyncio.Lock()

    async def within(other: asyncio.Lock) -> None:
        await asyncio.sleep(0)
        async with other:
            pass

    async def one() -> None:
        async with (
            asyncio.timeout(None),
            left,
        ):
            await within(right)

    async def two() -> None:
        async with right:
            await within(left)

    await asyncio.gather(one(), two())


def test_who_has_a_lock_is_found_in_the_frames_of_coroutines() -> None:
    blocked, report = _stuck(_in_opposite_orders)
    one, two = blocked["one"], blocked["two"]
    assert one.holders == (two.task,)
    assert two.holders == (one.task,)
    (left,), (right,) = one.holding, two.holding
    assert left.acquired is not None
    assert right.acquired is not None
    first = _in_opposite_orders.__code__.co_firstlineno
    assert (left.acquired.line - first, right.acquired.line - first) == (11, 16)
    assert "Deadlock: 2 tasks wait for each other" in report
    # Both are called "other" where they are waited for, which would tell nobody which.
    assert "waits for Lock #1" in report
    assert "waits for Lock #2" in report


async def _has_one_notified() -> None:
    condition, never = asyncio.Condition(), asyncio.Event()

    async def waiter() -> None:
        async with condition:
            await condition.wait()

    async def holder() -> None:
        await asyncio.sleep(1)
        async with condition:
            await never.wait()

    async def late() -> None:
        await asyncio.sleep(2)
        async with condition:
            pass

    await asyncio.gather(waiter(), holder(), late())


def test_who_waits_on_a_condition_has_let_go_of_it() -> None:
    blocked, _ = _stuck(_has_one_notified)
    assert blocked["late"].holders == (blocked["holder"].task,)
    assert blocked["waiter"].holders == ()
    assert blocked["waiter"].holding == ()


async def _asks_by_hand() -> None:
    lock = asyncio.Lock()
    await lock.acquire()
    await lock.acquire()


def test_who_has_a_lock_that_was_not_entered_is_not_known() -> None:
    blocked, report = _stuck(_asks_by_hand)
    assert blocked["_asks_by_hand"].holders == ()
    assert "waits for Lock lock" in report


async def _permits() -> None:
    permits, never = asyncio.Semaphore(2), asyncio.Event()

    async def user() -> None:
        async with permits:
            await never.wait()

    async def another() -> None:
        await asyncio.sleep(1)
        async with permits:
            pass

    await asyncio.gather(user(), user(), another())


def test_a_semaphore_has_several_holders() -> None:
    blocked, report = _stuck(_permits)
    assert len(blocked["another"].holders) == 2
    assert "waits for Semaphore permits" in report


async def _worker_dies() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()

    async def worker() -> None:
        while True:
            if await queue.get() == 2:
                raise ValueError("two")
            queue.task_done()

    task = asyncio.create_task(worker())
    queue.put_nowait(1)
    queue.put_nowait(2)
    await queue.join()
    task.cancel()


def test_a_task_that_has_failed_is_told_of() -> None:
    _, report = _stuck(_worker_dies)
    assert "ended with an exception that nobody has retrieved" in report
    assert 'raise ValueError("two")' in report
    assert "waits for Queue queue" in report


@pytest.mark.parametrize("main", [_in_opposite_orders, _permits])
def test_of_nothing_that_has_failed_nothing_is_told(main: Main) -> None:
    assert "Traceback" not in _stuck(main)[1]
