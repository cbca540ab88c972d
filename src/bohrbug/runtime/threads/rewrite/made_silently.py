"""Classes of which objects are made without a word: there is nothing to tell, whatever is given.

Programs make objects all the time, and of most classes the constructor is in Python, where it tells
for itself, or works on values alone.
"""

from __future__ import annotations

from types import FunctionType

from bohrbug.runtime.threads.rewrite import constructors, functions_table, references
from bohrbug.runtime.threads.rewrite.attributes import (
    STORED_SPECIAL_METHODS,
    depends_on_special_methods,
)
from bohrbug.runtime.threads.rewrite.classes import FOREIGN, look_up, remember_class
from bohrbug.runtime.threads.rewrite.delegates import may_be_exchanged
from bohrbug.runtime.threads.rewrite.operands import READING


def is_made_by_unknown_code(class_: type) -> bool:
    """Whether objects of a class are made by code in C that no table knows."""
    return FOREIGN[class_] and type(look_up(class_, "__init__")) is not FunctionType


class _MadeSilently(dict[type, bool]):
    """Whether nothing is told where an object of a class is made."""

    def __missing__(self, class_: type) -> bool:
        made_as = functions_table.MADE_AS[class_]
        answer = not (
            issubclass(class_, type)
            or (STORED_SPECIAL_METHODS and may_be_exchanged(class_))
            or constructors.TELLERS[class_] is not None
            or made_as is str
            or made_as in functions_table.CONSTRUCTORS
            or references.MAKES_REFERENCES[class_]
            or is_made_by_unknown_code(class_)
            or class_ in READING
        )
        self[class_] = answer
        remember_class(self, class_)
        return answer


MADE_SILENTLY = _MadeSilently()
depends_on_special_methods(MADE_SILENTLY)


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    MADE_SILENTLY.clear()
