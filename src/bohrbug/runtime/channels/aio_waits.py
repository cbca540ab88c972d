"""The selects of asyncio: ``wait`` and ``as_completed``."""

from __future__ import annotations

import asyncio
import collections
from asyncio import tasks
from typing import Any

from bohrbug.runtime.channels.aio import aio_stream, expect, wait
from bohrbug.runtime.channels.aio_sets import TaskSet, in_order
from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.native_parts import natively
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.streams import Stream
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

WAIT, AS_COMPLETED = "asyncio.wait", "asyncio.as_completed"

_wait, _as_completed = tasks.wait, tasks.as_completed


async def _wait_until_done(stream: Stream, future: Any, flavour: str) -> None:
    assert isinstance(stream, ReplayingStream)
    if future.done():
        return
    done = asyncio.get_running_loop().create_future()

    def tell(_: Any) -> None:
        if not done.done():
            done.set_result(None)

    future.add_done_callback(tell)
    try:
        await wait(stream, done, f"{flavour}: a task that completes")
    finally:
        future.remove_done_callback(tell)


@patches.method(tasks, "wait")
async def _wait_for(
    fs: Any, *, timeout: float | None = None, return_when: str = tasks.ALL_COMPLETED
) -> Any:
    stream = aio_stream()
    if stream is None or stream.inside or asyncio.isfuture(fs) or asyncio.iscoroutine(fs):
        return await _wait(fs, timeout=timeout, return_when=return_when)
    futures = in_order(fs)
    outcome = await expect(stream, Kind.SELECT, None, WAIT)
    if outcome is not None and max(outcome.values, default=-1) < len(futures):
        chosen = {futures[index] for index in outcome.values}
        for future in chosen:
            await _wait_until_done(stream, future, WAIT)
        if all(future.done() for future in chosen):
            return TaskSet(chosen), TaskSet(set(futures) - chosen)
    with natively(stream):
        done, pending = await _wait(futures, timeout=timeout, return_when=return_when)
    indices = tuple(i for i, future in enumerate(futures) if future in done)
    stream.note(Kind.SELECT, None, Status.READY if indices else Status.TIMED_OUT, indices, WAIT)
    return TaskSet(done), TaskSet(pending)


class _AsCompleted:
    """What ``as_completed`` returns: for ``for`` and, from Python 3.13 on, ``async for``.

    Parameters:
        fs: awaitables.
        timeout: seconds until ``TimeoutError``; ``None`` for no limit.
    """

    def __init__(self, fs: Any, timeout: float | None) -> None:
        loop = asyncio.get_event_loop()
        order = fs if isinstance(fs, list | tuple) else in_order(fs)
        wanted = [asyncio.ensure_future(one, loop=loop) for one in dict.fromkeys(order)]
        self._futures = wanted
        self._left = len(wanted)
        self._indices = {future: index for index, future in enumerate(wanted)}
        self._done: collections.deque[Any] = collections.deque()
        self._waiting: collections.deque[Any] = collections.deque()
        self._given: set[Any] = set()
        self._late = False
        self._handle = None
        for future in wanted:
            future.add_done_callback(self._completed)
        if wanted and timeout is not None:
            self._handle = loop.call_later(timeout, self._time_is_over)

    def __iter__(self) -> _AsCompleted:
        return self

    def __next__(self) -> Any:
        if not self._left:
            raise StopIteration
        self._left -= 1
        return self._next_result()

    def __aiter__(self) -> _AsCompleted:
        return self

    async def __anext__(self) -> Any:
        if not self._left:
            raise StopAsyncIteration
        self._left -= 1
        return await self._next()

    def _completed(self, future: Any) -> None:
        self._done.append(future)
        self._wake()
        if len(self._done) + len(self._given) >= len(self._futures) and self._handle is not None:
            self._handle.cancel()

    def _time_is_over(self) -> None:
        self._late = True
        while self._waiting:
            self._wake()

    def _wake(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return

    async def _next_result(self) -> Any:
        return (await self._next()).result()

    async def _next(self) -> Any:
        stream = aio_stream()
        if stream is not None:
            outcome = await expect(stream, Kind.SELECT, None, AS_COMPLETED)
            if outcome is not None:
                if outcome.status is Status.TIMED_OUT:
                    raise TimeoutError
                future = self._futures[outcome.values[0] % len(self._futures)]
                await _wait_until_done(stream, future, AS_COMPLETED)
                if future.done() and future not in self._given:
                    self._given.add(future)
                    return future
        try:
            future = await self._first()
        except TimeoutError:
            if stream is not None:
                stream.note(Kind.SELECT, None, Status.TIMED_OUT, (), AS_COMPLETED)
            raise
        self._given.add(future)
        if stream is not None:
            index = self._indices[future]
            stream.note(Kind.SELECT, None, Status.READY, (index,), AS_COMPLETED)
        return future

    async def _first(self) -> Any:
        """The first that has completed and was not given out."""
        while True:
            while self._done:
                future = self._done.popleft()
                if future not in self._given:
                    return future
            if self._late:
                raise TimeoutError
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting


@patches.method(tasks, "as_completed")
def _in_order_of_completion(fs: Any, *, timeout: float | None = None) -> Any:
    if aio_stream() is None or asyncio.isfuture(fs) or asyncio.iscoroutine(fs):
        return _as_completed(fs, timeout=timeout)
    return _AsCompleted(fs, timeout)
