"""What a ``functools.partial`` calls its function with."""

from __future__ import annotations

import functools
from typing import Any

from bohrbug.runtime.threads.rewrite.classes import inherits

# Python 3.14 on: stands for an argument that the call of a partial gives.
_PLACEHOLDER: object = getattr(functools, "Placeholder", object())


def is_partial(class_: type) -> bool:
    """Whether objects of a class are called as partials are, be it by a class in Python."""
    partial = functools.partial
    return class_ is partial or (
        issubclass(class_, partial) and inherits(class_, partial, "__call__")
    )


def arguments(kept: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The positional arguments, of those that it keeps and those of its own call."""
    missing = sum(argument is _PLACEHOLDER for argument in kept)
    filling = iter(given[:missing])
    filled = (next(filling, None) if each is _PLACEHOLDER else each for each in kept)
    return (*filled, *given[missing:])
