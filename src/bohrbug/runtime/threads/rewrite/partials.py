"""Objects that stand for the call of a function, and what a ``functools.partial`` calls it with."""

from __future__ import annotations

import functools
from typing import Any

from bohrbug.runtime.threads.rewrite.classes import InC

# Python 3.14 on: stands for an argument that the call of a partial gives.
_PLACEHOLDER: object = getattr(functools, "Placeholder", object())


CALLED_AS = InC((functools.partial, staticmethod), "__call__")
"""By class: the one in C as whose objects its own are called."""


def is_partial(class_: type) -> bool:
    """Whether objects of a class are called as partials are."""
    return CALLED_AS[class_] is functools.partial


def arguments(kept: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The positional arguments, of those that it keeps and those of its own call."""
    missing = sum(argument is _PLACEHOLDER for argument in kept)
    filling = iter(given[:missing])
    filled = (next(filling, None) if each is _PLACEHOLDER else each for each in kept)
    return (*filled, *given[missing:])
