"""What a program calls an object that it hands over, as the bound method ``results.append``.

Whoever calls the method later is no code of the program, and its source has no name for the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import Context
from functools import partial
from types import BuiltinMethodType, FrameType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from bohrbug.model.site import qualified
from bohrbug.runtime.threads.control import outside_internal_modules
from bohrbug.runtime.threads.local_variables import local_variables

_FARTHEST = 10
"""So many frames outwards the object may have its name."""

_BOUND = frozenset({BuiltinMethodType, MethodWrapperType, MethodType})


def name_of_bound(function: Any, frame: FrameType | None) -> str:
    """What the program calls the object that a function in C is bound to.

    Parameters:
        function: that is handed over.
        frame: of who hands it over.

    Returns:
        ``results``, or ``Bank.accounts`` for ``self.accounts`` in a method of ``Bank``; empty where
        the function is bound to nothing, or the object has no name there.
    """
    given: tuple[Any, ...] = ()
    while True:
        if type(function) is partial:
            function, given = function.func, function.args + given
        elif _runs_in_context(function):
            # What is accessed is what the function accesses that runs in the context.
            if not given:
                return ""
            function, given = given[0], given[1:]
        else:
            break
    if type(function) not in _BOUND:
        return ""
    bound = function.__self__
    if bound is None or _is_namespace(bound):
        return ""
    around = list(_frames(frame))
    for each in around:
        for name in _names(bound, local_variables(each)):
            return qualified(name, each.f_code.co_qualname)
    for each in around:
        for name, value in each.f_globals.items():
            if value is bound:
                return name
    return ""


def _runs_in_context(function: object) -> bool:
    if type(function) is not BuiltinMethodType:
        return False
    return type(function.__self__) is Context and function.__name__ == "run"


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    around = outside_internal_modules(frame)
    for _ in range(_FARTHEST):
        if around is None:
            return
        yield around
        around = around.f_back


def _names(bound: object, local: Mapping[str, object]) -> Iterator[str]:
    # Comprehensions have variables such as ``.0``.
    known = {name: value for name, value in local.items() if name.isidentifier()}
    for name, value in known.items():
        if value is bound:
            yield name
    for name, value in known.items():
        for attribute, held in _attributes(value).items():
            if held is bound:
                yield f"{name}.{attribute}"


def _is_namespace(thing: object) -> bool:
    # ``isinstance`` would ask a proxy what it stands for.
    return issubclass(type(thing), (ModuleType, type))


def _attributes(holder: object) -> dict[str, object]:
    """What an object has in its dictionary, without asking code of the program."""
    if _is_namespace(holder):
        return {}
    try:
        found = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}
