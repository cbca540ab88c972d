"""Functions in C that the library is handed, and calls later on: they tell what they do.

Those modules are trusted, or modelled, so that nothing is told of what they call. Functions written
in Python tell for themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def as_it_is(function: Any) -> Any:
    """While nobody is in control."""
    return function


class HandedOver:
    """Who makes them tell; the runtime says so.

    Attributes:
        telling: gives what is to be called in the place of a function.
        entering: gives what a thread is to run in, in the place of a context that it was given.
    """

    telling: Callable[[Any], Any] = staticmethod(as_it_is)
    entering: Callable[[Any], Any] = staticmethod(as_it_is)
