"""Functions in C that something else than rewritten code calls: threads, executors, contexts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import Context
from types import CodeType, FunctionType, MethodType
from typing import Any

from bohrbug.runtime.threads.data.expressions import names_of_bound
from bohrbug.runtime.threads.rewrite import c_code, halfway, iteration, meanings, tell, unknown
from bohrbug.runtime.threads.rewrite.known_as import name_of_bound
from bohrbug.runtime.threads.rewrite.place import Place

CALLABLE_PLACES: dict[str, Place] = {}
"""The place of each C function that was passed on as a callable, by its name.

Where the program has a name for the object that it is bound to, that is a part of it.
"""


def instrumented_callable(callable_: Callable[..., Any]) -> Callable[..., Any]:
    """A callable that tells its accesses when something else than rewritten code calls it.

    For thread targets and functions submitted to executors, such as ``items.append``. What is
    written in Python is returned as it is: its own code is rewritten.
    """
    if not unknown.CALLED[type(callable_)] or issubclass(type(callable_), type):
        return callable_
    function = callable_.__func__ if type(callable_) is MethodType else callable_
    if type(function) is FunctionType:
        return callable_

    def run(*arguments: Any, **keywords: Any) -> Any:
        if tell.active:
            halfway.end(sys._getframe())
            c_code.call(callable_, arguments, place)
        return callable_(*arguments, **keywords)

    halfway.note_caller(run.__code__)
    name = getattr(callable_, "__qualname__", None) or type(callable_).__qualname__
    place = _place_bound(name, run.__code__, name_of_bound(callable_, sys._getframe(1)))
    return run


def tell_call(callable_: Callable[..., Any], arguments: tuple[Any, ...] = ()) -> None:
    """A function in C is about to be called by our code, in the place of the program's.

    Parameters:
        callable_: the function, or a bound method.
        arguments: what it is called with.
    """
    if tell.active:
        place = _place_called(callable_.__qualname__, tell_call.__code__)
        c_code.call(callable_, arguments, place)


class GivenContext:
    """The context that a thread was given, which others may run in, too: ``Thread(context=...)``.

    Only one of them can at a time, as with ``Context.run``: who enters it tells so, and again while
    it is in there, and so does who leaves it.

    Parameters:
        context: the context.
    """

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def run(self, function: Callable[[], Any]) -> Any:
        """Run a function in the context; ``RuntimeError`` if another thread is in it."""
        if not tell.active:
            return self._context.run(function)
        place = _place_called("Context.run", GivenContext.run.__code__)
        meanings.tell_whole(self._context, True, place)
        return self._context.run(self._run_inside, function, place)

    def _run_inside(self, function: Callable[[], Any], place: Place) -> Any:
        meanings.tell_whole(self._context, True, place)
        try:
            return function()
        finally:
            meanings.tell_whole(self._context, True, place)


def place_of_call(name: str) -> Place:
    """The place of what our own code does in the place of a function of the library.

    Parameters:
        name: of the function.
    """
    return _place_called(name, place_of_call.__code__)


def _place_called(name: str, code: CodeType) -> Place:
    known = CALLABLE_PLACES.get(name)
    if known is None:
        code = code.replace(co_name=name, co_qualname=name)
        known = CALLABLE_PLACES[name] = Place((code, 0))
    return known


def _place_bound(name: str, code: CodeType, bound: str) -> Place:
    if not bound:
        return _place_called(name, code)
    place = _place_called(f"{name} of {bound}", code)
    names_of_bound[id(place)] = bound
    return place


def tell_used(name: str, thing: Any, is_write: bool) -> None:
    """Code of ours is about to read or change something as a whole.

    Parameters:
        name: of the function in whose place it does.
        thing: what it uses.
        is_write: whether it changes that.
    """
    if tell.active:
        meanings.tell_whole(thing, is_write, _place_called(name, tell_used.__code__))


def tell_consumed(things: Any, name: str, *, in_any_order: bool = False) -> None:
    """Code in C is about to read all items of something, called by code of ours.

    Parameters:
        things: what it is given.
        name: of the function in C.
        in_any_order: whether the order in which it reads makes no difference.
    """
    if tell.active:
        place = _place_called(name, tell_consumed.__code__)
        if in_any_order:
            iteration.consume_in_any_order(things, place)
        else:
            iteration.consume(things, place)
