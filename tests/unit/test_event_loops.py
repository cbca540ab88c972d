"""Event loops of asyncio that other threads call."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from tests.programs.together import together

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


def between(
    use: Callable[[asyncio.Task[int], asyncio.Lock, asyncio.Semaphore], object],
) -> set[Any]:
    """What a loop's task comes to, and what its use gives in a thread that is not the loop's."""
    found = set()

    def test() -> None:
        gave: list[object] = []

        async def main() -> None:
            lock, semaphore = asyncio.Lock(), asyncio.Semaphore(1)

            async def work() -> int:
                async with lock, semaphore:
                    await asyncio.sleep(0)
                await asyncio.sleep(0)
                return 1

            task = asyncio.ensure_future(work())
            thread = threading.Thread(target=lambda: gave.append(use(task, lock, semaphore)))
            thread.start()
            await asyncio.wait([task])
            thread.join()
            found.add((task.cancelled(), *gave))

        asyncio.run(main())

    result = bohrbug.explore(test, timeouts="late", executions=400)
    assert not result.failures
    return found


def test_a_task_that_another_thread_cancels_may_end_before() -> None:
    assert between(lambda task, lock, semaphore: task.cancel()) >= {(True, True), (False, False)}


def test_whether_a_task_is_done_depends_on_when_another_thread_asks() -> None:
    assert between(lambda task, lock, semaphore: task.done()) == {(False, True), (False, False)}


def test_so_does_whether_a_lock_is_taken() -> None:
    assert between(lambda task, lock, semaphore: lock.locked()) == {(False, True), (False, False)}


def test_so_does_whether_a_semaphore_is() -> None:
    locked = between(lambda task, lock, semaphore: semaphore.locked())
    assert locked == {(False, True), (False, False)}


def test_a_loop_that_another_thread_stops_may_not_have_come_to_its_end() -> None:
    found = set()

    def test() -> None:
        out: list[int] = []
        loop = asyncio.new_event_loop()
        loop.call_soon(out.append, 1)
        loop.call_soon(lambda: loop.call_soon(lambda: (out.append(2), loop.stop())))
        thread = threading.Thread(target=loop.stop)
        thread.start()
        loop.run_forever()
        thread.join()
        loop.close()
        found.add(tuple(out))

    assert not bohrbug.explore(test, executions=200).failures
    assert found == {(1,), (1, 2)}


def test_what_gives_way_may_come_after_what_is_ready_since() -> None:
    """Nothing else has to run in that turn, and the descriptor was not ready at its beginning."""
    found = set()

    def test() -> None:
        async def main() -> None:
            ours, theirs = socket.socketpair()
            theirs.setblocking(False)
            with ours, theirs:
                loop = asyncio.get_running_loop()
                receiver = asyncio.create_task(loop.sock_recv(theirs, 1))

                async def send() -> None:
                    ours.send(b"x")

                await asyncio.sleep(0)
                sender = asyncio.create_task(send())
                await asyncio.sleep(0)
                found.add(receiver.done())
                await asyncio.gather(sender, receiver)

        asyncio.run(main())

    done = bohrbug.explore(test, strategy="dpor", executions=200)
    assert not done.failures
    assert done.verdict.reason == "every schedule was executed", done.verdict
    assert found == {False, True}


def all_of(come_to: Callable[[], Coroutine[Any, Any, Any]]) -> set[Any]:
    """All that a coroutine comes to, by partial-order reduction."""
    found = set()
    done = bohrbug.explore(
        lambda: found.add(asyncio.run(come_to())), strategy="dpor", executions=500
    )
    assert not done.failures
    assert done.verdict.reason == "every schedule was executed", done.verdict
    return found


def test_a_timeout_may_come_before_what_cancels_it() -> None:
    """Its timer never fires where the event is in time: nothing else tells of it."""

    async def main() -> bool:
        event = asyncio.Event()

        async def bring() -> None:
            await asyncio.sleep(1)
            event.set()

        bringing = asyncio.create_task(bring())
        is_in_time = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await event.wait()
                is_in_time = True
        await bringing
        return is_in_time

    assert all_of(main) == {True, False}


def test_a_descriptor_may_be_seen_before_it_is_watched_no_longer() -> None:
    """Whoever gives way first, stops watching what is ready by then."""

    async def main() -> bool:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            loop = asyncio.get_running_loop()
            seen: list[bytes] = []
            loop.add_reader(theirs, lambda: seen.append(theirs.recv(1)))
            ours.send(b"x")
            await asyncio.sleep(0)
            loop.remove_reader(theirs)
            return bool(seen)

    assert all_of(main) == {True, False}


def test_the_future_of_a_closed_loop_may_be_looked_at() -> None:
    """As finalizers do that tidy up what a loop has left."""

    def test() -> None:
        loop = asyncio.new_event_loop()
        future = loop.create_future()
        loop.close()
        looks = []

        def look() -> None:
            looks.append(future.done())

        thread = threading.Thread(target=look)
        thread.start()
        look()
        thread.join()
        assert looks == [False, False]

    done = bohrbug.explore(test, level="all")
    assert done.verdict.kind is VerdictKind.HOLDS, done.verdict


@pytest.mark.parametrize("strategy", ["random", "pct", "pos", "surw", "rff"])
def test_each_strategy_that_draws_lets_arrivals_be_late(strategy: str) -> None:
    async def come_to() -> str:
        order = []

        async def once() -> None:
            await asyncio.sleep(0)
            order.append("a")

        async def twice() -> None:
            for name in "bc":
                await asyncio.sleep(0)
                order.append(name)

        await asyncio.gather(once(), twice())
        return "".join(order)

    found = set[str]()
    done = bohrbug.explore(
        lambda: found.add(asyncio.run(come_to())), strategy=strategy, executions=400
    )
    assert not done.failures
    assert found == all_of(come_to) == {"abc", "bac", "bca"}


def asked_while_it_is_closed(lock: contextlib.AbstractContextManager[Any]) -> None:
    """One thread closes a loop, another one looks whether it is closed before it asks for more."""
    loop = asyncio.new_event_loop()

    def close() -> None:
        with lock:
            loop.close()

    def ask() -> None:
        with lock:
            if not loop.is_closed():
                loop.call_soon_threadsafe(int)

    together(close, ask)


def asked_when_it_has_run() -> None:
    """A thread that the loop does not wait for asks it for something."""

    def ask(loop: asyncio.AbstractEventLoop) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(int)

    async def main() -> threading.Thread:
        thread = threading.Thread(target=ask, args=(asyncio.get_running_loop(),))
        thread.start()
        return thread

    asyncio.run(main()).join()


@pytest.mark.parametrize(
    "program", [lambda: asked_while_it_is_closed(contextlib.nullcontext()), asked_when_it_has_run]
)
def test_a_loop_may_be_closed_before_another_thread_asks_it(program: Callable[[], None]) -> None:
    result = bohrbug.explore(program, strategy="dpor", executions=50)
    assert [failure.outcome.exception for failure in result.failures] == ["RuntimeError"]


def test_with_a_lock_it_is_not() -> None:
    result = bohrbug.explore(
        lambda: asked_while_it_is_closed(threading.Lock()), strategy="dpor", executions=50
    )
    assert result.verdict.kind is VerdictKind.HOLDS
