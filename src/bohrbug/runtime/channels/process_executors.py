"""``ProcessPoolExecutor``: how many workers it starts, and when it sees that it is to end."""

from __future__ import annotations

import time
from concurrent.futures import process
from typing import Any

from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.growing import watch
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.session import current
from bohrbug.runtime.threads.patches import Patches

patches = Patches()
watch(
    patches,
    process.ProcessPoolExecutor,
    "_adjust_process_count",
    "_idle_worker_semaphore",
    "_processes",
    "concurrent.futures.ProcessPoolExecutor",
)

_Manager: Any = process._ExecutorManagerThread
_FLAVOUR = "concurrent.futures.ProcessPoolExecutor"
_SLICE = 0.01


def _watch_look(name: str, wait: bool) -> None:
    """What the executor's own thread sees of flags and processes, which are no messages."""
    real = getattr(_Manager, name)

    @patches.method(_Manager, name)
    def look(self: Any) -> Any:
        stream = current()
        if stream is None:
            return real(self)
        outcome = stream.expect(Kind.LOOK, None, f"{_FLAVOUR}.{name}")
        if outcome is not None and isinstance(stream, ReplayingStream):
            waited = 0.0
            while wait and outcome.values[0] and not real(self) and not stream.is_free:
                time.sleep(_SLICE)
                waited += _SLICE
                stream.replay.check(stream, waited, f"{_FLAVOUR}.{name}")
            return outcome.values[0]
        value = int(real(self))
        stream.note(Kind.LOOK, None, Status.VALUE, (value,), f"{_FLAVOUR}.{name}")
        return value


_watch_look("is_shutting_down", wait=True)
_watch_look("get_n_children_alive", wait=False)
