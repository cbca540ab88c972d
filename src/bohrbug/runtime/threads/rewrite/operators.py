"""What operators of code in C access, told just before they are computed.

Most values are of types that need nothing told: that is looked at before whether there is a sink.
"""

from __future__ import annotations

from array import array
from typing import Any

from bohrbug.accelerator import native, with_fast_path_before
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import (
    by_value,
    families,
    given_back,
    halfway,
    hooks,
    iteration,
    meanings,
    tell,
    unknown,
)
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.value_users import Looking

_CONTAINER = families.CONTAINER
_SCALARS = frozenset({int, float, str, bool, bytes, complex})

if native is not None:
    native.use_operators(_SCALARS, families.CONTAINS, families.MAPPING, unknown.CALLED)


@with_fast_path_before
def contains(key: Any, owner: Any, place: Place) -> None:
    """``key in owner`` is about to be computed."""
    halfway.end_here()
    contains_in(families.CONTAINS[type(owner)], key, owner, place)


def contains_in(family: object, key: Any, owner: Any, place: Place) -> None:
    """Whether ``key`` is in a container of a family is about to be computed."""
    if family is None:
        if not tell.active:
            return
        if table.ITERATORS[type(owner)]:
            _look_for(key, owner, iteration.advance(owner, place))
        elif given_back.IS_SEARCHED[type(owner)]:
            _look_for(key, owner, None)
        elif type(key) not in by_value.LEAVES and by_value.HOLDING[type(owner)]:
            by_value.read((owner, key), place)
        elif type(owner) is bytes and families.CONTAINER[type(key)]:
            meanings.tell_whole(key, False, place)
        elif _CONTAINER[type(owner)]:
            # It is gone through: the values of a dict, a view of memory.
            meanings.tell_whole(owner, False, place)
    elif tell.active:
        if family is families.DELEGATED:
            meanings.tell_special_method(owner, "__contains__", (key,), place)
        elif family is families.SEQUENCE or family is families.OTHER:
            if type(key) in by_value.LEAVES:
                meanings.tell_whole(owner, False, place)
            else:
                by_value.read((owner, key), place)
        else:
            meanings.tell_item(owner, key, False, place)


def _look_for(key: Any, owner: Any, again: halfway.Tell | None) -> None:
    """Each item that functions in Python give is about to be compared with ``key``."""
    halfway.begin_if_any([again], given_back.by_call([owner], [Looking(besides=key)]))


@with_fast_path_before
def compare(left: Any, right: Any, place: Place) -> None:
    """A comparison is about to be computed."""
    left_class, right_class = type(left), type(right)
    if left_class is right_class and left_class in _SCALARS:
        return
    if left_class in by_value.LEAVES or right_class in by_value.LEAVES:
        binary(left, right, place)
    elif (by_value.HOLDING[left_class] or by_value.HOLDING[right_class]) and tell.active:
        by_value.read((left, right), place)
    elif _CONTAINER[left_class] or _CONTAINER[right_class]:
        binary(left, right, place)


@with_fast_path_before
def binary(left: Any, right: Any, place: Place) -> None:
    """A binary operator is about to be computed."""
    left_class, right_class = type(left), type(right)
    if left_class is right_class and left_class in _SCALARS:
        return
    reads_left, reads_right = _CONTAINER[left_class], _CONTAINER[right_class]
    if not tell.active:
        return
    halfway.end_here()
    if issubclass(left_class, _TEXTS) and by_value.HOLDING[right_class]:
        by_value.read((right,), place)
    elif reads_left and reads_right:
        tell.in_one_step(place, _read_both, left, right, place)
    elif left_class in families.VIEWS:
        tell.in_one_step(place, _compare_view, left, right, place)
    elif reads_left:
        meanings.tell_whole(left, False, place)
    elif reads_right:
        meanings.tell_whole(right, False, place)


def _compare_view(view: Any, other: Any, place: Place) -> None:
    """A view of a dict is combined with something else: it looks for each item of that."""
    again = iteration.consume_in_any_order(other, place)
    meanings.tell_whole(view, False, place)
    _expect_functions(view, other, again, False)


def _read_both(left: Any, right: Any, place: Place) -> None:
    meanings.tell_whole(left, False, place)
    meanings.tell_whole(right, False, place)


_TEXTS = (str, bytes, bytearray)
"""They are combined with what holds objects by ``%`` only."""


@with_fast_path_before
def binary_in_place(left: Any, right: Any, place: Place) -> None:
    """``left += right`` or its like is about to be computed; it may change ``left``."""
    if type(left) is type(right) and type(left) in _SCALARS:
        return
    if tell.active:
        halfway.end_here()
        tell.in_one_step(place, _consume_into, left, right, place)


def _consume_into(left: Any, right: Any, place: Place) -> None:
    again = iteration.consume_in_any_order(right, place)
    if _CONTAINER[type(left)]:
        meanings.tell_whole(left, True, place)
        _expect_functions(left, right, again)


_CALLING_NOTHING = frozenset({*_SCALARS, list, tuple, bytearray, array})


def _expect_functions(
    owner: Any, value: Any, again: halfway.Tell | None, is_write: bool = True
) -> None:
    """Functions may be called for what ``owner`` is about to get: it is changed after them."""
    if type(value) not in _CALLING_NOTHING:
        changing = meanings.telling_again(owner, is_write)
        halfway.begin_if_any([again, changing], given_back.by_call([value], ()))


def format_value(value: Any, place: Place) -> None:
    """Text is about to be made of a value."""
    class_ = type(value)
    if class_ not in by_value.LEAVES and tell.active:
        if by_value.HOLDING[class_]:
            by_value.read((value,), place)
        elif _CONTAINER[class_]:
            meanings.tell_whole(value, False, place)


def store_slice(value: Any, owner: Any, place: Place) -> None:
    """``owner[a:b] = value`` is about to be done."""
    if tell.active:
        tell.in_one_step(place, _store_slice, value, owner, place)


def _store_slice(value: Any, owner: Any, place: Place) -> None:
    again = iteration.consume_in_any_order(value, place)
    hooks.write_slice(owner, place)
    if families.SETITEM[type(owner)] is not None:
        _expect_functions(owner, value, again)
