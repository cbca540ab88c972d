"""Special methods of classes written in Python of which no function in Python tells.

``__len__ = items.__len__`` or ``__getitem__ = staticmethod(d.get)``: no function in Python tells
what these access, and the object that they are called on is not what they work on. And where code
exchanges the special methods of classes, whoever calls one looks it up on the class.
"""

from __future__ import annotations

import functools
from types import BuiltinFunctionType, MethodWrapperType
from typing import Any, NamedTuple

from bohrbug.runtime.threads.rewrite.attributes import (
    BINARY_OPERATORS,
    STORED_SPECIAL_METHODS,
    depends_on_special_methods,
)
from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    class_may_change,
    is_made_in_python,
    is_open,
    look_up,
    names,
    namespace_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.halfway import Called
from bohrbug.runtime.threads.rewrite.place import Place

GOING_THROUGH = ("__iter__", "__reversed__")
_BOUND = (BuiltinFunctionType, MethodWrapperType, functools.partial)

_LOOKING = names(
    "__len__ __bool__ __next__ __repr__ __str__ __format__ __hash__ __index__ __int__ __float__"
    " __complex__ __abs__ __neg__ __pos__ __invert__ __round__ __bytes__ __length_hint__"
    " __eq__ __ne__ __lt__ __le__ __gt__ __ge__"
) | {f"__{side}{name}__" for side in ("", "r") for name in BINARY_OPERATORS}
"""Special methods that operators, and functions such as ``len``, call on an object.

Which of them an operation calls is not told apart: a class hardly has several."""

_CHANGING = frozenset(f"__i{name}__" for name in BINARY_OPERATORS)
"""The same of ``+=`` and its like."""

TOLD_ALIKE = _LOOKING | _CHANGING | set(GOING_THROUGH)


def function_in_c(value: Any) -> Any:
    """The function in C that a class has under a name, if it is called without the object.

    Returns:
        It, or ``None``.
    """
    if type(value) is staticmethod:
        value = value.__func__
    return value if type(value) in _BOUND else None


class Delegates(NamedTuple):
    """By what objects of a class are looked at, gone through and combined with others.

    Attributes:
        functions: in C, that are called.
        changing: the same of augmented assignments.
        gone_through: what others give iterators over.
        names: of special methods that may be exchanged on the class.
    """

    functions: tuple[Any, ...]
    changing: tuple[Any, ...]
    gone_through: tuple[Any, ...]
    names: tuple[str, ...]


class _Delegates(dict[type, Delegates | None]):
    """By class; ``None`` for nearly all, which have none."""

    def __missing__(self, class_: type) -> Delegates | None:
        found = _functions_in_c(class_)
        exchanged: tuple[str, ...] = ()
        if STORED_SPECIAL_METHODS and may_be_exchanged(class_):
            exchanged = tuple(sorted(STORED_SPECIAL_METHODS & TOLD_ALIKE))
        answer = None
        if found or exchanged:
            answer = Delegates(
                tuple(each for name, each in found.items() if name in _LOOKING),
                tuple(each for name, each in found.items() if name in _CHANGING),
                tuple(
                    getattr(each, "__self__", None)
                    for name, each in found.items()
                    if name in GOING_THROUGH
                ),
                exchanged,
            )
        self[class_] = answer
        remember_class(self, class_)
        return answer


def _functions_in_c(class_: type) -> dict[str, Any]:
    """Those that stand for methods that are told alike, by their names."""
    found = {}
    for base in order_of(class_):
        if is_made_in_python(base):
            namespace = namespace_of(base)
            for name in TOLD_ALIKE.intersection(namespace):
                function = function_in_c(namespace[name])
                if function is not None and look_up(class_, name) is namespace[name]:
                    found[name] = function
    return found


def may_be_exchanged(class_: type) -> bool:
    """Whether code may give a class other special methods, and that would be seen."""
    return class_may_change(class_) and is_open(class_) and not FOREIGN[class_]


def is_exchanged(class_: type, special: str) -> bool:
    """Whether some code gives classes another special method, of which this may be one."""
    return special in STORED_SPECIAL_METHODS and may_be_exchanged(class_)


DELEGATES = _Delegates()


depends_on_special_methods(DELEGATES)


def tell(owner: Any, special: str, arguments: tuple[Any, ...], place: Place) -> None:
    """A special method of an object is about to be called that is a function in C."""
    function = function_in_c(look_up(type(owner), special))
    if function is not None:
        Called.tell(function, arguments, place)
