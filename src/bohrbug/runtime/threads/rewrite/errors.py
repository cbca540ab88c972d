"""Exceptions that are raised, and their causes, contexts and tracebacks, which ``raise`` changes.

An exception with a traceback holds a stack, and all that lives there.  So it is not held, and
another one may come to be where it was: what tells the two apart is kept instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place

PARTS = frozenset({"__cause__", "__context__", "__suppress_context__", "__traceback__"})
"""Attributes of exceptions that ``raise`` may set."""

_dict_of = vars(BaseException)["__dict__"].__get__

# By id of each exception, with what is its own, and of no later one at the same address.
_errors: dict[int, tuple[ref[Any] | dict[str, Any], Named]] = {}
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
    entry = _errors.get(id(error))
    if entry is None or not _belongs_to(entry[0], error):
        entry = _own_of(error), Named(f"parts of {type(error).__name__}")
        _errors[id(error)] = entry
    return entry[1]


def _own_of(error: BaseException) -> ref[Any] | dict[str, Any]:
    """A weak reference; where a class in C has none, the dict, which refers to no traceback."""
    try:
        return ref(error)
    except TypeError:
        own: dict[str, Any] = _dict_of(error)
        return own


def _belongs_to(own: ref[Any] | dict[str, Any], error: BaseException) -> bool:
    return _dict_of(error) is own if isinstance(own, dict) else own() is error
