"""How many messages all processes have put into a bounded channel, and how many they have taken.

The numbers, and how many tasks wait until more were taken, lie in a file of the session's folder
that is mapped into memory.  Nothing of it stays open, as programs close descriptors that they don't
know.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from weakref import WeakKeyDictionary

from bohrbug.accelerator import native
from bohrbug.runtime.channels.streams import Channel, real_lock

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_PUT, _TAKEN = range(2)
_SIZE = 16 + 32 * 4
"""Bytes of both, and of how many wait; see ``counting.c``."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.000_05, 0.002
_LOOKS = 50
_LOCK = real_lock()
_CAN_WAKE = hasattr(native, "wait_shared")
"""Whether who waits is woken by who takes; the accelerator does that on Linux."""


def _add_locked(path: Path, numbers: memoryview, index: int) -> int:
    """Add one to a number, and return what it was, without the accelerator."""
    # A lock of flock belongs to who has opened the file: threads exclude each other, too.
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before: int = numbers[index]
        numbers[index] = before + 1
    finally:
        os.close(descriptor)
    return before


class SharedCounts:
    """The two numbers of one channel.

    Parameters:
        path: of the file that they lie in; made at the first use.

    Attributes:
        count_put: one more message is put; returns how many were before.
        count_taken: one more message was taken.

    Raises:
        OSError: it can't be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.ftruncate(descriptor, _SIZE)
            self._memory = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._numbers = memoryview(self._memory).cast("q")
        # Called for every message: nothing stands between the caller and the code in C.
        self.count_put = self._counting(_PUT)
        self.count_taken = self._counting(_TAKEN)
        self._wait = self._waiting()

    @property
    def taken(self) -> int:
        """How many messages were taken."""
        return self._numbers[_TAKEN]

    def wait_until_taken(self, needed: int, seconds: float) -> bool:
        """Wait until so many messages were taken.

        Parameters:
            needed: how many.
            seconds: how long at most.

        Returns:
            Whether they were.
        """
        return self._numbers[_TAKEN] >= needed or self._wait(needed, seconds)

    def _counting(self, index: int) -> Callable[[], int]:
        if native is None:
            return partial(_add_locked, self._path, self._numbers, index)
        wakes = index == _TAKEN and _CAN_WAKE
        add = native.add_and_wake if wakes else native.add_shared
        return partial(add, self._memory, index)

    def _waiting(self) -> Callable[[int, float], bool]:
        if _CAN_WAKE:
            return partial(native.wait_shared, self._memory, _TAKEN)
        return self._look_again

    def _look_again(self, needed: int, seconds: float) -> bool:
        """Without a way to be woken by another process."""
        end = monotonic() + seconds
        for _ in range(_LOOKS):
            if self._numbers[_TAKEN] >= needed:
                return True
            sleep(0)
        pause = _SHORTEST_PAUSE
        while self._numbers[_TAKEN] < needed:
            if monotonic() > end:
                return False
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True


_known: WeakKeyDictionary[Channel, SharedCounts | None] = WeakKeyDictionary()


def counts_of(channel: Channel) -> SharedCounts | None:
    """The numbers of a channel; ``None`` where they can't be shared."""
    if channel not in _known:
        with _LOCK:
            if channel not in _known:
                _known[channel] = _made(channel)
    return _known[channel]


def _made(channel: Channel) -> SharedCounts | None:
    if native is None and fcntl is None:
        return None
    creator, number = channel.id
    with contextlib.suppress(OSError, ValueError):
        return SharedCounts(channel.session.folder / f"counts-{creator}-{number}")
    return None
