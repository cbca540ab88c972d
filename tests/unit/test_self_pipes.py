"""The sockets by which loops of asyncio wake themselves, made only for who needs them."""

from __future__ import annotations

import asyncio
import selectors
import socket
import threading
import time
import unittest.mock
from functools import partial
from typing import Any

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind

Pair = tuple[Any, Any]


def pair_of(loop: Any) -> Pair | None:
    own = vars(loop)
    return (own["_ssock"], own["_csock"]) if "_ssock" in own else None


def test_a_loop_that_nobody_else_wakes_has_none() -> None:
    seen: list[Pair | None] = []

    async def main() -> None:
        await asyncio.sleep(0.01)
        seen.append(pair_of(asyncio.get_running_loop()))

    assert bohrbug.explore(lambda: asyncio.run(main())).verdict.kind is VerdictKind.HOLDS
    assert set(seen) == {None}


def test_a_thread_under_control_wakes_a_loop_without_them() -> None:
    seen: list[Pair | None] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        threading.Thread(target=loop.call_soon_threadsafe, args=(came.set,)).start()
        await came.wait()
        seen.append(pair_of(loop))

    assert bohrbug.explore(lambda: asyncio.run(main())).verdict.kind is VerdictKind.HOLDS
    assert set(seen) == {None}


def test_who_asks_for_them_has_them_without_another_step() -> None:
    def program(asks: bool) -> None:
        ran: list[int] = []

        async def main() -> None:
            if asks:
                loop: Any = asyncio.get_running_loop()
                assert loop._csock.fileno() >= 0
                assert loop._ssock.fileno() in loop._selector.get_map()
            ran.append(1)

        other = threading.Thread(target=ran.append, args=(2,))
        other.start()
        asyncio.run(main())
        other.join()

    executed = {bohrbug.explore(partial(program, asks)).executions for asks in (False, True)}
    assert len(executed) == 1


def test_who_comes_after_them_has_the_same_name_as_without_them() -> None:
    def program(asks: bool) -> None:
        async def fail() -> None:
            raise AssertionError("here")

        async def main() -> None:
            loop: Any = asyncio.get_running_loop()
            if asks:
                assert loop._csock is not None
            await asyncio.create_task(fail())

        asyncio.run(main())

    names = set()
    for asks in (False, True):
        (failure,) = bohrbug.explore(partial(program, asks)).failures
        names.add(frozenset(step.task for step in failure.trace.steps()))
    assert len(names) == 1


def test_a_loop_that_outlives_the_exploration_has_them() -> None:
    kept: list[Any] = []

    def program() -> None:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(asyncio.sleep(0))
        kept.append(loop)

    bohrbug.explore(program)
    assert kept
    for loop in kept:
        came = asyncio.Event()
        timer = threading.Timer(0.01, loop.call_soon_threadsafe, (came.set,))
        timer.start()
        loop.run_until_complete(asyncio.wait_for(came.wait(), 60))
        timer.join()
        loop.close()
        assert pair_of(loop) == (None, None)


def test_a_loop_of_an_earlier_execution_runs_in_a_later_one() -> None:
    kept: list[Any] = []

    def program() -> None:
        if not kept:
            kept.append(asyncio.new_event_loop())
        kept[0].run_until_complete(asyncio.sleep(0))
        other = threading.Thread(target=time.sleep, args=(0,))
        other.start()
        other.join()

    result = bohrbug.explore(program, executions=10)
    assert not result.failures
    kept[0].close()


class Waiting(selectors.SelectSelector):
    """A selector with a way of its own to wait."""

    def select(self, timeout: float | None = None) -> list[Any]:
        return super().select(timeout)


def test_a_loop_that_begins_to_wait_by_itself_has_them() -> None:
    seen: list[Pair | None] = []

    def program() -> None:
        loop: Any = asyncio.SelectorEventLoop(selectors.SelectSelector())

        async def main() -> None:
            await asyncio.sleep(0)
            seen.append(pair_of(loop))

        with unittest.mock.patch.object(loop._selector, "select", loop._selector.select):
            loop.run_until_complete(main())
        loop.close()

    assert not bohrbug.explore(program, executions=5).failures
    assert None not in seen


def test_a_loop_of_a_class_that_waits_by_itself_has_them_from_the_start() -> None:
    def program() -> None:
        loop = asyncio.SelectorEventLoop(Waiting())
        assert pair_of(loop) is not None
        loop.close()

    assert not bohrbug.explore(program, executions=5).failures


def test_a_closed_loop_has_none_and_is_told_nothing() -> None:
    def program() -> None:
        loop: Any = asyncio.new_event_loop()
        loop.close()
        assert (loop._ssock, loop._csock) == (None, None)
        loop._write_to_self()
        loop.close()

    assert not bohrbug.explore(program).failures


def test_tasks_are_not_told_apart_where_the_loop_watches_something() -> None:
    """What comes through a descriptor leads from one task to the other."""
    outcomes = set()

    def program() -> None:
        near, far = socket.socketpair()
        received: list[bytes] = []
        seen: list[int] = []

        async def send() -> None:
            await asyncio.sleep(0)
            far.send(b"x")

        async def look() -> None:
            await asyncio.sleep(0)
            seen.append(len(received))

        async def main() -> None:
            loop = asyncio.get_running_loop()
            loop.add_reader(near, lambda: received.append(near.recv(1)))
            await asyncio.gather(send(), look())
            loop.remove_reader(near)

        with near, far:
            asyncio.run(main())
        outcomes.update(seen)

    assert bohrbug.explore(program, strategy="dpor").verdict.kind is VerdictKind.HOLDS
    assert outcomes == {0, 1}
