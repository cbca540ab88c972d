"""Pools that start a worker only when none is idle: whether one was, is recorded."""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.session import current
from bohrbug.runtime.threads.patches import Patches


class _NeverIdle:
    """A semaphore of idle workers that says that there is none."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def acquire(self, *args: Any, **kwargs: Any) -> bool:
        """No worker is idle."""
        return False

    def release(self, *args: Any) -> None:
        """A worker became idle meanwhile."""
        self._real.release(*args)


def watch(
    patches: Patches, cls: Any, method: str, semaphore: str, workers: str, flavour: str
) -> None:
    """Record, and replay, whether an executor starts a worker.

    Parameters:
        patches: to add to.
        cls: of the executor.
        method: that starts a worker unless one is idle.
        semaphore: attribute that counts idle workers.
        workers: attribute that holds the workers.
        flavour: the name in the log.
    """
    real = getattr(cls, method)

    @patches.method(cls, method)
    def adjust(self: Any) -> None:
        stream = current()
        if stream is None:
            real(self)
            return
        outcome = stream.expect(Kind.LOOK, None, flavour)
        if outcome is not None:
            idle = getattr(self, semaphore)
            if not outcome.values[0]:
                idle.acquire(blocking=False)
                return
            setattr(self, semaphore, _NeverIdle(idle))
            try:
                real(self)
            finally:
                setattr(self, semaphore, idle)
            return
        before = len(getattr(self, workers))
        real(self)
        grown = len(getattr(self, workers)) > before
        stream.note(Kind.LOOK, None, Status.VALUE, (int(grown),), flavour)
