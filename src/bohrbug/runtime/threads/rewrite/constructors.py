"""What making an object of some classes in C accesses beside what the constructor is given.

``Decimal`` looks into a context where a text is no number, and where it is made of a ``float``;
``ZoneInfo`` has a cache of the zones of each of its classes.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.rewrite import files, halfway, tell
from bohrbug.runtime.threads.rewrite.classes import (
    is_written_in_c,
    module_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.place import Place


def _ignore(namespace: Any) -> None:
    """While nobody looks after classes."""


def _ignore_method(owner: Any, name: str, value: tuple[Any, ...]) -> None:
    """The same."""


class Making:
    """Who is told that a class, or a method of one, is about to be made by a call.

    Attributes:
        class_of: called with the namespace that it is made of.
        method: called where something is about to get an attribute by its name, with that, the name
            and the value, if there is one.
    """

    class_of: Callable[[Any], None] = staticmethod(_ignore)
    method: Callable[[Any, str, tuple[Any, ...]], None] = staticmethod(_ignore_method)


Tell = Callable[[type, tuple[Any, ...], Place], None]


class _Tellers(dict[type, Tell | None]):
    """Who tells of a call of a class, if it is one of these, or one that derives from it."""

    def __missing__(self, class_: type) -> Tell | None:
        answer = None
        if decimal.Decimal in order_of(class_):
            answer = _tell_number
        elif _zones_of(class_) is not None:
            answer = tell_cache_of_zones
        self[class_] = answer
        remember_class(self, class_)
        return answer


def _zones_of(class_: type) -> type | None:
    """``ZoneInfo``, where a class derives from it; it need not have been imported."""
    for base in order_of(class_):
        if module_of(base) == "zoneinfo" and base.__name__ == "ZoneInfo" and is_written_in_c(base):
            return base
    return None


TELLERS = _Tellers()


def _tell_number(class_: type, arguments: tuple[Any, ...], place: Place) -> None:
    if not arguments or _is_exact(arguments[0]):
        return
    given = arguments[1] if len(arguments) > 1 else None
    context = given if issubclass(type(given), decimal.Context) else decimal.getcontext()
    # It looks at traps, and raises flags.
    tell.whole(context, True, place)


def _is_exact(value: Any) -> bool:
    """Whether a number is made of a value without a look into a context."""
    if type(value) is int or issubclass(type(value), decimal.Decimal):
        return True
    if type(value) is not str or len(value) > 1_000:
        return False
    try:
        number = float(value)
    except ValueError:
        return False
    # An exponent may be too large for a Decimal, too.
    return number == number and abs(number) != float("inf") and "e" not in value.lower()


def tell_cache_of_zones(class_: type, arguments: tuple[Any, ...], place: Place) -> None:
    """A zone is taken from the cache, or made and put there; or the cache is emptied.

    Parameters:
        class_: each has a cache of its own.
        arguments: not looked at.
        place: where.
    """
    name = f"the cache of {class_.__name__}"
    files.use_state(name, True, place)
    # Zones are read from files by functions in Python, with no lock.
    halfway.begin(lambda again: files.use_state(name, True, again))


_OF_CACHE = frozenset({"clear_cache"})


def tell_method(class_: Any, name: str, place: Place) -> bool:
    """Tell of a method of a class that uses such a cache; whether there was something to tell."""
    if name in _OF_CACHE and TELLERS[class_] is tell_cache_of_zones:
        tell_cache_of_zones(class_, (), place)
        return True
    return False
