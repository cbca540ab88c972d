"""Objects in C that work on others of their library: cursors on a database, elements of a document.

Two of them may work on the same one, which only their code in C knows, and the garbage collector.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    flags_of,
    instance_dict,
    is_written_in_c,
    module_of,
    name_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.library_table import METHODS

_HAS_REFERENTS = 1 << 14
"""``Py_TPFLAGS_HAVE_GC``"""

_DEEPEST = 3
_MOST = 4
"""What holds more objects of its library is not a handle of them, but a container."""


class _Packages(dict[type, str]):
    """By class: the package of a class in C that no table knows; of all else it is ""."""

    def __missing__(self, class_: type) -> str:
        answer = ""
        if FOREIGN[class_]:
            in_c = [base for base in order_of(class_) if is_written_in_c(base)]
            answer = next((name.partition(".")[0] for name in map(module_of, in_c) if name), "")
        self[class_] = answer
        remember_class(self, class_)
        return answer


_PACKAGES = _Packages()


class _AreHandles(dict[type, bool]):
    """By class: whether its objects may work on others of their package, and tell which.

    Not those of which a table says what they do: an element of ``xml.etree`` holds its children.
    """

    def __missing__(self, class_: type) -> bool:
        is_known = any((module_of(base), name_of(base)) in METHODS for base in order_of(class_))
        has_referents = bool(flags_of(class_) & _HAS_REFERENTS)
        self[class_] = answer = bool(_PACKAGES[class_]) and has_referents and not is_known
        remember_class(self, class_)
        return answer


ARE_HANDLES = _AreHandles()


def behind(owner: Any) -> Iterator[tuple[Any, bool]]:
    """The objects of the same library that an object in C works on.

    Parameters:
        owner: the object.

    Yields:
        Each, and whether what is done to the object is done to it: what lies further behind is
        only read, as it may be what all such objects have in common, such as a parser.
    """
    if not ARE_HANDLES[type(owner)]:
        return
    package = _PACKAGES[type(owner)]
    seen = {id(owner)}
    # What a class in Python gives its objects is the program's. Python 3.13 names it, too.
    seen.update(map(id, (instance_dict(owner) or {}).values()))
    level = [owner]
    for depth in range(_DEEPEST):
        held: list[Any] = []
        for holder in level:
            found = [
                each
                for each in gc.get_referents(holder)
                if _PACKAGES[type(each)] == package and id(each) not in seen
            ]
            if len(found) <= _MOST:
                held.extend(found)
                seen.update(map(id, found))
        for each in held:
            yield each, depth == 0
        level = held


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    _PACKAGES.clear()
    ARE_HANDLES.clear()
