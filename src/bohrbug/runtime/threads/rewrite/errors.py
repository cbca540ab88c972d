"""Exceptions that are raised, and their causes, contexts and tracebacks, which ``raise`` changes.

An exception with a traceback holds a stack, and all that lives there.  So it is not held: another
one that comes to be where it was is taken for the same.
"""

from __future__ import annotations

from collections.abc import Callable

from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place

PARTS = frozenset({"__cause__", "__context__", "__suppress_context__", "__traceback__"})
"""Attributes of exceptions that ``raise`` may set."""

_errors: dict[int, Named] = {}
forgotten_afterwards(_errors)


def _ignore(_place: Place) -> None:
    """While nobody is in control."""


class Raising:
    """Who is told of exceptions that are raised.

    Attributes:
        tell: called just before, with the place of the ``raise``.
    """

    tell: Callable[[Place], None] = staticmethod(_ignore)


def stand_in(error: BaseException) -> Named:
    """What has the parts of an exception as its attributes."""
    found = _errors.get(id(error))
    if found is None:
        found = _errors[id(error)] = Named(f"parts of {type(error).__name__}")
    return found
