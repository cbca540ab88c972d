"""What code in C calls in its turn, where that is in C, too: nobody else tells of it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import (
    given_back,
    halfway,
    hooks,
    item_functions,
    iteration,
    meanings,
    partials,
    tell,
    unknown,
)
from bohrbug.runtime.threads.rewrite.attributes import is_stored, read_kinds
from bohrbug.runtime.threads.rewrite.classes import look_up
from bohrbug.runtime.threads.rewrite.effects import FIRST, FOLDS, HELD, Effect
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.place import Place


def tell_given(
    effect: Effect, owner: Any, arguments: tuple[Any, ...], named: Any, place: Place
) -> None:
    """Some code in C is about to work that calls functions which it is given.

    Parameters:
        effect: what it does itself.
        owner: what it works on, or its first argument.
        arguments: the further ones.
        named: the function that it is given by keyword, or ``None``.
        place: where.
    """
    if named is not None:
        _tell_for_items(named, owner, arguments, place)
    elif effect.calls == FIRST:
        if arguments and item_functions.is_in_c(arguments[0]):
            iteration.Calls.tell(arguments[0], arguments[1:], place)
    elif effect.calls == FOLDS:
        _tell_fold(owner, arguments, place)
    elif effect.calls == HELD:
        tell_held(owner, place)
        for given in arguments:
            _tell_called(item_functions.plain_attribute(given, "read"), (), place)
    else:
        for function in arguments:
            if item_functions.is_in_c(function):
                _tell_without_items(function, place)


def tell_held(owner: Any, place: Place) -> None:
    """An object of C is about to work, and to call what it holds: handlers, hooks, callbacks."""
    for function in item_functions.held_by(owner):
        _tell_without_items(function, place)


def _tell_for_items(
    function: Callable[..., Any], owner: Any, arguments: tuple[Any, ...], place: Place
) -> None:
    """A key is computed of each item; of one that is looked for, too."""
    # ``max(a, b, key=...)``; with ``sorted`` and ``sort`` nothing comes after the items.
    items = item_functions.items_of(owner) if not arguments or _holds(owner) else None
    if items is None and arguments:
        items = [owner, *arguments]
    if items is None:
        if not given_back.is_followed(owner):
            _tell_without_items(function, place)
        return
    for item in items:
        iteration.Calls.tell(function, (item,), place)


def _holds(owner: Any) -> bool:
    # ``bisect(items, x, key=...)``
    return type(owner) is list


def _tell_fold(function: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """``reduce``: the values in between are known of some functions only."""
    if not item_functions.is_in_c(function) or not arguments:
        return
    items = item_functions.items_of(arguments[0])
    if items is None:
        if not given_back.is_followed(arguments[0]):
            _tell_without_items(function, place)
        return
    for called, given in item_functions.folded(function, items, *arguments[1:2]):
        iteration.Calls.tell(called, given, place)


def tell_iterator(iterator: Any, place: Place) -> None:
    """An iterator is about to be advanced that calls a function in C: ``map(items.append, x)``."""
    for function, arguments in item_functions.calls_of(iterator):
        if arguments is not None:
            iteration.Calls.tell(function, arguments, place)
        elif type(function) is table.LruCacheWrapper or not given_back.are_items_followed(iterator):
            _tell_without_items(function, place)


def _tell_without_items(function: Any, place: Place) -> None:
    """A function in C will be called, with what is not known."""
    if item_functions.depends_on_items(function):
        name = unknown.name_of_function(function)
        Inspecting.ask(f"{name}, which code in C calls,", place)
    else:
        iteration.Calls.tell(function, (), place)


# --- Objects that stand for calls ----------------------------------------------------------------


def partial(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """A ``functools.partial`` is about to be called."""
    if is_stored("keywords") or is_stored("__setstate__"):
        tell.in_one_step(place, _tell_partial, callable_, place)
    inner = callable_.func
    if unknown.CALLED[type(inner)]:
        iteration.Calls.tell(inner, partials.arguments(callable_.args, arguments), place)


def static(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """An object ``staticmethod`` is about to be called by itself."""
    if unknown.CALLED[type(callable_.__func__)]:
        iteration.Calls.tell(callable_.__func__, arguments, place)


def _tell_partial(owner: Any, place: Place) -> None:
    tell.whole(owner, False, place)
    if type(owner.keywords) is dict:
        meanings.tell_whole(owner.keywords, False, place)


def cached(cache: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """The function of an ``lru_cache`` will be entered, unless its result is known.

    Which only the call itself finds out.  If the function tells where it begins, the cache is read
    here and changed there; else it is changed here.
    """
    tell.whole(cache, not (_tells_of_its_beginning(cache) and _is_roomy(cache)), place)
    function = item_functions.wrapped(cache)
    if function is not None:
        iteration.Calls.tell(function, arguments, place)
    # When the result is known, this stays until the next call: hence weakly.
    halfway.begin(meanings.telling_again(cache, True))


_MOST_KEPT = 1_000
_entered: dict[int, tuple[CodeType, bool]] = {}
"""By ids of code: whether it tells where it begins.  The code is kept, so that no other gets its
id."""


def _tells_of_its_beginning(cache: Any) -> bool:
    function = getattr(cache, "__wrapped__", None)
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    known = _entered.get(id(code))
    if known is None:
        if len(_entered) >= _MOST_KEPT:
            _entered.clear()
        known = code, any(constant is halfway.enter for constant in code.co_consts)
        _entered[id(code)] = known
    return known[1]


def _is_roomy(cache: Any) -> bool:
    """Whether it will hardly come to drop a result: which one depends on the order of all calls."""
    _, _, most, kept = _cache_info(cache)
    return most is None or 2 * kept <= most


_cache_info: Callable[[Any], tuple[int, int, int | None, int]] = table.LruCacheWrapper.cache_info  # type: ignore[attr-defined]


def getter(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """``attrgetter``, ``itemgetter`` and ``methodcaller`` objects."""
    if not arguments:
        return
    target = arguments[0]
    _, details = callable_.__reduce__()[:2]
    if type(callable_) is operator.attrgetter:
        for path in details:
            _tell_path(target, path.split("."), place)
    elif type(callable_) is operator.itemgetter:
        for key in details:
            hooks.read_item(target, key, place)
    elif type(details[0]) is str:
        method = look_up(type(target), details[0])
        if type(method) in _BECOMING_METHODS:
            iteration.Calls.tell(method, (target, *details[1:]), place)
        _tell_called(item_functions.plain_attribute(target, details[0]), details[1:], place)


_BECOMING_METHODS = frozenset(
    {table.MethodDescriptor, table.WrapperDescriptor, table.LruCacheWrapper}
)
"""Types of functions in C that are methods of objects of the classes that have them."""


def _tell_path(target: Any, path: Iterable[str], place: Place) -> None:
    for name in path:
        if target is None:
            return
        hooks.read_attribute(target, name, read_kinds(name), place)
        target = item_functions.plain_attribute(target, name)


def _tell_called(function: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if item_functions.is_in_c(function) or type(function) is type:
        iteration.Calls.tell(function, arguments, place)


halfway.Called.tell = staticmethod(_tell_called)
iteration.Calls.tell_iterator = staticmethod(tell_iterator)

TELLING = {
    functools.partial: partial,
    staticmethod: static,
    table.LruCacheWrapper: cached,
    **dict.fromkeys((operator.attrgetter, operator.itemgetter, operator.methodcaller), getter),
}
"""Who tells of a call of an object of a class."""
