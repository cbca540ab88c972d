"""Which stream has which descriptor, and who is told that a descriptor is about to be closed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.leftovers import forgotten_afterwards

_streams: dict[int, weakref.ref[Any]] = {}
forgotten_afterwards(_streams)


def note_opened(stream: Any) -> None:
    """A task has opened a file."""
    _streams[stream.fileno()] = weakref.ref(stream)


def stream_of(descriptor: int) -> Any:
    """The stream that has a descriptor, or ``None``."""
    reference = _streams.get(descriptor)
    stream = None if reference is None else reference()
    if stream is None or stream.closed or stream.fileno() != descriptor:
        return None
    return stream


def _ignore(descriptor: Any, place: Any) -> None:
    """While nobody keeps account of locks."""


class Closing:
    """Who is told where a descriptor is about to be closed, as that gives up locks of its file.

    Attributes:
        tell: called with the descriptor and the place.
    """

    tell: Callable[[Any, Any], None] = staticmethod(_ignore)
