"""Finding objects through the garbage collector.

Looking at all objects takes most of the time that it takes to enter an exploration: so it is done
in C, as seldom as possible, and once for all that is wanted.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Collection, Iterable
from types import CodeType, FunctionType
from typing import Any

from bohrbug.accelerator import native, twin


@twin
def objects_of_types(types: Collection[type]) -> list[Any]:
    """All tracked objects whose type is one of these, not one derived from it.

    Parameters:
        types: a set.
    """
    return [found for found in gc.get_objects() if type(found) in types]


@twin
def survey(
    originals: list[Any],
    primitives: Collection[type],
    others: Collection[type],
    passed_over: Collection[type],
    unchangeable: Collection[type],
) -> tuple[list[Any], list[Any]]:
    """Everything that entering an exploration has to know of all tracked objects, in one walk.

    Parameters:
        originals: objects that are to be exchanged.
        primitives: all objects of these types are to be exchanged, too.
        others: objects of these types are wanted, but not exchanged.
        passed_over: objects of these types count as nobody's holders.
        unchangeable: whoever holds an object of these types, in which something is to be
            exchanged, has to exchange it as a whole.

    Returns:
        The objects of the types in ``primitives`` and ``others``; and the holders: those that
        refer to what is to be exchanged, directly or through one unchangeable object.  Of a
        function only its default values count.
    """
    found = objects_of_types({*primitives, *others})
    wanted = [*originals, *(each for each in found if type(each) in primitives)]
    direct = _referrers(wanted, passed_over)
    within = [each for each in direct if type(each) in unchangeable]
    # Before anything else is made of the direct ones, which would be found here, hold itself, and
    # stay until the next garbage collection.
    further = _referrers(within, passed_over)
    holders = {id(each): each for each in itertools.chain(direct, further)}
    for own in (originals, found, wanted, direct, within):
        holders.pop(id(own), None)
    return found, [each for each in holders.values() if not _is_undefaulted(each)]


def _referrers(objects: Iterable[Any], passed_over: Collection[type]) -> list[Any]:
    # From Python 3.13 on the arguments of the call are found, too.
    arguments = tuple(objects)
    return [
        found
        for found in gc.get_referrers(*arguments)
        if type(found) not in passed_over and found is not arguments
    ]


def _is_undefaulted(holder: Any) -> bool:
    return type(holder) is FunctionType and holder.__defaults__ is None


_CAN_WATCH = sys.version_info >= (3, 12)
"""The interpreter tells of functions that are made."""

Functions = list[FunctionType] | None
"""Functions to look for some among; ``None`` are all, known without looking at objects."""


def all_functions() -> Functions:
    """All functions written in Python, but for frozen ones if :func:`knows_functions` is false."""
    # To count the frozen objects is to look at them all.
    if _CAN_WATCH and not knows_functions() and native is not None and not gc.get_freeze_count():
        native.watch_functions()
    return None if knows_functions() else objects_of_types({FunctionType})


def knows_functions() -> bool:
    """Whether all functions are known from their making, frozen ones included.

    So it is from the first call of :func:`all_functions` without frozen objects on, with the
    accelerator on Python 3.12 and newer.
    """
    return native is not None and native.functions_are_watched()


@twin
def functions_running(codes: Collection[CodeType], functions: Functions) -> list[FunctionType]:
    """Those of some functions that have one of these code objects."""
    wanted = {id(code) for code in codes}
    return [each for each in functions or () if id(each.__code__) in wanted]


@twin
def functions_in(
    namespaces: Collection[dict[str, Any]], functions: Functions
) -> list[FunctionType]:
    """Those of some functions that have one of these dicts as their globals."""
    wanted = {id(namespace) for namespace in namespaces}
    return [each for each in functions or () if id(each.__globals__) in wanted]
