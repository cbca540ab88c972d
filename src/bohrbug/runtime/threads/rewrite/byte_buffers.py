"""Buffers that input and output are handed: bytes are taken out of them, or put into them.

What makes a ``bytearray`` or an ``array`` a buffer is that others may change it at the same time.
"""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.rewrite import families, meanings, tell
from bohrbug.runtime.threads.rewrite.place import Place


def fill(given: Any, place: Place) -> None:
    """Bytes are about to be put into a buffer.

    Parameters:
        given: the buffer, or a sequence of several.
        place: where.
    """
    tell.in_one_step(place, _tell_filled, given, place)


def _tell_filled(given: Any, place: Place) -> None:
    if type(given) is list:
        meanings.tell_whole(given, False, place)
    for each in given if type(given) in (list, tuple) else (given,):
        if families.CONTAINER[type(each)]:
            meanings.tell_whole(each, True, place)
