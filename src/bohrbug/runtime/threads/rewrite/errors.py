"""The causes, contexts and tracebacks of exceptions, which ``raise`` changes as well.

An exception with a traceback holds a stack, and all that lives there.  So it is not held: another
one that comes to be where it was is taken for the same.
"""

from __future__ import annotations

from bohrbug.runtime.threads.rewrite.named import Named

PARTS = frozenset({"__cause__", "__context__", "__suppress_context__", "__traceback__"})
"""Attributes of exceptions that ``raise`` may set."""

_errors: dict[int, Named] = {}


def stand_in(error: BaseException) -> Named:
    """What has the parts of an exception as its attributes."""
    found = _errors.get(id(error))
    if found is None:
        found = _errors[id(error)] = Named(f"parts of {type(error).__name__}")
    return found


def forget_errors() -> None:
    """At the end of an execution."""
    _errors.clear()
