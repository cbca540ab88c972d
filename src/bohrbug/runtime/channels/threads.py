"""Threads: each that a seen task starts gets its path in the spawn tree as id."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.channels.session import active, main_stream
from bohrbug.runtime.channels.streams import Stream, local
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_start = threading.Thread.start
_bootstrap = threading.Thread._bootstrap  # type: ignore[attr-defined]
_start_new_thread = _thread.start_new_thread

task_within: list[Callable[[Stream], Stream | None]] = []
"""Filled by asyncio's family: the stream of the asyncio task that runs in a thread, if any."""


def spawner() -> Stream | None:
    """The stream of the task that starts something now."""
    if local.unseen:
        return None
    stream = main_stream()
    if stream is not None:
        for look in task_within:
            within = look(stream)
            if within is not None:
                return within
    return stream


@patches.method(threading.Thread, "start")
def _start_thread(self: Any) -> None:
    stream = spawner()
    if stream is not None and not self._started.is_set():
        self._bohrbug_begins = (stream.session, stream.next_child())
    _start(self)


@patches.method(threading.Thread, "_bootstrap")
def _run_thread(self: Any) -> None:
    begins = self.__dict__.pop("_bohrbug_begins", None)
    if begins is None or begins[0] is not active.session:
        _bootstrap(self)
        return
    session, task = begins
    stream = local.stream = session.begin(task)
    try:
        _bootstrap(self)
    finally:
        local.stream = None
        stream.end()


def _start_bare_thread(
    function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, /
) -> int:
    stream = spawner()
    if stream is None:
        return _start_new_thread(function, args, kwargs or {})
    session, task = stream.session, stream.next_child()

    def body() -> None:
        stream = local.stream = session.begin(task)
        try:
            function(*args, **(kwargs or {}))
        finally:
            local.stream = None
            stream.end()

    return _start_new_thread(body, ())


patches.add(_thread, "start_new_thread", _start_bare_thread)
patches.add(_thread, "start_new", _start_bare_thread)
