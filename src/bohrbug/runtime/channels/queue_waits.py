"""Waits of ``queue`` natively: for space, for an item; consumers that contend do little else."""

from __future__ import annotations

import contextlib
import queue
from time import monotonic
from typing import Any

from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.recording import STALE, RecordingStream
from bohrbug.runtime.channels.streams import Channel, real_lock

Empty, Full = queue.Empty, queue.Full
ShutDown: type[Exception] = getattr(queue, "ShutDown", Full)
HAS_SHUTDOWN = hasattr(queue, "ShutDown")

_RECV = int(Kind.RECV)


def wait(condition: Any, mutex: Any, seconds: float = -1) -> bool:
    """``condition.wait()`` in fewer calls, as consumers that contend wait for most messages.

    Parameters:
        condition: one of a queue's.
        mutex: its lock, which the calling thread holds.
        seconds: how long to wait at most; -1 for no limit.

    Returns:
        Whether it was notified.
    """
    lock = real_lock()
    lock.acquire()
    waiters = condition._waiters
    waiters.append(lock)
    mutex.release()
    notified = False
    try:
        notified = lock.acquire(True, seconds)
    finally:
        mutex.acquire()
        if not notified:
            with contextlib.suppress(ValueError):
                waiters.remove(lock)
    return notified


def wait_for_native_space(owner: Any, block: bool, timeout: float | None) -> None:
    """Wait until a bounded queue has space, as ``put`` does; the calling thread holds its lock.

    Raises:
        queue.Full: it had none in time.
        queue.ShutDown: the queue was shut down meanwhile.
        ValueError: the timeout is negative.
    """
    if owner.maxsize <= 0:
        return
    if timeout is not None and block and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    end = monotonic() + timeout if block and timeout is not None else None
    while owner._qsize() >= owner.maxsize:
        if not block:
            raise Full
        left = None if end is None else end - monotonic()
        if left is not None and left <= 0:
            raise Full
        owner.not_full.wait(left)
        if HAS_SHUTDOWN and owner.is_shutdown:
            raise ShutDown


def wait_for_item(
    stream: RecordingStream, channel: Channel, owner: Any, kind: int, timeout: float | None
) -> int:
    """Wait until there is an item; how many there are then.

    Raises:
        queue.Empty: there was none in time.
        queue.ShutDown: the queue was shut down, and is empty.
        ValueError: the timeout is negative.
    """
    end = None
    if kind == Kind.TIMED_RECV:
        assert timeout is not None
        if timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        end = monotonic() + timeout
    patience = STALE
    while kind == _RECV and not (HAS_SHUTDOWN and owner.is_shutdown):
        notified = wait(owner.not_empty, owner.mutex, patience)
        size: int = owner._qsize()
        if size:
            return size
        if not notified:
            # Nothing to do anyway: write now, so that little is lost if the process is killed.
            stream.flush()
            patience = -1

    while True:
        size = owner._qsize()
        if HAS_SHUTDOWN and owner.is_shutdown and not size:
            stream.note(Kind(kind), channel, Status.CLOSED)
            raise ShutDown
        if size:
            return size
        left = None if end is None else end - monotonic()
        if kind == Kind.TRY_RECV or (left is not None and left <= 0):
            status = Status.EMPTY if kind == Kind.TRY_RECV else Status.TIMED_OUT
            stream.note(Kind(kind), channel, status)
            raise Empty
        if stream.is_stale():
            # Nothing to do anyway: write now, so that little is lost if the process is killed.
            stream.flush()
            if owner._qsize():
                continue
        if stream.has_unwritten() and (left is None or left > STALE):
            owner.not_empty.wait(STALE)
        else:
            owner.not_empty.wait(left)
