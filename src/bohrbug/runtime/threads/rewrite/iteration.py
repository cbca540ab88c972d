"""What iterators written in C access, told just before they are advanced.

What lies under one, such as a container or further iterators, is asked of the garbage collector.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable
from types import AsyncGeneratorType, FunctionType, MethodType
from typing import Any

from bohrbug.accelerator import native, with_fast_path
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import (
    by_value,
    families,
    given_back,
    halfway,
    held,
    hooks,
    item_functions,
    made_before,
    meanings,
    orders,
    tell,
    unknown,
)
from bohrbug.runtime.threads.rewrite.classes import FOREIGN
from bohrbug.runtime.threads.rewrite.effects import Effect
from bohrbug.runtime.threads.rewrite.place import Place

Read = Callable[[Any, Place], None]
Tell = Callable[[Place], None]

_CONTAINER = families.CONTAINER


def _ignore(*_: object) -> None:
    """While nobody tells of calls."""


class _Going:
    """What goes on as an iterator is asked for its next item.

    Attributes:
        on: the iterators that others may have as well, and that may run functions.
        uses_values: whether something is done with values that functions give back.
    """

    def __init__(self) -> None:
        self.on: list[Any] = []
        self.uses_values = False


class Calls:
    """Who tells of what iterators call; :mod:`.c_code` does.

    Attributes:
        tell: of a call, with what is called, its arguments and the place.
        apply: tells what a call does, with its effect, the owner, the arguments and the place.
        tell_iterator: of what an iterator calls that is about to be advanced.
    """

    tell: Callable[[Any, tuple[Any, ...], Place], None] = staticmethod(_ignore)
    apply: Callable[[Effect, Any, tuple[Any, ...], Place], None] = staticmethod(_ignore)
    tell_iterator: Callable[[Any, Place], None] = staticmethod(_ignore)


def iterate(owner: Any, place: Place) -> None:
    """``iter(owner)`` is about to be made; a list is first looked at by the first step."""
    if type(owner) is not list and _CONTAINER[type(owner)] and tell.active:
        if type(owner) in orders.SETS:
            orders.note(owner, place)
        meanings.tell_whole(owner, False, place)


def consume(owner: Any, place: Place) -> None:
    """All items of ``owner`` are about to be read in one go, in their order."""
    halfway.end_here()
    if tell.active:
        if type(owner) in orders.SETS:
            orders.note(owner, place)
        consume_in_any_order(owner, place)


def consume_in_any_order(owner: Any, place: Place) -> Tell | None:
    """All items of ``owner`` are about to be read in one go; their order does not matter.

    Returns:
        What tells of it again in the middle, if functions in Python may run meanwhile.
    """
    again = None
    if table.ITERATORS[type(owner)]:
        again = advance(owner, place, 0)
        if FOREIGN[type(owner)]:
            tell.in_one_step(place, _read_behind, owner, place)
    elif _CONTAINER[type(owner)]:
        meanings.tell_whole(owner, False, place)
    if given_back.IS_GONE_THROUGH[type(owner)]:
        halfway.begin_if_any([], given_back.by_call([owner], ()))
    return again


def _read_behind(iterator: Any, place: Place) -> None:
    """All that an iterator of code in C, such as over the elements in one, will come to."""
    behind = [each for each in gc.get_referents(iterator) if FOREIGN[type(each)]]
    for thing, _ in list(unknown.reached(behind, False)):
        meanings.tell_whole(thing, False, place)


def _step_over(container: Any, place: Place) -> None:
    """The next item of a container is asked for by an index that the loop keeps itself."""
    meanings.tell_whole(container, False, place)


@with_fast_path
def step(iterator: Any, place: Place) -> None:
    """The next item of ``iterator`` is about to be asked for.

    Since Python 3.15 a loop over a list has the list in its place, and an index of its own.
    """
    halfway.end_here()
    role = table.ITERATORS[type(iterator)]
    if role and tell.active:
        if sys.getrefcount(iterator) > held.by_loop:
            advance(iterator, place)
        elif role is not table.OVER_NOTHING:
            _step_into(iterator, place)
    elif _CONTAINER[type(iterator)] and tell.active:
        _step_over(iterator, place)


@with_fast_path
def step_of_comprehension(iterator: Any, place: Place) -> None:
    """The next item is about to be asked for by a comprehension, whose parameter it is as well.

    Since Python 3.15 a generator expression over a list has the list in its place.
    """
    halfway.end_here()
    if table.ITERATORS[type(iterator)] and tell.active:
        if sys.getrefcount(iterator) > held.by_comprehension:
            advance(iterator, place)
        else:
            _step_into(iterator, place)
    elif _CONTAINER[type(iterator)] and tell.active:
        _step_over(iterator, place)


def advance(iterator: Any, place: Place, depth: int = 0) -> Tell | None:
    """An iterator that others may have as well is about to be asked for its next item.

    Parameters:
        iterator: the iterator.
        place: where.
        depth: how many iterators lie over it.

    Returns:
        See :func:`consume_in_any_order`.
    """
    again: Tell | None = tell.in_one_step(place, _step_and_advance, iterator, place, depth)
    return again


def _step_and_advance(iterator: Any, place: Place, depth: int) -> Tell | None:
    going = _Going()
    _step_into(iterator, place, depth, going=going)
    tell.whole(iterator, True, place)
    if _may_run(iterator):
        going.on.append(_what_goes_on(iterator, place))
    return _go_on(iterator, going)


def _may_run(iterator: Any) -> bool:
    """Whether an iterator is a function in Python, or may call one."""
    class_ = type(iterator)
    return class_ in table.RUNNING_TYPES or table.ITERATORS[class_] is table.OVER_ITERATORS


def _go_on(iterator: Any, going: _Going) -> Tell | None:
    """Some iterators that others may have as well go on; functions that they call run meanwhile."""
    receiver = given_back.by_iterator(iterator) if going.uses_values else None
    if not going.on and receiver is None:
        return None
    # What is under several others is told of once.
    several = {id(each): each for each in going.on}.values()
    again = meanings.telling_all_again([*several])
    halfway.begin(again, receiver)
    return again


def _what_goes_on(iterator: Any, place: Place) -> Any:
    """What changes as an iterator goes on; of some it is an object that others have as well."""
    made_before.go_on(iterator, place)
    class_ = type(iterator)
    if class_ is not _Tee and class_ not in table.AWAITABLES_OF_GENERATORS:
        return iterator
    behind = (_DataOfTee, AsyncGeneratorType)
    return next((each for each in gc.get_referents(iterator) if type(each) in behind), iterator)


def _step_into(
    iterator: Any,
    place: Place,
    depth: int = 0,
    read: Read = hooks.read_whole,
    going: _Going | None = None,
) -> None:
    """What lies under an iterator that C code advances: containers and further iterators.

    Parameters:
        iterator: the iterator.
        place: where it is advanced.
        depth: how many iterators lie over it.
        read: what is done to a container at the bottom.
        going: takes what goes on; ``None``: it goes on from here.
    """
    role = table.ITERATORS[type(iterator)]
    if role is table.OVER_CONTAINER:
        for referent in gc.get_referents(iterator):
            if _CONTAINER[type(referent)]:
                read(referent, place)
    elif role is table.OVER_LINES:
        effects_of_stream = table.METHODS[type(iterator)]
        effect = effects_of_stream.get("readline") or effects_of_stream["tell"]
        Calls.apply(effect, iterator, (), place)
    elif role is table.OVER_NOTHING and read is not hooks.read_whole:
        for referent in gc.get_referents(iterator):
            if type(referent) is tuple:
                read(referent, place)
    elif role is table.OVER_ITERATORS:
        if going is not None:
            tell.in_one_step(place, _step_into_others, iterator, place, depth, read, going)
            return
        # Nobody else has this one.
        going = _Going()
        tell.in_one_step(place, _step_into_others, iterator, place, depth, read, going)
        _go_on(iterator, going)


def _step_into_others(iterator: Any, place: Place, depth: int, read: Read, going: _Going) -> None:
    def has_gone_on(inner: Any) -> None:
        tell.whole(inner, True, place)
        if _may_run(inner):
            going.on.append(_what_goes_on(inner, place))

    referents = gc.get_referents(iterator)
    in_c = table.ITERATOR_TYPES[type(iterator)]
    Calls.tell_iterator(iterator, place)
    going.uses_values = going.uses_values or in_c in given_back.USING
    if _looks_into_items(iterator, referents):
        read = by_value.read_one
        picked = item_functions.picked_by(item_functions.iterators_under(iterator, referents))
        if picked:
            by_value.read(picked, place)
    if in_c is itertools.chain:
        referents = [*referents, *item_functions.chained(referents)]
    for referent in referents:
        class_ = type(referent)
        if table.ITERATORS[class_] and depth < 4:
            _step_into(referent, place, depth + 1, read, going)
            if sys.getrefcount(referent) > held.UNDER_ANOTHER:
                has_gone_on(referent)
        elif class_ is _DataOfTee:
            # The other iterators of the tee have it, and what is under it, too.
            tell.whole(referent, True, place)
            for inner in gc.get_referents(referent):
                if table.ITERATORS[type(inner)] and depth < 4:
                    _step_into(inner, place, depth + 1, read, going)
                    has_gone_on(inner)
        elif class_ is tuple and depth < 4:
            # Not the tuple itself: zip_longest leaves holes in it that crash who looks at them.
            for inner in gc.get_referents(referent):
                if table.ITERATORS[type(inner)]:
                    _step_into(inner, place, depth + 1, read, going)
                    if sys.getrefcount(inner) > held.UNDER_ANOTHER:
                        has_gone_on(inner)
        elif in_c in given_back.OVER_SEQUENCES and _CONTAINER[class_]:
            read(referent, place)


if native is not None:
    native.use_iteration(
        held.by_loop_in_c(),
        table.ITERATORS,
        _CONTAINER,
        table.OVER_NOTHING,
        _step_into,
        advance,
        _step_over,
    )

_Tee: type = vars(itertools)["_tee"]
_DataOfTee: type = vars(itertools)["_tee_dataobject"]

_GIVING_ITEMS_TO_A_FUNCTION = frozenset(
    {map, filter, itertools.starmap, itertools.takewhile, itertools.dropwhile}
    | {itertools.filterfalse, itertools.groupby, itertools.accumulate}
)


def _looks_into_items(iterator: Any, referents: list[Any]) -> bool:
    """Whether an iterator does more with items than to hand them on, in code in C."""
    class_ = table.ITERATOR_TYPES[type(iterator)]
    if class_ is itertools.chain or class_ is itertools.starmap:
        # What is in each item is handed on.
        return True
    return class_ in _GIVING_ITEMS_TO_A_FUNCTION and not any(
        type(each) is FunctionType or type(each) is MethodType for each in referents
    )
