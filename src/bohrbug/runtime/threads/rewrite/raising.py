"""What rewritten code calls just before it raises an exception: others may have it, too."""

from __future__ import annotations

import sys
from typing import Any

from bohrbug.runtime.threads.rewrite import errors, held, tell
from bohrbug.runtime.threads.rewrite.place import Place


def raise_error(error: Any, place: Place) -> None:
    """``raise error``."""
    if tell.active:
        errors.Raising.tell(place)
        if sys.getrefcount(error) > held.by_loop and issubclass(type(error), BaseException):
            tell.in_one_step(place, _tell_raised, error, False, place)


def raise_with_cause(error: Any, place: Place) -> None:
    """``raise error from another``."""
    if tell.active:
        errors.Raising.tell(place)
        if sys.getrefcount(error) > held.by_loop and issubclass(type(error), BaseException):
            tell.in_one_step(place, _tell_raised, error, True, place)


def _tell_raised(error: BaseException, has_cause: bool, place: Place) -> None:
    """Others may have the exception, too: it was not made for this."""
    parts = errors.stand_in(error)
    tell.attribute(parts, "__traceback__", True, place)
    if has_cause:
        tell.attribute(parts, "__cause__", True, place)
        tell.attribute(parts, "__suppress_context__", True, place)
    handled = sys.exception()
    if handled is not None and handled is not error:
        tell.attribute(parts, "__context__", True, place)
