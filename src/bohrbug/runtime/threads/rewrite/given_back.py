"""What code in C does with the values that functions in Python give back to it.

``any(lists())`` asks of each list that the generator yields whether it is empty, ``sorted(nodes,
key=lambda node: node.parts)`` compares the parts, ``map(len, lists())`` calls a function in C with
each list. None of this is known when the call or the loop tells what it accesses; it is told where
the function in Python gives the value back (:func:`.halfway.leave`), as one step with that.

Through which iterators a value goes on its way, such as those of ``map(len, filter(None,
lists()))``, is asked of the garbage collector.
"""

from __future__ import annotations

import gc
import itertools
import operator
from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import families, item_functions, partials
from bohrbug.runtime.threads.rewrite.classes import FOREIGN, MISSING, look_up, remember_class
from bohrbug.runtime.threads.rewrite.halfway import NOTHING, Tell, in_turn, is_generator
from bohrbug.runtime.threads.rewrite.value_users import (
    Calling,
    CallingWithSeveral,
    Folding,
    Looking,
    Spreading,
    Unpacking,
    User,
    telling_of_call,
    told_by,
)

_DEEPEST = 5
"""Iterators that are gone through on the way of a value."""


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
    """What is done with values on their way through an iterator in C, and no further.

    Returns:
        See :func:`by_call`.
    """
    given_back = GivenBack()
    _follow(iterator, (), given_back)
    return given_back if given_back.is_used() else None


def by_call(things: Iterable[Any], users: Sequence[User], function: Any = None) -> GivenBack | None:
    """What is done with values that a call in C gets from what it goes through.

    Parameters:
        things: what it goes through.
        users: what it does with their items.
        function: computes of each item what ``users`` get in its place; ``None``: they get items.

    Returns:
        It, or ``None`` if nothing is done of which something is to be told.
    """
    code = code_of(function)
    of_items: Sequence[User] = users
    if function is not None:
        of_items = [Calling(function)] if code is None else ()
    given_back = GivenBack()
    given_back.add(code, users)
    for thing in things:
        if _is_iterator(thing):
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
        if value is NOTHING or not (_is_iterator(value) or families.CONTAINER[type(value)]):
            return None
        if _is_iterator(value):
            _follow(value, self._users, self._given_back)
        items = item_functions.items_of(value) if self._users else None
        tells = [] if items is None else [t for item in items for t in told_by(self._users, item)]
        return in_turn([telling_of_call(list, (value,)), *tells])


def _is_iterator(thing: Any) -> bool:
    return table.ITERATORS[type(thing)] is not None


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
    """The code that a call of something executes; ``None`` if that is not in Python."""
    while type(function) is MethodType or partials.is_partial(type(function)):
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

OVER_SEQUENCES = frozenset({table.SEQUENCE_ITERATOR, reversed})
"""They ask what they go through for one item after the other, by number."""


def _follow(iterator: Any, users: Sequence[User], given_back: GivenBack, depth: int = 0) -> None:
    """Note what is done with values on their way through an iterator.

    Parameters:
        iterator: through which they go.
        users: what is done with what it hands on.
        given_back: where it is noted.
        depth: how many iterators lie over it.
    """
    class_ = table.ITERATOR_TYPES[type(iterator)]
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
        for thing in (inner and item_functions.items_of(inner[-1])) or ():
            if IS_GONE_THROUGH[type(thing)]:
                _go_through(type(thing), users, given_back)
    else:
        of_items = [users] * len(inner)
        for each in referents if class_ in OVER_SEQUENCES else ():
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
    class_ = table.ITERATOR_TYPES[type(thing)]
    if class_ is map and item_functions.items_of(thing) is not None:
        return True
    if table.ITERATORS[class_] is not table.OVER_ITERATORS or class_ in OVER_SEQUENCES:
        return (
            class_ is GeneratorType
            or IS_GONE_THROUGH[class_]
            or class_ in OVER_SEQUENCES
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
