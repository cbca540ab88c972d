"""A set of numbers in memory that processes share, for what all of them have seen."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterable

PROBES = 16
"""Places that are looked at for a number before it counts as absent."""


class SharedKeys:
    """A set of 64-bit numbers, filled by several processes at once, without a lock.

    It may forget: two processes that add to the same place at the same moment, or a table
    that is full around a place, lose a number.  It never claims to have what nobody added.
    That is all that a cache needs.  Made before the processes are forked.

    Each process keeps what it has added itself in an ordinary set, which is faster.

    Parameters:
        keys: what is in it from the beginning.
        capacity: how many numbers it is made for; takes up to 32 bytes for each, of which
            only those pages are real that are written to.
    """

    __slots__ = ("_mask", "_memory", "_own", "_table")

    def __init__(self, keys: Iterable[int], capacity: int) -> None:
        places = 1 << max(2 * capacity - 1, PROBES).bit_length()
        self._memory = mmap.mmap(-1, places * 8)
        self._table = memoryview(self._memory).cast("q")
        self._mask = places - 1
        self._own: set[int] = set()
        self.update(keys)

    def __len__(self) -> int:
        """How many this process has added or met."""
        return len(self._own)

    def __contains__(self, key: int) -> bool:
        if key in self._own:
            return True
        table, mask = self._table, self._mask
        wanted = key or 1
        place = key & mask
        for _ in range(PROBES):
            found = table[place]
            if found == wanted:
                return True
            if not found:
                return False
            place = (place + 1) & mask
        return False

    def add(self, key: int) -> None:
        """Add a number."""
        if key in self._own:
            return
        self._own.add(key)
        table, mask = self._table, self._mask
        wanted = key or 1
        place = key & mask
        for _ in range(PROBES):
            found = table[place]
            if not found:
                table[place] = wanted
                return
            if found == wanted:
                return
            place = (place + 1) & mask

    def update(self, keys: Iterable[int]) -> None:
        """Add several numbers."""
        for key in keys:
            self.add(key)

    def clear(self) -> None:
        """Forget what is shared; other processes still know what they have added themselves."""
        self._own.clear()
        self._memory[:] = bytes(len(self._memory))

    def to_array(self) -> array[int]:
        """All numbers."""
        found = array("q", filter(None, self._table))
        return array("q", self._own.union(found))
