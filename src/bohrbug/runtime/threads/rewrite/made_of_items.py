"""What making a container reads: the items of what its constructor is given."""

from __future__ import annotations

import collections
from typing import Any

from bohrbug.runtime.threads.rewrite import by_value, given_back, halfway, iteration, tell
from bohrbug.runtime.threads.rewrite.functions_table import CONSTRUCTORS, MADE_OF_PAIRS
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.value_users import Looking

_KEEPING_ORDER = frozenset({list, tuple, collections.deque})


MADE_BY_NEW = frozenset({tuple, frozenset, bytes, str})
"""Classes whose ``__new__`` reads the items; of others ``__init__`` does."""


def construct(class_: type, arguments: tuple[Any, ...], place: Place) -> None:
    """An object is about to be made as those of a class of :data:`CONSTRUCTORS`."""
    tell.in_one_step(place, _construct, class_, arguments[CONSTRUCTORS[class_] :], place)


def _construct(class_: type, arguments: tuple[Any, ...], place: Place) -> None:
    for argument in arguments:
        read = iteration.consume if class_ in _KEEPING_ORDER else iteration.consume_in_any_order
        read(argument, place)
    if class_ in MADE_OF_PAIRS:
        by_value.read([each for each in arguments if type(each) in (list, tuple)], place)
        halfway.begin_if_any([], given_back.by_call(arguments, [Looking()]))
