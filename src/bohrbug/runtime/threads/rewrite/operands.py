"""Whether there are arrays and the like, which code in C combines with numbers.

``n + 1``, ``n == 0``, ``int(n)`` and ``enumerate(n)`` are everywhere, and read nothing but values
as long as there is no class whose objects these operators read, and ``n += 1`` changes.  So they
are told of only where there is one.
"""

from __future__ import annotations

import itertools
import sys

from bohrbug.runtime.threads.namespaces import with_subclasses
from bohrbug.runtime.threads.rewrite.classes import FOREIGN, namespace_of

_SPECIAL = ("__add__", "__sub__")

READING = frozenset(
    {int, float, complex, zip, enumerate, map, filter, reversed}
    | {each for each in vars(itertools).values() if isinstance(each, type)}
)
"""Classes whose objects are made of numbers, or begin to go through what they are given."""


class Operands:
    """What is known of the classes that there are."""

    _are_there = False
    _modules = 0

    @classmethod
    def are_there(cls) -> bool:
        """Whether a class in C that no table knows has operators of numbers; true from then on."""
        # Classes in C come with modules.
        if not cls._are_there and len(sys.modules) != cls._modules:
            cls._modules = len(sys.modules)
            cls._are_there = any(map(_is_one, with_subclasses(object)))
        return cls._are_there


def _is_one(class_: type) -> bool:
    namespace = namespace_of(class_)
    return any(name in namespace for name in _SPECIAL) and FOREIGN[class_]
