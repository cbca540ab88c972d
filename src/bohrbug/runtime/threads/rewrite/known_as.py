"""What a program calls an object that it hands over, as the bound method ``results.append``.

Whoever calls the method later is no code of the program, and its source has no name for the object.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import CO_OPTIMIZED
from types import BuiltinMethodType, FrameType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from bohrbug.model.site import qualified
from bohrbug.runtime.threads.control import outside_internal_modules

_FARTHEST = 10
"""So many frames outwards the object may have its name."""

_BOUND = frozenset({BuiltinMethodType, MethodWrapperType, MethodType})

_ARE_KEPT = sys.version_info < (3, 13)
"""Whether a frame keeps, until it ends, the dictionary of its variables that it was asked for."""

_BY_NOBODY_ELSE = 3
"""References to such a dictionary: of the frame, of who asks, and of the call that counts."""


def name_of_bound(function: Any, frame: FrameType | None) -> str:
    """What the program calls the object that a function in C is bound to.

    Parameters:
        function: that is handed over.
        frame: of who hands it over.

    Returns:
        ``results``, or ``Bank.accounts`` for ``self.accounts`` in a method of ``Bank``; empty where
        the function is bound to nothing, or the object has no name there.
    """
    while type(function) is partial:
        function = function.func
    if type(function) not in _BOUND:
        return ""
    bound = function.__self__
    if bound is None or _is_namespace(bound):
        return ""
    around = list(_frames(frame))
    for each in around:
        for name in _names(bound, _local_variables(each)):
            return qualified(name, each.f_code.co_qualname)
    for each in around:
        for name, value in each.f_globals.items():
            if value is bound:
                return name
    return ""


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    around = outside_internal_modules(frame)
    for _ in range(_FARTHEST):
        if around is None:
            return
        yield around
        around = around.f_back


def _local_variables(frame: FrameType) -> dict[str, object]:
    """Those of a frame; what they are now lives no longer for having been looked at."""
    held = frame.f_locals
    found = dict(held)
    is_copy = _ARE_KEPT and frame.f_code.co_flags & CO_OPTIMIZED
    # The program has it, too, if it has called ``locals()``.
    if is_copy and sys.getrefcount(held) == _BY_NOBODY_ELSE:
        held.clear()
    return found


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
