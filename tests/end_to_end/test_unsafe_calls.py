"""Threads that use an event loop which another one runs, as if it were theirs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.report.text import failure_text


async def _is_told(tell: Callable[[asyncio.AbstractEventLoop, asyncio.Event], object]) -> None:
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: tell(loop, event))
    thread.start()
    await event.wait()
    thread.join()


def _sets(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    event.set()


def _sets_safely(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    loop.call_soon_threadsafe(event.set)


def test_deadlock_names_the_call_that_did_not_wake_the_loop() -> None:
    (failure,) = bohrbug.explore(lambda: asyncio.run(_is_told(_sets))).failures
    report = failure_text(failure, width=200)
    assert "Task 0.1.1 called call_soon of an event loop that another thread runs" in report
    assert "which does not wake it up: use call_soon_threadsafe" in report
    stack = report.split("use call_soon_threadsafe", 1)[1].split("Interpreter")[0]
    assert "in _sets\n      event.set()" in stack
    assert "pytest" not in stack


def test_safe_call_is_not_told_of() -> None:
    result = bohrbug.explore(lambda: asyncio.run(_is_told(_sets_safely)))
    assert not result.failures
    assert not result.notices


def _stops(loop: asyncio.AbstractEventLoop) -> None:
    loop.stop()


def _calls_later(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_later(0.1, print)
    loop.call_soon_threadsafe(loop.call_later, 0.2, loop.stop)


@pytest.mark.parametrize(
    ("use", "words"),
    [(_stops, "use call_soon_threadsafe(loop.stop)"), (_calls_later, "(loop.call_later, ...)")],
)
def test_loop_that_goes_on_for_another_reason(
    use: Callable[[asyncio.AbstractEventLoop], object], words: str
) -> None:
    """Here a timer: nothing fails, and nobody would hear of the call."""

    def test() -> None:
        loop = asyncio.new_event_loop()
        is_running = threading.Event()
        loop.call_soon(is_running.set)
        loop.call_later(0.1, lambda: None)
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        is_running.wait()
        use(loop)
        thread.join()
        loop.close()

    result = bohrbug.explore(test, timeouts="late")
    assert not result.failures
    (note,) = [note for note in result.notices if "another thread runs" in note]
    assert words in note
    assert f"test_unsafe_calls.py:{use.__code__.co_firstlineno + 1}" in note
    (failure,) = bohrbug.explore(test, timeouts="late", asyncio_errors="fail").failures
    assert failure.outcome.exception == "AsyncioError"
    assert words in failure.outcome.message


def test_loop_that_does_not_run_may_be_prepared_by_any_thread() -> None:
    def test() -> None:
        loop = asyncio.new_event_loop()
        seen: list[int] = []
        thread = threading.Thread(target=lambda: loop.call_soon(seen.append, 1))
        thread.start()
        thread.join()
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
        assert seen == [1]

    result = bohrbug.explore(test)
    assert not result.failures
    assert not result.notices
