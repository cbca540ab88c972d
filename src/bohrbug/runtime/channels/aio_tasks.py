"""asyncio tasks: each gets its path in the spawn tree as id."""

from __future__ import annotations

from asyncio import base_events
from typing import Any

from bohrbug.runtime.channels.aio import beginning, streams
from bohrbug.runtime.channels.threads import spawner
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_Loop: Any = base_events.BaseEventLoop
_create_task = _Loop.create_task


@patches.method(_Loop, "create_task")
def _create(self: Any, coro: Any, **kwargs: Any) -> Any:
    parent = spawner()
    if parent is None:
        return _create_task(self, coro, **kwargs)
    stream = parent.session.begin(parent.next_child())
    with beginning(coro, stream):
        task = _create_task(self, coro, **kwargs)
    try:
        streams[task] = stream
    except TypeError:
        # Made by a task factory of the program: no weak references.
        return task
    task.add_done_callback(lambda _: stream.end())
    return task
