"""What a ``functools.partial`` calls its function with."""

from __future__ import annotations

import functools
from typing import Any

# Python 3.14 on: stands for an argument that the call of a partial gives.
_PLACEHOLDER: object = getattr(functools, "Placeholder", object())


def arguments(kept: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The positional arguments, of those that it keeps and those of its own call."""
    missing = sum(argument is _PLACEHOLDER for argument in kept)
    filling = iter(given[:missing])
    filled = (next(filling, None) if each is _PLACEHOLDER else each for each in kept)
    return (*filled, *given[missing:])
