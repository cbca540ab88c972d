"""Functions in C that code in C is given, to call them with each item: ``key=attrgetter("name")``.

Those written in Python tell their accesses themselves, as they are called.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from itertools import islice
from types import FunctionType, MethodType
from typing import Any

from bohrbug.runtime.threads.rewrite import unknown
from bohrbug.runtime.threads.rewrite.place import Place

MOST_ITEMS = 1_000
"""Items that are looked at for one call; what functions do to those behind them is not seen."""

_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, collections.deque})

_given: dict[int, Callable[..., Any]] = {}
"""By id of the place of a call that is about to be made: what it is given."""


def note(function: Any, place: Place) -> bool:
    """A call is about to be made that is given a function by keyword.

    Parameters:
        function: what it is given; noted if it is one in C.
        place: of the call.

    Returns:
        Whether it was noted.
    """
    if type(function) is FunctionType or not unknown.CALLED[type(function)]:
        return False
    if type(function) is MethodType and type(function.__func__) is FunctionType:
        return False
    _given[id(place)] = function
    return True


def take(place: Place) -> Callable[..., Any] | None:
    """What :func:`note` has noted for the call that is made now."""
    return _given.pop(id(place), None) if _given else None


def items_of(container: Any) -> Iterable[Any]:
    """The items that a function is called with; of containers whose iterators are in C."""
    return list(islice(container, MOST_ITEMS)) if type(container) in _CONTAINERS else ()
