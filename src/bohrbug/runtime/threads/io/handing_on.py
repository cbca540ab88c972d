"""What tasks of event loops tell each other by objects, without waiting for one another.

Who takes an item that lies in a queue comes after who has put it there, though nobody was woken
up: for races over an await (:mod:`..loops.access_log`) this makes the difference between what
another task did by chance and what it was asked to do.  Locks are left out: who comes first is
chance there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.io.patches import patches


def _tell(thing: Any) -> None:
    execution = controlled()
    if execution is not None and execution.access_log is not None:
        execution.access_log.tell(thing)


def _learn(thing: Any) -> None:
    execution = controlled()
    if execution is not None and execution.access_log is not None:
        execution.access_log.learn(thing)


@patches.when_imported("asyncio.queues")
def _wrap_queues(module: Any) -> None:
    put, get = module.Queue.put_nowait, module.Queue.get_nowait

    @patches.method(module.Queue, "put_nowait")
    def put_nowait(self: Any, item: Any) -> None:
        _tell(self)
        put(self, item)

    @patches.method(module.Queue, "get_nowait")
    def get_nowait(self: Any) -> Any:
        item = get(self)
        _learn(self)
        return item


@patches.when_imported("asyncio.locks")
def _wrap_locks(module: Any) -> None:
    wrap_event(module.Event)


def wrap_event(
    event: Any, setting: Callable[[], AbstractContextManager[object]] = nullcontext
) -> None:
    """What is done before an event is set is known to who has waited for it, or asks for it.

    Parameters:
        event: a class of events.
        setting: entered while one is set.
    """
    set_, is_set_, wait_ = event.set, event.is_set, event.wait

    @patches.method(event, "set")
    def set(self: Any) -> None:
        _tell(self)
        with setting():
            set_(self)

    @patches.method(event, "is_set")
    def is_set(self: Any) -> bool:
        answer: bool = is_set_(self)
        if answer:
            _learn(self)
        return answer

    # Gives the coroutine of the original, so that nothing of ours is in the stack of who waits.
    @patches.method(event, "wait")
    def wait(self: Any) -> Any:
        if is_set_(self):
            _learn(self)
        return wait_(self)

    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(wait)


@patches.when_imported("trio._channel")
def _wrap_channels(module: Any) -> None:
    send, receive = module.MemorySendChannel.send_nowait, module.MemoryReceiveChannel.receive_nowait

    @patches.method(module.MemorySendChannel, "send_nowait")
    def send_nowait(self: Any, value: Any) -> None:
        # Who has to wait until there is room, has told its value, too.
        _tell(self._state)
        send(self, value)

    @patches.method(module.MemoryReceiveChannel, "receive_nowait")
    def receive_nowait(self: Any) -> Any:
        value = receive(self)
        _learn(self._state)
        return value
