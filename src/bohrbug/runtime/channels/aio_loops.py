"""asyncio's event loops: the order in which they see what comes from outside."""

from __future__ import annotations

import os
from asyncio import base_events, events, futures, selector_events
from typing import Any

from bohrbug.runtime.channels.aio import aio_stream
from bohrbug.runtime.channels.aio_arrivals import ReplayedLoop
from bohrbug.runtime.channels.aio_sockets import receive, send
from bohrbug.runtime.channels.aio_turns import (
    Message,
    RecordedLoop,
    SeenLoop,
    running_loop,
    seen_loop,
)
from bohrbug.runtime.channels.events import CALL, LOOP, TIMER, WRAPPED
from bohrbug.runtime.channels.replaying import ReplaySession
from bohrbug.runtime.channels.session import main_stream
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_Loop: Any = base_events.BaseEventLoop
_SelectorLoop: Any = selector_events.BaseSelectorEventLoop
_init, _close = _SelectorLoop.__init__, _SelectorLoop.close
_add_reader, _add_writer = _SelectorLoop._add_reader, _SelectorLoop._add_writer
_run_once, _call_at, _call_soon = _Loop._run_once, _Loop.call_at, _Loop.call_soon_threadsafe
_wrap_future = futures.wrap_future
_read, _write = os.read, os.write
# Since Python 3.14 handles of other threads are cancelled under a lock.
_ThreadSafeHandle = getattr(events, "_ThreadSafeHandle", events.Handle)


def _begin(loop: Any) -> SeenLoop | None:
    """An event loop takes part, if the task that makes it, or first runs it, does."""
    stream = main_stream()
    if stream is None or not isinstance(loop, _SelectorLoop):
        return None
    session = stream.session
    task = f"{stream.task}{LOOP}{stream.next_number(LOOP) + 1}"
    seen: SeenLoop
    if not isinstance(session, ReplaySession):
        seen = RecordedLoop(loop, session, task)
    elif session.follows:
        seen = ReplayedLoop(loop, session, task)
    else:
        return None
    loop._bohrbug_loop = seen
    return seen


@patches.method(_SelectorLoop, "__init__")
def _make(self: Any, *args: Any, **kwargs: Any) -> None:
    _init(self, *args, **kwargs)
    _begin(self)


@patches.method(_SelectorLoop, "close")
def _end(self: Any) -> None:
    seen = None if self.is_closed() else seen_loop(self)
    _close(self)
    if seen is not None:
        seen.end()


@patches.method(_Loop, "_run_once")
def _turn(self: Any) -> None:
    seen = seen_loop(self) or _begin(self)
    if seen is None:
        _run_once(self)
    else:
        seen.turn()


# -- what a loop waits for -----------------------------------------------------------------


def _patch_watching(name: str, real: Any) -> None:
    @patches.method(_SelectorLoop, name)
    def watch(self: Any, fd: Any, callback: Any, *args: Any, **keywords: Any) -> Any:
        seen = seen_loop(self)
        if seen is not None and fd not in self._selector.get_map():
            seen.watches(fd if isinstance(fd, int) else fd.fileno())
        return real(self, fd, callback, *args, **keywords)


_patch_watching("_add_reader", _add_reader)
_patch_watching("_add_writer", _add_writer)


class _Timer(events.TimerHandle):
    """A timer that knows which one it is."""

    __slots__ = ("message",)


@patches.method(_Loop, "call_at")
def _call_at_time(self: Any, when: Any, callback: Any, *args: Any, context: Any = None) -> Any:
    timer = _call_at(self, when, callback, *args, context=context)
    seen = seen_loop(self)
    stream = None if seen is None else aio_stream()
    if seen is not None and stream is not None:
        timer.message = (stream.task, stream.next_number(TIMER))
        if isinstance(seen, ReplayedLoop):
            seen.timers[timer.message] = timer
    return timer


patches.add(events, "TimerHandle", _Timer)


@patches.method(_Loop, "call_soon_threadsafe")
def _call(self: Any, callback: Any, *args: Any, context: Any = None) -> Any:
    seen = seen_loop(self)
    message: Message | None = getattr(args[0], "_bohrbug_future", None) if args else None
    if seen is None or (message is None and running_loop() is seen):
        return _call_soon(self, callback, *args, context=context)
    self._check_closed()
    handle = _ThreadSafeHandle(callback, args, self, context)
    seen.call(CALL if message is None else WRAPPED, message, handle)
    self._write_to_self()
    return handle


def _wrap(future: Any, *, loop: Any = None) -> Any:
    """As the original, but the future that it returns has a number.

    Whether it is the thread that has computed a result or the one of the loop that brings it there
    depends on how quick it was, so it is not that of who calls.
    """
    stream = None if futures.isfuture(future) else aio_stream()
    if stream is None:
        return _wrap_future(future, loop=loop)
    wrapped: Any = (loop or events.get_event_loop()).create_future()
    wrapped._bohrbug_future = (stream.task, stream.next_number(WRAPPED))
    # A result that is there already would be set at once since Python 3.14, and be no arrival;
    # whether it is there depends on time.
    running = events._get_running_loop()
    events._set_running_loop(None)
    try:
        futures._chain_future(future, wrapped)  # type: ignore[attr-defined]
    finally:
        events._set_running_loop(running)
    return wrapped


patches.add(futures, "wrap_future", _wrap)


# -- pipes, as of child processes ------------------------------------------------------------


def _read_pipe(fd: int, n: int, /) -> bytes:
    seen = running_loop()
    name = None if seen is None else seen.name_of(fd)
    if seen is None or name is None:
        return _read(fd, n)
    return receive(seen, name, fd, lambda size: _read(fd, size), n)


def _write_pipe(fd: int, data: Any, /) -> int:
    seen = running_loop()
    name = None if seen is None else seen.name_of(fd)
    if seen is None or name is None:
        return _write(fd, data)
    return send(seen, name, fd, lambda part: _write(fd, part), data)


patches.add(os, "read", _read_pipe)
patches.add(os, "write", _write_pipe)
