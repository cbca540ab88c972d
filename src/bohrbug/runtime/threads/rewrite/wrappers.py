"""Objects in C that stand for others, as the proxies of wrapt do: what is done is done to those.

Two of them may stand for one object, and others may have that object itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.rewrite.classes import (
    is_written_in_c,
    module_of,
    name_of,
    namespace_of,
    order_of,
    remember_class,
)

_MODULES = frozenset({"_wrappers", "wrapt._wrappers"})
_OWN = "_self_"
"""What the names of attributes begin with that a wrapper has itself."""


class _Unwrapping(dict[type, Callable[[Any], Any] | None]):
    """By class: what gives the object that one of its objects stands for; ``None``: it is itself.

    It is that of the class in C, as one in Python may have something else under the name.
    """

    def __missing__(self, class_: type) -> Callable[[Any], Any] | None:
        bases = (each for each in order_of(class_) if _is_wrapper(each))
        found = next((namespace_of(each)["__wrapped__"].__get__ for each in bases), None)
        self[class_] = found
        remember_class(self, class_)
        return found


def _is_wrapper(class_: type) -> bool:
    return (
        name_of(class_) == "ObjectProxy"
        and is_written_in_c(class_)
        and module_of(class_) in _MODULES
    )


UNWRAPPING = _Unwrapping()


def wrapped_by(wrapper: Any) -> Any:
    """What an object stands for; itself if that is nothing, or nothing yet."""
    unwrap = UNWRAPPING[type(wrapper)]
    if unwrap is None:
        return wrapper
    try:
        return unwrap(wrapper)
    except (AttributeError, ValueError):
        return wrapper


def is_of_wrapped(class_: type, name: str) -> bool:
    """Whether an attribute that a class has not is one of what its objects stand for."""
    return UNWRAPPING[class_] is not None and not name.startswith(_OWN)


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    UNWRAPPING.clear()
