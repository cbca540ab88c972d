"""What making a container reads: the items of what its constructor is given."""

from __future__ import annotations

import collections
from typing import Any

from bohrbug.runtime.threads.rewrite import by_value, given_back, halfway, iteration, tell
from bohrbug.runtime.threads.rewrite.attributes import depends_on_special_methods
from bohrbug.runtime.threads.rewrite.classes import inherits, order_of, remember_class
from bohrbug.runtime.threads.rewrite.functions_table import CONSTRUCTORS, MADE_OF_PAIRS
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.value_users import Looking

_KEEPING_ORDER = frozenset({list, tuple, collections.deque})


MADE_BY_NEW = frozenset({tuple, frozenset, bytes, str})
"""Classes whose ``__new__`` reads the items; of others ``__init__`` does."""


class _MadeAs(dict[type, type | None]):
    """By class: the one in C as whose objects its own are made, be it by a class in Python.

    ``None`` for all that read no items.
    """

    def __missing__(self, class_: type) -> type | None:
        base = next((base for base in order_of(class_) if base in CONSTRUCTORS), None)
        if base is not None and not inherits(class_, base, "__new__", "__init__"):
            # A function in Python makes them, and tells what it does.
            base = None
        self[class_] = base
        remember_class(self, class_)
        return base


MADE_AS = _MadeAs()
depends_on_special_methods(MADE_AS)


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    MADE_AS.clear()


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
