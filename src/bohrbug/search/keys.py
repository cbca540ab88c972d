"""Sets of 64-bit numbers that take little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from bohrbug.accelerator import native


class KeySet(Protocol):
    """What a cache of visited states needs of a set of numbers."""

    def __contains__(self, key: int, /) -> bool:
        """Whether a number was added."""
        ...

    def __len__(self) -> int:
        """How many were added."""
        ...

    def __iter__(self) -> Iterator[int]:
        """They, in any order."""
        ...

    def add(self, key: int, /) -> None:
        """Add a number."""
        ...

    def update(self, keys: Iterable[int], /) -> None:
        """Add several numbers."""
        ...


def new_keys(keys: Iterable[int] = ()) -> KeySet:
    """A set of numbers: in C 11 to 21 bytes for each, without the accelerator some 80.

    Parameters:
        keys: what is in it from the beginning.
    """
    found: KeySet = set() if native is None else native.Keys()
    found.update(keys)
    return found


def is_in_c(keys: object) -> bool:
    """Whether what is written in C can look at a set of numbers."""
    return native is not None and type(keys) is native.Keys
