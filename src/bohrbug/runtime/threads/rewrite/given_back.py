"""What code in C does with the values that functions in Python give back to it.

``any(lists())`` asks of each list that the generator yields whether it is empty, ``sorted(nodes,
key=lambda node: node.parts)`` compares the parts, ``map(len, lists())`` calls a function in C with
each list. None of this is known when the call or the loop tells what it accesses; it is told where
the function in Python gives the value back (:func:`.halfway.leave`), as one step with that.

Through which iterators a value goes on its way, such as those of ``map(len, filter(None,
lists()))``, is asked of the garbage collector.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import (
    by_value,
    effects,
    families,
    functions_table,
    hooks,
    item_functions,
)
from bohrbug.runtime.threads.rewrite.classes import FOREIGN, MISSING, look_up, remember_class
from bohrbug.runtime.threads.rewrite.halfway import (
    NOTHING,
    Called,
    Tell,
    in_turn,
    is_generator,
    weakly,
)
from bohrbug.runtime.threads.rewrite.place import Place

User = Callable[[Any], Tell | None]
"""Takes a value, or :data:`~.halfway.NOTHING` at the end of a generator; returns what tells of what
is done with it at once."""

MOST_KEPT = 100
"""Values that are compared with later ones; what is done with those behind them is not seen."""

_DEEPEST = 5
"""Iterators that are gone through on the way of a value."""


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
    """A function, or a class, is called with each value if it is in C."""

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
        return _telling_of_call(self._function, (value,))


_LOOKING = frozenset({effects.READ, effects.CONSUME, effects.LOOK_AT_CLASS})
_MAKING_VALUES = frozenset({str, int, float, bool, bytes, tuple, list, set, frozenset, dict})
"""Functions, and classes that are called, to which what never changes is nothing to tell of."""


class CallingWithSeveral:
    """A function in C is called with a value of each of several iterators: ``map(f, xs(), ys())``.

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
            return _telling_of_call(self._function, ())
        self._arguments.append(value)
        self._take_known_before(len(self._known))
        if len(self._arguments) < len(self._known):
            return None
        arguments = tuple(self._arguments)
        self._arguments.clear()
        return _telling_of_call(self._function, arguments)

    def _take_known_before(self, end: int) -> None:
        while len(self._arguments) < end:
            known = self._known[len(self._arguments)]
            if known is None:
                return
            self._arguments.append(next(known, None))


class Folding:
    """A function in C makes one value of all, two at a time: ``reduce(add, lists())``."""

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
            return _telling_of_call(function, arguments)
        return None


class Unpacking:
    """What lies in each value is read at once, and used: ``chain.from_iterable(lists())``."""

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
    """A function in C is called with what lies in each value: ``starmap(f, pairs())``."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        items = None if value is NOTHING else item_functions.items_of(value)
        if items is None:
            return None
        tell = _telling_of_call(self._function, tuple(items))
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


def _telling_of_call(function: Any, arguments: tuple[Any, ...]) -> Tell:
    return lambda place: Called.tell(function, arguments, place)


def told_by(users: Iterable[User], value: Any) -> list[Tell]:
    """What tells of what some users do with a value."""
    tells = []
    for user in users:
        tell = user(value)
        if tell is not None:
            tells.append(tell)
    return tells


class GivenBack:
    """What is done with the values that functions give back in the middle of an access.

    Parameters:
        others: what is done with those of functions of which nothing else is said.
    """

    def __init__(self, others: Sequence[User] = ()) -> None:
        self._by_code: dict[int, tuple[CodeType, list[User]]] = {}
        self._others = others

    def add(self, code: CodeType | None, users: Sequence[User]) -> None:
        """What is done with the values of a function, besides what was said of it."""
        if code is not None:
            self._by_code.setdefault(id(code), (code, []))[1].extend(users)

    def add_others(self, users: Sequence[User]) -> None:
        """What is done with those of functions of which nothing else is said."""
        self._others = [*self._others, *users]

    def is_used(self) -> bool:
        """Whether something of which is to be told is done with any value."""
        return bool(self._others) or any(users for _, users in self._by_code.values())

    def receive(self, code: CodeType, value: Any) -> Sequence[Tell]:
        """See :class:`.halfway.Receiver`."""
        known = self._by_code.get(id(code))
        users = self._others if known is None else known[1]
        return told_by(users, value) if users else ()


def by_iterator(iterator: Any) -> GivenBack | None:
    """What is done with values on their way through an iterator in C, and no further."""
    given_back = GivenBack()
    _follow(iterator, (), given_back)
    return given_back if given_back.is_used() else None


def by_call(things: Iterable[Any], users: Sequence[User], function: Any = None) -> GivenBack | None:
    """What is done with values that a call in C gets from what it goes through.

    Parameters:
        things: what it goes through.
        users: what it does with their items.
        function: computes of each item what ``users`` get in its place; ``None``: they get items.
    """
    code = code_of(function)
    of_items: Sequence[User] = users
    if function is not None:
        of_items = [Calling(function)] if code is None else ()
    given_back = GivenBack()
    given_back.add(code, users)
    for thing in things:
        if table.ITERATORS[type(thing)] is not None:
            _follow(thing, of_items, given_back)
        elif IS_GONE_THROUGH[type(thing)]:
            _go_through(type(thing), of_items, given_back)
    return given_back if given_back.is_used() else None


def _go_through(class_: type, users: Sequence[User], given_back: GivenBack) -> None:
    """Note what is done with the items of an object that has functions in Python for that."""
    given_back.add_others(users)
    for name, of_items in (("__iter__", users), ("keys", ())):
        code = code_of(look_up(class_, name))
        if code is not None and not is_generator(code):
            given_back.add(code, [Going(of_items, given_back)])


class Going:
    """What is given back is gone through: ``list(view)`` goes through what ``__iter__`` returns.

    Parameters:
        users: what is done with its items.
        given_back: takes what is done with what other functions give back meanwhile.
    """

    def __init__(self, users: Sequence[User], given_back: GivenBack) -> None:
        self._users = users
        self._given_back = given_back

    def __call__(self, value: Any) -> Tell | None:
        """See :data:`User`."""
        if value is NOTHING or (table.ITERATORS[type(value)] is None and not _is_container(value)):
            return None
        if table.ITERATORS[type(value)] is not None:
            _follow(value, self._users, self._given_back)
        items = item_functions.items_of(value) if self._users else None
        tells = [] if items is None else [t for item in items for t in told_by(self._users, item)]
        return in_turn([_telling_of_call(list, (value,)), *tells])


def _is_container(value: Any) -> bool:
    return bool(families.CONTAINER[type(value)])


class _IsGoneThrough(dict[type, bool]):
    """Whether to go through objects of a class calls functions in Python that it has for that."""

    def __missing__(self, class_: type) -> bool:
        names = ("__iter__", "__next__", "__getitem__")
        answer = any(type(look_up(class_, name)) is FunctionType for name in names)
        self[class_] = answer
        remember_class(self, class_)
        return answer


IS_GONE_THROUGH = _IsGoneThrough()


class _IsSearched(dict[type, bool]):
    """Whether to look for something in objects of a class goes through them in such a way."""

    def __missing__(self, class_: type) -> bool:
        answer = look_up(class_, "__contains__") is MISSING and IS_GONE_THROUGH[class_]
        self[class_] = answer
        remember_class(self, class_)
        return answer


IS_SEARCHED = _IsSearched()


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    IS_GONE_THROUGH.clear()
    IS_SEARCHED.clear()


def code_of(function: Any) -> CodeType | None:
    """The code that a call of something executes, if it is in Python."""
    while type(function) is MethodType or type(function) is functools.partial:
        function = function.__func__ if type(function) is MethodType else function.func
    if type(function) is not FunctionType:
        function = look_up(type(function), "__call__")
    return function.__code__ if type(function) is FunctionType else None


# --- Ways through iterators ----------------------------------------------------------------------

_WITH_RESULTS = frozenset({map, itertools.starmap, itertools.accumulate})
"""They hand on what the function that they call returns."""

_WITH_ITEMS = frozenset(
    {filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile, itertools.groupby}
)
"""They hand on items, and look at what the function that they call returns."""

_CALLABLE_ITERATOR: type = type(iter(int, 1))
_CALLING = frozenset({*_WITH_RESULTS, *_WITH_ITEMS, _CALLABLE_ITERATOR})

USING = frozenset({*_CALLING, itertools.compress, itertools.chain})
"""Classes of iterators that do more with values than to hand them on."""

_OVER_SEQUENCES = frozenset({table.SEQUENCE_ITERATOR, reversed})
"""They ask what they go through for one item after the other, by number."""


def _follow(iterator: Any, users: Sequence[User], given_back: GivenBack, depth: int = 0) -> None:
    """Note what is done with values on their way through an iterator.

    Parameters:
        iterator: through which they go.
        users: what is done with what it hands on.
        given_back: where it is noted.
        depth: how many iterators lie over it.
    """
    class_ = type(iterator)
    if class_ is GeneratorType:
        given_back.add(iterator.gi_code, users)
        return
    if table.ITERATORS[class_] is not table.OVER_ITERATORS:
        given_back.add(code_of(look_up(class_, "__next__")), users)
        return
    if depth == _DEEPEST:
        return
    referents = gc.get_referents(iterator)
    inner = item_functions.iterators_under(iterator, referents)
    if class_ in _CALLING:
        function = _function_among(iterator, referents)
        given_back.add(code_of(function), _users_of_results(class_, users))
        of_items = _users_of_items(class_, function, inner, users)
    elif class_ is itertools.compress:
        of_items = [users, [Looking()]]
    elif class_ is itertools.chain:
        # What it goes through comes last, and gives what is gone through in its turn.
        of_items = [*([users] * (len(inner) - 1)), [Unpacking(users)]]
        given_back.add_others(users)
    else:
        of_items = [users] * len(inner)
        for each in referents if class_ in _OVER_SEQUENCES else ():
            given_back.add(code_of(look_up(type(each), "__getitem__")), users)
    for each, of_each in zip(inner, of_items, strict=False):
        _follow(each, of_each, given_back, depth + 1)


def is_followed(thing: Any, depth: int = 0) -> bool:
    """Whether all items of something are known beforehand, or are given back by functions.

    Not those that functions in C make, or iterators of which nothing is known.

    Parameters:
        thing: an iterator, or what one is made of.
        depth: how many iterators lie over it.
    """
    class_ = type(thing)
    if table.ITERATORS[class_] is not table.OVER_ITERATORS or class_ in _OVER_SEQUENCES:
        return (
            class_ is GeneratorType
            or IS_GONE_THROUGH[class_]
            or class_ in _OVER_SEQUENCES
            or item_functions.items_of(thing) is not None
        )
    if depth == _DEEPEST or FOREIGN[class_]:
        return False
    referents = gc.get_referents(thing)
    if class_ is _CALLABLE_ITERATOR or class_ in _WITH_RESULTS:
        return code_of(_function_among(thing, referents)) is not None
    inner = item_functions.iterators_under(thing, referents)
    return bool(inner) and all(is_followed(each, depth + 1) for each in inner)


def are_items_followed(iterator: Any) -> bool:
    """Whether that holds of all that an iterator calls its function with."""
    inner = item_functions.iterators_under(iterator, gc.get_referents(iterator))
    return bool(inner) and all(map(is_followed, inner))


def _function_among(iterator: Any, referents: Iterable[Any]) -> Any:
    """What an iterator calls, be it in C or in Python; ``None`` if it calls nothing."""
    for each in referents:
        class_ = type(each)
        # Since Python 3.12 iterators of itertools refer to their classes.
        if each is type(iterator):
            continue
        if class_ is FunctionType or class_ is MethodType or issubclass(class_, type):
            return each
        if table.ITERATORS[class_] is None and (
            item_functions.is_in_c(each) or type(look_up(class_, "__call__")) is FunctionType
        ):
            return each
    return None


def _users_of_results(class_: type, users: Sequence[User]) -> Sequence[User]:
    """What is done with what a function in Python returns that an iterator calls."""
    if class_ in _WITH_RESULTS:
        return users
    if class_ is _CALLABLE_ITERATOR:
        return [*users, Looking()]
    return [Looking(keeps=class_ is itertools.groupby)]


def _users_of_items(
    class_: type, function: Any, inner: Sequence[Any], users: Sequence[User]
) -> list[Sequence[User]]:
    """What an iterator that calls a function does with items of each of those under it."""
    handed_on = () if class_ is map or class_ is itertools.starmap else users
    if code_of(function) is not None:
        return [handed_on] * len(inner)
    if class_ is map and len(inner) > 1:
        return [[user] for user in CallingWithSeveral(function, inner).users]
    using: User
    if class_ is itertools.starmap:
        using = Spreading(function)
    elif class_ is itertools.accumulate:
        using = Folding(operator.add if function is None else function)
    elif function is None:
        using = Looking(keeps=class_ is itertools.groupby)
    else:
        using = Calling(function)
    return [[using, *handed_on]] * len(inner)
