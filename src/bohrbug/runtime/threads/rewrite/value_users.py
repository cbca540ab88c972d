"""What code in C does with values that it gets one after the other: each way by itself.

See :mod:`.given_back`, which knows who gets which values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bohrbug.runtime.threads.rewrite import (
    by_value,
    effects,
    functions_table,
    hooks,
    item_functions,
)
from bohrbug.runtime.threads.rewrite.halfway import NOTHING, Called, Tell, in_turn, weakly
from bohrbug.runtime.threads.rewrite.place import Place

User = Callable[[Any], Tell | None]
"""Takes a value, or :data:`~.halfway.NOTHING` at the end of a generator; returns what tells of what
is done with it at once."""

MOST_KEPT = 100
"""Values that are compared with later ones; what is done with those behind them is not seen."""


class Looking:
    """Values are looked at: asked for their truth, added, compared.

    Parameters:
        keeps: whether those before are looked at again with each, and at the end.
        besides: what each is compared with.
    """

    def __init__(self, keeps: bool = False, besides: Any = None) -> None:
        self._keeps = keeps
        self._besides = besides
        self._kept: list[Callable[[], Any]] = []

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        if not self._keeps:
            self._kept.clear()
        if value is not NOTHING and type(value) not in by_value.LEAVES:
            del self._kept[: -MOST_KEPT + 1]
            self._kept.append(weakly(value))
        if not self._kept and type(self._besides) in by_value.LEAVES:
            return None
        values = [self._besides, *(each() for each in self._kept)]
        return lambda place: by_value.read(values, place)


class Calling:
    """A function, or a class, is called with each value if it is in C.

    Parameters:
        function: which one.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        effect = (
            functions_table.FUNCTIONS.get(function) if item_functions.is_in_c(function) else None
        )
        self._looks_only = (type(function) is type and function in _MAKING_VALUES) or (
            effect is not None and effect.action in _LOOKING
        )

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        if value is NOTHING or (self._looks_only and type(value) in by_value.LEAVES):
            return None
        return telling_of_call(self._function, (value,))


_LOOKING = frozenset({effects.READ, effects.CONSUME, effects.LOOK_AT_CLASS})
_MAKING_VALUES = frozenset({str, int, float, bool, bytes, tuple, list, set, frozenset, dict})
"""Functions, and classes that are called, to which what never changes is nothing to tell of."""


class CallingWithSeveral:
    """A function in C is called with a value of each of several iterators: ``map(f, xs(), ys())``.

    Parameters:
        function: which one.
        iterators: in the order in which they are asked.

    Attributes:
        users: one for each of them.
    """

    def __init__(self, function: Any, iterators: Sequence[Any]) -> None:
        self._function = function
        items = [item_functions.items_of(each) for each in iterators]
        self._known = [None if each is None else iter(each) for each in items]
        self._arguments: list[Any] = []
        self.users = [functools.partial(self._use, position) for position in range(len(items))]

    def _use(self, position: int, value: Any) -> Tell | None:
        if value is NOTHING:
            return None
        self._take_known_before(position)
        if len(self._arguments) != position:
            # One of those before hands on what only code in C knows.
            self._arguments.clear()
            return telling_of_call(self._function, ())
        self._arguments.append(value)
        self._take_known_before(len(self._known))
        if len(self._arguments) < len(self._known):
            return None
        arguments = tuple(self._arguments)
        self._arguments.clear()
        return telling_of_call(self._function, arguments)

    def _take_known_before(self, end: int) -> None:
        while len(self._arguments) < end:
            known = self._known[len(self._arguments)]
            if known is None:
                return
            self._arguments.append(next(known, None))


class Folding:
    """A function in C makes one value of all, two at a time: ``reduce(add, lists())``.

    Parameters:
        function: which one.
        first: the value that it begins with, if there is one besides.
    """

    def __init__(self, function: Any, *first: Any) -> None:
        self._function = function
        self._first = first

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        if value is NOTHING:
            return None
        items = (*self._first, value)
        self._first = (value,)
        for function, arguments in item_functions.folded(self._function, items):
            self._first = (item_functions.value_of(function, *arguments),)
            return telling_of_call(function, arguments)
        return None


class Unpacking:
    """What lies in each value is read at once, and used: ``chain.from_iterable(lists())``.

    Parameters:
        users: what is done with it.
    """

    def __init__(self, users: Sequence[User]) -> None:
        self._users = users

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        items = None if value is NOTHING else item_functions.items_of(value)
        if items is None:
            return None
        tells = [tell for item in items for tell in told_by(self._users, item)]
        return in_turn([lambda place: hooks.read_whole(value, place), *tells])


class Spreading:
    """A function in C is called with what lies in each value: ``starmap(f, pairs())``.

    Parameters:
        function: which one.
    """

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        items = None if value is NOTHING else item_functions.items_of(value)
        if items is None:
            return None
        tell = telling_of_call(self._function, tuple(items))
        return in_turn([lambda place: hooks.read_whole(value, place), tell])


class Collecting:
    """All values are used together: ``max(*lists())``.

    Parameters:
        tell: tells of what is done with a tuple of them.
    """

    def __init__(self, tell: Callable[[tuple[Any, ...], Place], None]) -> None:
        self._tell = tell
        self._values: list[Callable[[], Any]] = []

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        if value is not NOTHING and len(self._values) < MOST_KEPT:
            self._values.append(weakly(value))
        values = tuple(each() for each in self._values)
        return (lambda place: self._tell(values, place)) if values else None


def telling_of_call(function: Any, arguments: tuple[Any, ...]) -> Tell:
    """What tells of a call of a function, if that is in C."""
    return lambda place: Called.tell(function, arguments, place)


def told_by(users: Iterable[User], value: Any) -> list[Tell]:
    """What tells of what some users do with a value."""
    tells = []
    for user in users:
        tell = user(value)
        if tell is not None:
            tells.append(tell)
    return tells
