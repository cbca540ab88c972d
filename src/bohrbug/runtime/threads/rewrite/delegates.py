"""Functions in C that stand for special methods of a class written in Python.

``__len__ = items.__len__`` or ``__getitem__ = staticmethod(d.get)``: no function in Python tells
what they access, and the object that they are called on is not what they work on.
"""

from __future__ import annotations

import functools
from types import BuiltinFunctionType, MethodWrapperType
from typing import Any, NamedTuple

from bohrbug.runtime.threads.rewrite.classes import look_up, remember_class
from bohrbug.runtime.threads.rewrite.halfway import Called
from bohrbug.runtime.threads.rewrite.place import Place

_LOOKING = ("__len__", "__bool__", "__next__")
_GOING_THROUGH = ("__iter__", "__reversed__")
_BOUND = (BuiltinFunctionType, MethodWrapperType, functools.partial)


def function_in_c(value: Any) -> Any:
    """The function in C that a class has under a name, if it is called without the object.

    Returns:
        It, or ``None``.
    """
    if type(value) is staticmethod:
        value = value.__func__
    return value if type(value) in _BOUND else None


class Delegates(NamedTuple):
    """By what objects of a class are asked for their length and items.

    Attributes:
        functions: in C, that are called.
        gone_through: what others give iterators over.
    """

    functions: tuple[Any, ...]
    gone_through: tuple[Any, ...]


class _Delegates(dict[type, Delegates | None]):
    """By class; ``None`` for nearly all, which have none."""

    def __missing__(self, class_: type) -> Delegates | None:
        functions = _functions_in_c(class_, _LOOKING)
        going_through = _functions_in_c(class_, _GOING_THROUGH)
        answer = None
        if functions or going_through:
            things = (getattr(function, "__self__", None) for function in going_through)
            answer = Delegates(functions, tuple(things))
        self[class_] = answer
        remember_class(self, class_)
        return answer


def _functions_in_c(class_: type, names: tuple[str, ...]) -> tuple[Any, ...]:
    functions = (function_in_c(look_up(class_, name)) for name in names)
    return tuple(each for each in functions if each is not None)


DELEGATES = _Delegates()


def tell(owner: Any, special: str, arguments: tuple[Any, ...], place: Place) -> None:
    """A special method of an object is about to be called that is a function in C."""
    function = function_in_c(look_up(type(owner), special))
    if function is not None:
        Called.tell(function, arguments, place)
