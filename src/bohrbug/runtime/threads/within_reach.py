"""What a task could look at: the values that can be reached from its frames.

Two looks at them are equal only if nothing has changed in between, however deep a counter is
hidden.  Which object it is does not matter, as loops make new ones each time; nothing of the
program's own code is called.
"""

from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import count
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from bohrbug.runtime.threads.local_variables import is_of_module, local_variables
from bohrbug.runtime.threads.rewrite.classes import module_of, namespace_of
from bohrbug.runtime.threads.standing import OUTERMOST, PLAIN, goes_round, is_counted, left_in

Contents = tuple[object, ...]
"""The places of the frames, and the types and values of what is within reach of them."""

MOST_OBJECTS = 10_000
"""Objects that are looked at; where there are more, some might change unseen."""

_BYTES = frozenset({bytearray, array})
_NOT_ENTERED = (ModuleType, CodeType, FrameType)
_OF_OTHERS = frozenset(
    {
        *("asyncio", "trio", "greenlet", "_thread", "threading", "bohrbug", "bohrbug_entry"),
        *("_pytest", "pluggy", "unittest"),
    }
)
"""Packages whose objects say only for themselves what they are, such as a semaphore its value: what
they refer to changes as time passes."""


def within_reach(frames: Iterable[FrameType], most: int = MOST_OBJECTS) -> Contents | None:
    """What the values are that can be reached from some frames.

    Parameters:
        frames: of one task, those of the program and of libraries, the innermost first.
        most: objects that are looked at.

    Returns:
        ``None``: there is too much, or a loop goes round a number of times that no value shows.
    """
    found: list[object] = []
    roots: list[object] = []
    is_in_loop: bool | None = None
    for frame in frames:
        if is_in_loop is None:
            is_in_loop = goes_round(frame.f_code, frame.f_lasti)
            if is_in_loop is False:
                return None
        found += (frame.f_code, frame.f_lasti)
        if not is_of_module(frame):
            roots += local_variables(frame).values()
        roots += _named_in(frame.f_code, frame.f_globals)
    return None if not _walk(roots, found, most) else tuple(found)


def frames_around(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of a thread, from the innermost on, without this tool's own."""
    is_inside = False
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if is_inside and module in OUTERMOST:
            return
        if not _is_of_others(module):
            is_inside = True
            yield frame
        frame = frame.f_back


def _walk(roots: list[object], found: list[object], most: int) -> bool:
    """Add what is reached; false if it is too much."""
    seen: set[int] = set()
    waiting = roots
    while waiting:
        following: list[object] = []
        for value in waiting:
            kind = type(value)
            if kind in PLAIN:
                found += (kind, value)
                continue
            if id(value) in seen:
                continue
            seen.add(id(value))
            if len(seen) > most:
                return False
            found.append(kind)
            following += _entered(value, kind, found)
        waiting = following
    return True


def _entered(value: Any, kind: type, found: list[object]) -> Iterable[object]:
    """What an object refers to; what it says of itself is added.

    It is told by its type what it is: proxies run code when they are asked for their class.
    """
    if kind is FunctionType:
        if is_of_library(value.__module__):
            return ()
        return (
            *(value.__closure__ or ()),
            *(value.__defaults__ or ()),
            *_named_in(value.__code__, value.__globals__),
        )
    if issubclass(kind, type):
        namespace = namespace_of(value)
        return () if is_of_library(namespace.get("__module__")) else namespace.values()
    if kind is BuiltinFunctionType:
        # A method is bound to what it works on, other functions to their module.
        return (value.__self__,)
    if issubclass(kind, _NOT_ENTERED):
        return ()
    if _is_of_others(module_of(kind)):
        return [each for each in gc.get_referents(value) if type(each) in PLAIN]
    if kind in _BYTES:
        found.append(bytes(value))
        return ()
    if kind is count:
        found.append(repr(value))
        return ()
    for sets in (set, frozenset):
        if issubclass(kind, sets):
            # Its elements come in an order that depends on where they are.
            found.append(sets.__len__(value))
            return ()
    if is_counted(kind):
        found.append(left_in(value))
        return ()
    return gc.get_referents(value)


def _named_in(code: CodeType, variables: dict[str, Any]) -> list[object]:
    """The global variables that code names, be they those of another module."""
    found = [variables[name] for name in code.co_names if name in variables]
    for module in [each for each in found if type(each) is ModuleType]:
        if not is_of_library(module.__name__):
            found += [vars(module)[name] for name in code.co_names if name in vars(module)]
    return found


def is_of_library(module: object) -> bool:
    """Whether a module, by its name, is one of the standard library or of a test framework."""
    root = str(module).partition(".")[0]
    return root in sys.stdlib_module_names or root in _OF_OTHERS


def _is_of_others(module: object) -> bool:
    return str(module).partition(".")[0] in _OF_OTHERS
