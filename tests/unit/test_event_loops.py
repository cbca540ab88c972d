"""Event loops of asyncio that other threads call."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable

import pytest

import bohrbug

Call = Callable[[asyncio.AbstractEventLoop, asyncio.Event], object]


def in_time(call: Call) -> bool:
    """A thread waits for an event in its loop; whether a call in this one brings it."""
    loop = asyncio.new_event_loop()
    event = asyncio.Event()
    came = []

    async def wait() -> None:
        began = time.monotonic()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), 1_000)
        # A loop that wakes up for the timeout finds the call then, and sets the event after all.
        came.append(time.monotonic() - began < 1_000)

    thread = threading.Thread(target=lambda: loop.run_until_complete(wait()))
    thread.start()
    # Such calls may also meet the loop halfway: "deque mutated during iteration".
    with contextlib.suppress(RuntimeError):
        call(loop, event)
    thread.join()
    loop.close()
    return came == [True]


CALLS: dict[str, Call] = {
    "call_soon": lambda loop, event: loop.call_soon(event.set),
    "call_later": lambda loop, event: loop.call_later(0.001, event.set),
    "event.set": lambda _, event: event.set(),
}


def results_of(call: Call) -> set[bool]:
    """All that can happen, up to timeouts that fire although there is something to do."""
    results = set()
    done = bohrbug.explore(
        lambda: results.add(in_time(call)), strategy="dpor", timeouts="late", executions=50
    )
    assert not done.failures
    assert done.verdict.reason == "every schedule was executed", done.verdict
    return results


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_does_not_wake_the_loop_may_come_too_late(name: str) -> None:
    """It does where the loop waits already, and only there."""
    assert results_of(CALLS[name]) == {True, False}


def test_a_call_that_wakes_the_loop_never_does() -> None:
    """The same, made as asyncio asks for."""
    assert results_of(lambda loop, event: loop.call_soon_threadsafe(event.set)) == {True}
