"""Finding objects through the garbage collector.

Looking at all objects takes most of the time that it takes to enter an exploration; in C
it is some ten times as fast.
"""

from __future__ import annotations

import gc
from collections.abc import Collection
from types import CodeType, FunctionType
from typing import Any

from bohrbug.accelerator import twin


@twin
def objects_of_types(types: Collection[type]) -> list[Any]:
    """All tracked objects whose type is one of these, not one derived from it.

    Parameters:
        types: a set.
    """
    return [found for found in gc.get_objects() if type(found) in types]


@twin
def referrers(objects: list[Any], passed_over: Collection[type]) -> list[Any]:
    """All tracked objects that refer directly to one of these, but for that list.

    Like ``gc.get_referrers``, which takes time in proportion to their number.

    Parameters:
        objects: which.
        passed_over: objects of these types, a set, are not looked at.
    """
    return [
        found
        for found in gc.get_referrers(*objects)
        if found is not objects and type(found) not in passed_over
    ]


def all_functions() -> list[FunctionType]:
    """All functions written in Python; look for some among them as often as you like."""
    return objects_of_types({FunctionType})


@twin
def functions_running(codes: list[CodeType], functions: list[FunctionType]) -> list[FunctionType]:
    """Those of some functions that have one of these code objects."""
    wanted = {id(code) for code in codes}
    return [each for each in functions if id(each.__code__) in wanted]


@twin
def functions_in(
    namespaces: list[dict[str, Any]], functions: list[FunctionType]
) -> list[FunctionType]:
    """Those of some functions that have one of these dicts as their globals."""
    wanted = {id(namespace) for namespace in namespaces}
    return [each for each in functions if id(each.__globals__) in wanted]
