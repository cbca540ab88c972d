"""A small number that differs where values differ, and is the same in every process."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_DEEPEST = 6
_LONGEST = 1_000


def digest(value: object) -> int:
    """32 bits that depend on numbers, texts, bytes and containers of them, by value.

    Of everything else only the type counts: neither addresses nor the order of sets
    are the same in another process.  Never 0.
    """
    text = "\0".join(_words(value, _DEEPEST))
    return zlib.crc32(text.encode("utf-8", "backslashreplace")) or 1


def _words(value: object, depth: int) -> Iterator[str]:
    kind = type(value)
    yield kind.__qualname__
    if kind in (bool, int, float, complex, str, bytes):
        yield repr(value)
    elif depth and isinstance(value, list | tuple):
        for item in value[:_LONGEST]:
            yield from _words(item, depth - 1)
    elif depth and isinstance(value, dict):
        for key, item in list(value.items())[:_LONGEST]:
            yield from _words(key, depth - 1)
            yield from _words(item, depth - 1)
    elif depth and isinstance(value, set | frozenset):
        yield from sorted("\0".join(_words(item, depth - 1)) for item in value)
