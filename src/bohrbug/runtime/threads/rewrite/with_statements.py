"""What ``with`` accesses where a context manager is written in C: it calls no method by name.

A view of memory is released at the end of the block, a file is closed. Methods that are written in
Python tell for themselves.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from bohrbug.accelerator import with_fast_path_before
from bohrbug.runtime.threads.rewrite import c_code, delegates, halfway, meanings, tell
from bohrbug.runtime.threads.rewrite.attributes import depends_on_special_methods
from bohrbug.runtime.threads.rewrite.classes import (
    MISSING,
    is_ours,
    look_up,
    namespace_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.place import Place


class _EnteredInC(dict[type, bool]):
    """Whether there is something to tell where a block with an object of a class begins."""

    def __missing__(self, class_: type) -> bool:
        answer = any(
            _is_in_c(class_, special) or delegates.is_exchanged(class_, special)
            for special in ("__enter__", "__exit__")
        )
        self[class_] = answer
        remember_class(self, class_)
        return answer


def _is_in_c(class_: type, special: str) -> bool:
    """Whether a method tells nothing for itself, as one in Python does, and one of our locks."""
    base = next((base for base in order_of(class_) if special in namespace_of(base)), object)
    method = look_up(base, special)
    return type(method) is not FunctionType and not _is_of_function(method) and not is_ours(base)


_ENTERED_IN_C = _EnteredInC()
depends_on_special_methods(_ENTERED_IN_C)


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    _ENTERED_IN_C.clear()


def enter_block(manager: Any, place: Place) -> None:
    """``with manager`` is about to begin: both methods are looked up, and one is called."""
    if tell.active and _ENTERED_IN_C[type(manager)]:
        meanings.look_for_special_method(type(manager), "__exit__", place)
        method = look_up(type(manager), "__enter__")
        if delegates.function_in_c(method) is not None or type(method) is FunctionType:
            meanings.tell_special_method(manager, "__enter__", (), place)
        elif method is not MISSING and _is_in_c(type(manager), "__enter__"):
            c_code.call(method, (manager,), place)


def _is_of_function(method: Any) -> bool:
    """Whether a static method or a class method is a function in Python, which tells for itself."""
    return type(method) in (staticmethod, classmethod) and type(method.__func__) is FunctionType


_NO_EXCEPTION = (None, None, None)


@with_fast_path_before
def leave_block(*called: Any) -> None:
    """The block has come to its end, and ``__exit__`` is about to be called.

    Parameters:
        called: the object, if the method is not bound to it; the method; the place.
    """
    halfway.end_here()
    *owner, method, place = called
    if tell.active and type(method) is not FunctionType and c_code.CALLED[type(method)]:
        c_code.call(method, (*owner, *_NO_EXCEPTION), place)
