"""``multiprocessing.Process``: a child gets its id from the task that starts it."""

from __future__ import annotations

from multiprocessing import process
from typing import Any

from bohrbug.runtime.channels.recording import RecordingStream
from bohrbug.runtime.channels.session import active
from bohrbug.runtime.channels.streams import local
from bohrbug.runtime.channels.threads import spawner
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_start = process.BaseProcess.start
_bootstrap = process.BaseProcess._bootstrap  # type: ignore[attr-defined]


@patches.method(process.BaseProcess, "start")
def _start_process(self: Any) -> None:
    stream = spawner()
    if stream is None:
        _start(self)
        return
    # Travels with the process object when that is pickled (spawn, forkserver).
    self._bohrbug_task = local.fork_as = stream.next_child()
    try:
        _start(self)
    finally:
        local.fork_as = None


@patches.method(process.BaseProcess, "_bootstrap")
def _run_process(self: Any, *args: Any, **kwargs: Any) -> Any:
    task = self.__dict__.pop("_bohrbug_task", None)
    session = active.session
    if session is not None and task is not None and session.root != task:
        session.begin_process(task)
    try:
        return _bootstrap(self, *args, **kwargs)
    finally:
        if session is not None and task is not None:
            session.finish()
            stream = local.stream
            if isinstance(stream, RecordingStream) and stream.task == task:
                # Not killed: it does no more than this.
                stream.end()
