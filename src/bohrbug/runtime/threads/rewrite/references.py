"""What making and calling of weak references accesses, and of functions of ``ctypes``.

See :mod:`.lives` and :mod:`.memory`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import hooks, lives, memory
from bohrbug.runtime.threads.rewrite.place import Place


def make(class_: type, arguments: tuple[Any, ...], place: Place) -> None:
    """A class of weak references is about to be called."""
    if not arguments:
        return
    target, *more = arguments
    if isinstance(target, table.BOUND_METHOD):
        # WeakMethod
        target = target.__self__
    is_plain = class_ is lives.Reference and (not more or more[0] is None)
    lives.made(target, weakref.ref if is_plain else None, place)


def _make_proxy(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    lives.made(owner, None if arguments and arguments[0] is not None else weakref.proxy, place)


def call(reference: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """A weak reference, or a function of ``ctypes``, is about to be called."""
    if isinstance(reference, memory.FUNCTION):
        hooks.tell_memory(memory.called(reference, arguments), place)
        return
    hooks.whole(lives.read(reference, place), False, place)


def _count(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    variable = lives.look(owner, place)
    if variable is not None:
        hooks.whole(variable, False, place)


def _take_address(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if isinstance(owner, memory.DATA):
        memory.register(owner)


def _pack_into(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and table.CONTAINER[type(arguments[0])]:
        hooks.tell_whole(arguments[0], True, place)


def _unpack_from(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and table.CONTAINER[type(arguments[0])]:
        hooks.tell_whole(arguments[0], False, place)


ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], None]] = {
    table.MAKE_PROXY: _make_proxy,
    table.READ_REFERENCE: call,
    table.COUNT_REFERENCES: _count,
    table.TAKE_ADDRESS: _take_address,
    table.PACK_INTO: _pack_into,
    table.UNPACK_FROM: _unpack_from,
}
