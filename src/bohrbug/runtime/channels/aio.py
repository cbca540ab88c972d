"""What asyncio's families share: the stream of the running task, and waiting without blocking."""

from __future__ import annotations

import asyncio
import threading
from asyncio import events, tasks
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from bohrbug.runtime.channels.desynchronisation import DesynchronisationError
from bohrbug.runtime.channels.events import Kind, Outcome
from bohrbug.runtime.channels.following import follower_of
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.session import active, main_stream
from bohrbug.runtime.channels.streams import Channel, Stream
from bohrbug.runtime.channels.threads import task_within

streams: WeakKeyDictionary[Any, Stream] = WeakKeyDictionary()
"""The stream of each asyncio task that is seen."""

expiring: dict[tuple[Stream, int], Any] = {}
"""Replay: the timeouts that are set, by task and number."""

_SLICE = 0.05


class _Beginning(threading.local):
    """The asyncio tasks that this thread is just making, by their coroutines."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}


_beginning = _Beginning()


@contextmanager
def beginning(coroutine: object, stream: Stream) -> Generator[None]:
    """An asyncio task is made, and may run eagerly before anybody has it.

    Parameters:
        coroutine: of the task.
        stream: of it.
    """
    _beginning.streams[id(coroutine)] = stream
    try:
        yield
    finally:
        _beginning.streams.pop(id(coroutine), None)


def within(stream: Stream) -> Stream | None:
    """The stream of the asyncio task that runs in the thread of a stream, if there is one."""
    if events._get_running_loop() is None:
        return None
    task = tasks.current_task()
    if task is None:
        return None
    found = streams.get(task)
    if found is None and _beginning.streams:
        found = _beginning.streams.get(id(task.get_coro()))
    return found if found is not None and found.session is stream.session else None


task_within.append(within)


def aio_stream() -> Stream | None:
    """The stream that what is done now in an event loop belongs to, also within an operation."""
    if active.session is None or active.session.closed:
        return None
    stream = main_stream()
    if stream is None:
        return None
    stream = within(stream) or stream
    if isinstance(stream, ReplayingStream) and stream.replay.follows:
        return follower_of(stream)
    return stream


def waker(future: Any) -> Callable[[], None]:
    """Sets a future, from whatever thread."""
    loop, ident = future.get_loop(), threading.get_ident()

    def set_it() -> None:
        if not future.done():
            future.set_result(None)

    def wake() -> None:
        if threading.get_ident() == ident:
            set_it()
        elif not loop.is_closed():
            loop.call_soon_threadsafe(set_it)

    return wake


async def wait(stream: ReplayingStream, future: Any, expected: str) -> None:
    """Wait for what the log says that comes, or until all is native.

    Parameters:
        stream: of the task that waits.
        future: that somebody sets.
        expected: what, for a report.
    """
    loop = future.get_loop()
    waited = 0.0
    handle: Any = None

    def look() -> None:
        nonlocal waited, handle
        if future.done():
            return
        if stream.is_free:
            future.set_result(None)
            return
        waited += _SLICE
        try:
            stream.replay.check(stream, waited, expected)
        except DesynchronisationError as error:
            future.set_exception(error)
            return
        handle = loop.call_later(_SLICE, look)

    handle = loop.call_later(_SLICE, look)
    try:
        await future
    finally:
        handle.cancel()


async def expect(
    stream: Stream, kind: Kind, channel: Channel | None, flavour: str = ""
) -> Outcome | None:
    """As :meth:`Stream.expect`; at the end of the log the event loop goes on meanwhile."""
    if isinstance(stream, ReplayingStream) and stream.at_end:
        session = stream.replay
        waited = 0.0
        while stream.at_end and not session.native and not session.is_over():
            await asyncio.sleep(_SLICE / 5)
            waited += _SLICE / 5
            session.check(stream, waited, "nothing more: the log ends here", ahead=True)
        if stream.at_end:
            session.go_native()
    return stream.expect(kind, channel, flavour)
