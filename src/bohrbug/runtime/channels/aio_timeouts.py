"""``asyncio.timeout``, and ``wait_for``, which is made of it: whether time was over, is recorded.

A timeout is numbered when its block is entered, and its event is noted when the block is left.  In
a replay the log says at the beginning how it will end: one that did not fire then does not fire,
and one that did fire does so at the first wait in its block if nothing is exchanged within, else
where its task was cancelled while it waited for a message.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import tasks, timeouts
from typing import Any

from bohrbug.runtime.channels.aio import aio_stream, expect, expiring
from bohrbug.runtime.channels.aio_turns import seen_loop
from bohrbug.runtime.channels.events import Event, Kind, Outcome, Status
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

FLAVOUR = "asyncio.timeout"

_Timeout: Any = timeouts.Timeout
_State: Any = timeouts._State  # type: ignore[attr-defined]
_enter, _exit, _fire = _Timeout.__aenter__, _Timeout.__aexit__, _Timeout._on_timeout
_reschedule = _Timeout.reschedule
_SLICE = 0.05


def _ends_late(event: Event | None, number: int) -> bool:
    """Whether the log says that now the block of a timeout is left, and that its time was over."""
    if event is None or event.flavour != FLAVOUR:
        return False
    return event.outcome == Outcome(Status.TIMED_OUT, None, None, (number,))


@patches.method(_Timeout, "__aenter__")
async def _enter_block(self: Any) -> Any:
    stream = None if self._when is None else aio_stream()
    number = -1
    if stream is not None:
        number = stream.next_number(FLAVOUR)
        self._bohrbug_timeout = (stream, number)
        if isinstance(stream, ReplayingStream):
            self._bohrbug_fires = stream.selects(FLAVOUR).get(number) is not Status.READY
            expiring[stream, number] = self
    entered = await _enter(self)
    follows = isinstance(stream, ReplayingStream) and not stream.replay.native
    if follows and _ends_late(stream.expected, number):  # type: ignore[union-attr]
        # Nothing is exchanged within: at the first wait, for what is waited for may be quicker.
        self.reschedule(asyncio.get_running_loop().time())
    return entered


@patches.method(_Timeout, "reschedule")
def _set_time(self: Any, when: float | None) -> None:
    _reschedule(self, when)
    handle = self._timeout_handler
    if when is None or handle is None or hasattr(handle, "when"):
        return
    # Its time is over already.  Whether it is depends on time: let it be a timer all the same.
    loop = asyncio.get_running_loop()
    ready = loop._ready  # type: ignore[attr-defined]
    if seen_loop(loop) is not None and ready and ready[-1] is handle:
        ready.pop()
        self._timeout_handler = loop.call_at(when, self._on_timeout)


@patches.method(_Timeout, "_on_timeout")
def _time_is_over(self: Any) -> None:
    stream, _ = getattr(self, "_bohrbug_timeout", (None, 0))
    follows = isinstance(stream, ReplayingStream) and not (stream.replay.native or stream.is_loose)
    if follows and not self._bohrbug_fires:
        # Not while the log is followed: look again.
        loop = asyncio.get_running_loop()
        self._timeout_handler = loop.call_later(_SLICE, self._on_timeout)
        return
    _fire(self)


@patches.method(_Timeout, "__aexit__")
async def _leave_block(self: Any, *error: Any) -> Any:
    stream, number = self.__dict__.pop("_bohrbug_timeout", (None, 0))
    if stream is None:
        return await _exit(self, *error)
    outcome = None
    if isinstance(stream, ReplayingStream):
        expiring.pop((stream, number), None)
        outcome = await expect(stream, Kind.SELECT, None, FLAVOUR)
    late = outcome is not None and outcome.status is Status.TIMED_OUT
    if late and self._state is _State.ENTERED and error[0] is None:
        # What was waited for came a moment earlier than then.
        await _exit(self, *error)
        self._state = _State.EXPIRED
        raise TimeoutError
    try:
        return await _exit(self, *error)
    finally:
        status = Status.TIMED_OUT if self._state is _State.EXPIRED else Status.READY
        stream.note(Kind.SELECT, None, status, (number,), FLAVOUR)


if sys.version_info < (3, 12):
    _wait_for = tasks.wait_for

    @patches.method(tasks, "wait_for")
    async def _wait_with_timeout(fut: Any, timeout: float | None) -> Any:
        """As in Python 3.12 and later, where it is made of a timeout."""
        if timeout is None or timeout <= 0 or aio_stream() is None:
            return await _wait_for(fut, timeout)
        async with timeouts.timeout(timeout):
            return await fut
