"""Threads that look twice at what an event loop of another thread has, and may change meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind

from .guarding import Guard
from .looking_twice import name_of

Looks = tuple[Callable[[], object], Callable[[], object]]
"""What looks at something, and what changes it in the loop."""


def _seen_twice(guard: Guard, make: Callable[[], Awaitable[Looks]]) -> None:
    kept: list[bool] = []

    def look_twice(look: Callable[[], object]) -> None:
        with guard:
            first, second = look(), look()
        kept.append(first == second)

    async def main() -> threading.Thread:
        look, change = await make()
        thread = threading.Thread(target=look_twice, args=(look,))
        thread.start()
        await asyncio.sleep(0)
        with guard:
            change()
        return thread

    asyncio.run(main()).join()
    assert kept == [True]


async def _length_of_a_queue() -> Looks:
    queue: asyncio.Queue[int] = asyncio.Queue()
    return lambda: queue.qsize(), lambda: queue.put_nowait(1)


async def _full_queue() -> Looks:
    queue: asyncio.Queue[int] = asyncio.Queue(1)
    return lambda: queue.full(), lambda: queue.put_nowait(1)


async def _text_of_a_queue() -> Looks:
    queue: asyncio.Queue[int] = asyncio.Queue(1)
    queue.put_nowait(1)
    return lambda: "tasks=1" in repr(queue), lambda: queue.task_done()


async def _queue_of_priorities() -> Looks:
    queue: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
    return lambda: queue.qsize(), lambda: queue.put_nowait(1)


async def _last_in_first_out() -> Looks:
    queue: asyncio.LifoQueue[int] = asyncio.LifoQueue()
    queue.put_nowait(1)
    return lambda: queue.empty(), lambda: queue.get_nowait()


async def _end_of_a_stream() -> Looks:
    reader = asyncio.StreamReader()
    return lambda: reader.at_eof(), lambda: reader.feed_eof()


async def _exception_of_a_stream() -> Looks:
    reader = asyncio.StreamReader()
    error = ValueError()
    return lambda: reader.exception(), lambda: reader.set_exception(error)


async def _closing_connection() -> Looks:
    one, other = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=one)

    def change() -> None:
        writer.close()
        other.close()

    return lambda: writer.is_closing(), change


async def _serving() -> Looks:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    return lambda: server.is_serving(), lambda: server.close()


async def _cancelled_timer() -> Looks:
    timer = asyncio.get_running_loop().call_later(1000, int)
    return lambda: timer.cancelled(), lambda: timer.cancel()


async def _handler_of_exceptions() -> Looks:
    loop = asyncio.get_running_loop()

    def handle(loop: Any, context: Any) -> None:
        pass

    return lambda: loop.get_exception_handler(), lambda: loop.set_exception_handler(handle)


async def _future_done() -> Looks:
    future = asyncio.get_running_loop().create_future()
    return lambda: future.done(), lambda: future.set_result(1)


async def name_of_a_task() -> Looks:
    task: Any = asyncio.current_task()
    return lambda: task.get_name(), lambda: task.set_name("other")


LOOKS: tuple[Callable[[], Awaitable[Looks]], ...] = (
    _length_of_a_queue,
    _full_queue,
    _text_of_a_queue,
    _queue_of_priorities,
    _last_in_first_out,
    _end_of_a_stream,
    _exception_of_a_stream,
    _closing_connection,
    _serving,
    _cancelled_timer,
    _handler_of_exceptions,
    _future_done,
    name_of_a_task,
)


def _explored(test: Callable[[], None]) -> bohrbug.Result:
    return bohrbug.explore(test, strategy="dpor", executions=2_000, minimise=False, causes=0)


def _check_that_it_is_found(test: Callable[[], None]) -> None:
    verdict = _explored(test).verdict
    assert verdict.kind is VerdictKind.FAILED, verdict


def _check_that_it_holds(test: Callable[[], None]) -> None:
    verdict = _explored(test).verdict
    assert verdict.kind is VerdictKind.HOLDS, verdict
    assert verdict.conditions is not None
    assert not verdict.conditions.taking


@pytest.mark.parametrize("make", LOOKS, ids=name_of)
def test_what_changes_in_between_is_seen(make: Callable[[], Awaitable[Looks]]) -> None:
    _check_that_it_is_found(lambda: _seen_twice(contextlib.nullcontext(), make))


@pytest.mark.parametrize("make", LOOKS, ids=name_of)
def test_what_a_lock_guards_does_not_change_in_between(
    make: Callable[[], Awaitable[Looks]],
) -> None:
    _check_that_it_holds(lambda: _seen_twice(threading.Lock(), make))


def _set_within_one_step(guard: Guard) -> None:
    kept: list[bool] = []

    async def main() -> None:
        future = asyncio.get_running_loop().create_future()

        def look_twice() -> None:
            with guard:
                first, second = future.done(), future.done()
            kept.append(first == second)

        thread = threading.Thread(target=look_twice)
        thread.start()
        with guard:
            future.set_result(1)
        thread.join()

    asyncio.run(main())
    assert kept == [True]


def test_a_future_may_be_set_in_the_midst_of_a_step() -> None:
    _check_that_it_is_found(lambda: _set_within_one_step(contextlib.nullcontext()))


def test_a_lock_guards_a_future_that_is_set_in_the_midst_of_a_step() -> None:
    _check_that_it_holds(lambda: _set_within_one_step(threading.Lock()))


def _ends_by_itself(is_awaited: bool) -> None:
    kept: list[bool] = []

    def look_twice(task: asyncio.Task[None]) -> None:
        first, second = task.done(), task.done()
        kept.append(first == second)

    async def main() -> threading.Thread:
        task = asyncio.create_task(asyncio.sleep(0))
        thread = threading.Thread(target=look_twice, args=(task,))
        if is_awaited:
            await task
        thread.start()
        await task
        return thread

    asyncio.run(main()).join()
    assert kept == [True]


@pytest.mark.parametrize("strategy", ["auto", "dpor"])
def test_a_task_may_end_in_between(strategy: str) -> None:
    result = bohrbug.explore(
        lambda: _ends_by_itself(False),
        strategy=strategy,
        executions=2_000,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


def test_a_task_that_has_ended_stays_so() -> None:
    _check_that_it_holds(lambda: _ends_by_itself(True))


def _running_seen_twice(is_joined: bool) -> None:
    kept: list[bool] = []

    async def main() -> threading.Thread:
        loop = asyncio.get_running_loop()

        def look_twice() -> None:
            first, second = loop.is_running(), loop.is_running()
            kept.append(first == second)

        thread = threading.Thread(target=look_twice)
        thread.start()
        if is_joined:
            thread.join()
        return thread

    asyncio.run(main()).join()
    assert kept == [True]


def test_a_loop_may_stop_in_between() -> None:
    _check_that_it_is_found(lambda: _running_seen_twice(False))


def test_a_loop_runs_on_meanwhile() -> None:
    _check_that_it_holds(lambda: _running_seen_twice(True))


def _tasks_counted_twice(is_awaited: bool) -> None:
    kept: list[bool] = []

    async def main() -> threading.Thread:
        loop = asyncio.get_running_loop()

        def look_twice() -> None:
            first, second = len(asyncio.all_tasks(loop)), len(asyncio.all_tasks(loop))
            kept.append(first == second)

        thread = threading.Thread(target=look_twice)
        task = asyncio.create_task(asyncio.sleep(0))
        if is_awaited:
            await task
        thread.start()
        await task
        if is_awaited:
            thread.join()
        return thread

    asyncio.run(main()).join()
    assert kept == [True]


def test_tasks_may_end_while_they_are_counted() -> None:
    _check_that_it_is_found(lambda: _tasks_counted_twice(False))


def test_tasks_stay_the_same_meanwhile() -> None:
    _check_that_it_holds(lambda: _tasks_counted_twice(True))
