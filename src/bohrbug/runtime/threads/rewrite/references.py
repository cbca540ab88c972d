"""What making and calling of weak references accesses, and of functions of ``ctypes``.

See :mod:`.lives` and :mod:`.memory`.
"""

from __future__ import annotations

import _ctypes
import _weakref
import weakref
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import item_functions, lives, meanings, memory, tell, unknown
from bohrbug.runtime.threads.rewrite.classes import order_of, remember_class
from bohrbug.runtime.threads.rewrite.effects import Effect
from bohrbug.runtime.threads.rewrite.functions_table import add_functions
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.place import Place

_MAKE_PROXY = "make a weak reference"
CALL = "call a weak reference, or a function of ctypes"
_COUNT = "count weak references"
_TAKE_ADDRESS = "get hold of an address"


class _MakesReferences(dict[type, bool]):
    """Whether a class is one of weak references."""

    def __missing__(self, class_: type) -> bool:
        answer = weakref.ReferenceType in order_of(class_)
        self[class_] = answer
        remember_class(self, class_)
        return answer


MAKES_REFERENCES = _MakesReferences()


def make(class_: type, arguments: tuple[Any, ...], place: Place) -> None:
    """A class of weak references is about to be called."""
    if not arguments:
        return
    target, *more = arguments
    if issubclass(type(target), table.BOUND_METHOD):
        # WeakMethod
        target = target.__self__
    if more and item_functions.is_in_c(more[0]):
        # What it does when the object dies is told nowhere.
        name = unknown.name_of_function(more[0])
        Inspecting.ask(f"{name}, the callback of a weak reference,", place)
    is_plain = class_ is lives.Reference and (not more or more[0] is None)
    lives.made(target, weakref.ref if is_plain else None, place)


def _make_proxy(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    lives.made(owner, None if arguments and arguments[0] is not None else weakref.proxy, place)


def call(reference: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """A weak reference, or a function of ``ctypes``, is about to be called."""
    if issubclass(type(reference), memory.FUNCTION):
        meanings.tell_memory(memory.called(reference, arguments), place)
        return
    tell.whole(lives.read(reference, place), False, place)


def _count(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    variable = lives.look(owner, place)
    if variable is not None:
        tell.whole(variable, False, place)


def _take_address(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if issubclass(type(owner), memory.DATA):
        memory.register(owner)


ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], None]] = {
    _MAKE_PROXY: _make_proxy,
    CALL: call,
    _COUNT: _count,
    _TAKE_ADDRESS: _take_address,
}

add_functions(_weakref, "proxy", _MAKE_PROXY)
add_functions(_weakref, "getweakrefcount getweakrefs", _COUNT)
add_functions(_ctypes, "addressof byref", _TAKE_ADDRESS)
table.add_methods(
    {
        weakref.ReferenceType: {"__call__": Effect(CALL)},
        memory.FUNCTION: {"__call__": Effect(CALL)},
    }
)
