"""Weak references of ours to what asyncio has, which are told from those of the program."""

from __future__ import annotations

from typing import Any
from weakref import ref


class OwnReference(ref[Any]):
    """A weak reference that the program does not have."""

    __slots__ = ()
