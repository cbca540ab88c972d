"""What tasks of event loops do in random programs; see :mod:`tests.property.executing`."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial


class Shared:
    def __init__(self) -> None:
        self.x = 0
        self.items: list[int] = []
        self.lock = asyncio.Lock()
        self.event = asyncio.Event()
        self.queue: asyncio.Queue[int] = asyncio.Queue(1)

    def note(self, value: int) -> None:
        self.items.append(value)


async def add(shared: Shared, value: int) -> None:
    seen = shared.x
    await asyncio.sleep(0)
    shared.x = seen + value


async def pause(shared: Shared, value: int) -> None:
    for _ in range(value):
        await asyncio.sleep(0)


async def sleep(shared: Shared, value: int) -> None:
    await asyncio.sleep(0.01 * (value + 1))
    shared.note(value)


async def locked(shared: Shared, value: int) -> None:
    async with shared.lock:
        await add(shared, value)


async def wait(shared: Shared, value: int) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(shared.event.wait(), 0.02 * (value + 1))
    shared.note(value)


async def signal(shared: Shared, value: int) -> None:
    shared.event.set()
    await asyncio.sleep(0)


async def exchange(shared: Shared, value: int) -> None:
    both = [asyncio.create_task(shared.queue.put(value)), asyncio.ensure_future(shared.queue.get())]
    await asyncio.wait(both, timeout=1)


async def call(shared: Shared, value: int) -> None:
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    callbacks: list[Callable[[int], object]] = [
        shared.note,
        shared.items.append,
        partial(shared.note),
        lambda each: shared.note(each),
    ]
    loop.call_soon(callbacks[value], value)
    loop.call_later(0.01, shared.note, value)
    handle = loop.call_soon(shared.note, -1)
    if value % 2:
        handle.cancel()
    loop.call_soon(done.set_result, None)
    await done


async def cancel(shared: Shared, value: int) -> None:
    victim = asyncio.create_task(sleep(shared, value), name=f"victim {value}")
    await pause(shared, value)
    victim.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await victim
    shared.note(value)


async def group(shared: Shared, value: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(add(shared, value))
        tasks.create_task(pause(shared, value))


async def first(shared: Shared, value: int) -> None:
    tasks = {asyncio.create_task(pause(shared, each)) for each in (0, value)}
    _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(*pending, asyncio.shield(add(shared, 1)))


async def generate(shared: Shared, value: int) -> None:
    async def numbers() -> AsyncIterator[int]:
        for each in range(value):
            await asyncio.sleep(0)
            yield each

    async for each in numbers():
        shared.note(each)


async def thread(shared: Shared, value: int) -> None:
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    other = threading.Thread(target=lambda: loop.call_soon_threadsafe(done.set_result, value))
    other.start()
    shared.note(await done)
    other.join()


LOOP_ACTIONS: dict[str, Callable[[Shared, int], Awaitable[None]]] = {
    function.__name__: function
    for function in (
        *(add, pause, sleep, locked, wait, signal, exchange, call, cancel, group, first, generate),
        thread,
    )
}


async def main(tasks: list[list[tuple[str, int]]]) -> None:
    shared = Shared()

    async def perform(actions: list[tuple[str, int]]) -> None:
        for name, value in actions:
            await LOOP_ACTIONS[name](shared, value)

    await asyncio.gather(*map(perform, tasks))
    assert shared.x < 8, shared.x


def loop_program(tasks: list[list[tuple[str, int]]]) -> None:
    """Run tasks in an event loop."""
    asyncio.run(main(tasks))
