"""Which container implemented in C does the work of an object's special methods."""

from __future__ import annotations

import _ctypes
import array
import collections
import contextvars
import decimal
import mmap
import sys
import types
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from bohrbug.runtime.threads.rewrite import handles
from bohrbug.runtime.threads.rewrite.attributes import depends_on_special_methods
from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    FROZEN_DICTS,
    MISSING,
    is_written_in_c,
    look_up,
    namespace_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.delegates import DELEGATES, function_in_c, is_exchanged
from bohrbug.runtime.threads.rewrite.lives import PROXIES
from bohrbug.runtime.threads.rewrite.memory import DATA
from bohrbug.runtime.threads.rewrite.parts import CLASSES as CLASSES_OF_PARTS

_LIMIT = 2048
# A test may put something else in the place of the builtin.
_length = len

MAPPING = "mapping"
DEFAULT_MAPPING = "mapping that stores on reading"
SEQUENCE = "sequence"
PACKED = "sequence that converts what is stored in it"
SET = "set"
MEMORY = "memory of ctypes"
OTHER = "other"
DELEGATED = "function in C in the place of the method"

DICT_VIEWS: tuple[type, ...] = tuple(
    type(getattr(mapping, name)())
    for mapping in (dict[int, int](), collections.OrderedDict[int, int]())
    for name in ("keys", "values", "items")
)
VIEWS = frozenset({*DICT_VIEWS, types.MappingProxyType})
"""They show what is in a dict, which stands for them."""


if sys.version_info >= (3, 14):
    from string.templatelib import Interpolation, Template

    _OF_TEMPLATES: tuple[type, ...] = (Template, Interpolation)
else:
    _OF_TEMPLATES = ()

UNCHANGING: tuple[type, ...] = (tuple, frozenset, *FROZEN_DICTS, *_OF_TEMPLATES)
"""Classes whose objects hold others, always the same: only what lies in them may change."""

_FAMILIES: dict[type, str] = {
    dict: MAPPING,
    collections.OrderedDict: MAPPING,
    collections.defaultdict: DEFAULT_MAPPING,
    list: SEQUENCE,
    collections.deque: SEQUENCE,
    bytearray: SEQUENCE,
    array.array: SEQUENCE,
    DATA: MEMORY,
    _ctypes.Array: MEMORY,
    _ctypes._Pointer: MEMORY,
    set: SET,
    memoryview: OTHER,
    mmap.mmap: OTHER,
    types.SimpleNamespace: OTHER,
    contextvars.Context: OTHER,
    decimal.Decimal: OTHER,
    **dict.fromkeys(CLASSES_OF_PARTS, OTHER),
    **dict.fromkeys((*DICT_VIEWS, types.MappingProxyType, *PROXIES), OTHER),
}


_CONVERTING = (bytearray, array.array)


class _Families(dict[type, str | None]):
    """The family of the C class whose special method an object uses, or ``None``.

    Parameters:
        special: name of the special method.
        by_name: whether it is called by its name, as in ``super().__getitem__(key)``, which may
            reach a class in C behind others that override it.  An operator enters what overrides
            it: that is rewritten, and tells for itself.
    """

    def __init__(self, special: str, by_name: bool = False) -> None:
        super().__init__()
        self.special = special
        self.by_name = by_name

    def __missing__(self, class_: type) -> str | None:
        if _length(self) >= _LIMIT:
            self.clear()
        family = DELEGATED if not self.by_name and is_exchanged(class_, self.special) else None
        for base in order_of(class_) if family is None else ():
            if self.special in namespace_of(base):
                if base is _ctypes.Array or issubclass(base, _ctypes.Array):
                    base = _ctypes.Array
                family = _FAMILIES.get(base)
                if family is None and FOREIGN[class_] and is_written_in_c(base):
                    family = OTHER
                if family is None and function_in_c(namespace_of(base)[self.special]) is not None:
                    family = DELEGATED
                if self.special == "__setitem__" and base in _CONVERTING:
                    family = PACKED
                if self.special == "__getitem__" and issubclass(class_, collections.defaultdict):
                    family = DEFAULT_MAPPING
                if family is not None or not self.by_name:
                    break
        self[class_] = family
        remember_class(self, class_)
        return family


GETITEM = _Families("__getitem__")
SETITEM = _Families("__setitem__")
DELITEM = _Families("__delitem__")
CONTAINS = _Families("__contains__")
CALL = _Families("__call__")
GETITEM_BY_NAME = _Families("__getitem__", by_name=True)
SETITEM_BY_NAME = _Families("__setitem__", by_name=True)
DELITEM_BY_NAME = _Families("__delitem__", by_name=True)
CONTAINS_BY_NAME = _Families("__contains__", by_name=True)


def has_content(class_: type) -> bool:
    """Whether a class is that of containers implemented in C, or derives from one."""
    return any(base in _FAMILIES for base in order_of(class_))


class _IsContainer(dict[type, bool]):
    """Whether objects of a class are containers implemented in C, may be, or derive from one.

    Or have functions in C of one for their own methods.
    """

    def __missing__(self, class_: type) -> bool:
        if _length(self) >= _LIMIT:
            self.clear()
        answer = FOREIGN[class_] or has_content(class_) or bool(DELEGATES[class_])
        self[class_] = answer
        remember_class(self, class_)
        return answer


CONTAINER = _IsContainer()
depends_on_special_methods(GETITEM, SETITEM, DELITEM, CONTAINS, CALL, CONTAINER)


_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
_OF_ARRAYS = ("__array_interface__", "__array__")


def memory_of(owner: Any) -> Any:
    """What an array of numpy, a record in one or its ``flat`` shows at the end; else the object."""
    while True:
        base = look_up(type(owner), "base")
        if type(base) not in _DESCRIPTORS or FOREIGN[type(owner)] is False:
            return owner
        if all(look_up(type(owner), name) is MISSING for name in _OF_ARRAYS):
            return owner
        below = base.__get__(owner)
        if type(below) is memoryview:
            below = below.obj
        if below is None or not CONTAINER[type(below)]:
            return owner
        owner = below


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    for cache in (
        *(GETITEM, SETITEM, DELITEM, CONTAINS, CALL, CONTAINER, DELEGATES),
        *(GETITEM_BY_NAME, SETITEM_BY_NAME, DELITEM_BY_NAME, CONTAINS_BY_NAME),
    ):
        cache.clear()
    handles.forget_classes()
