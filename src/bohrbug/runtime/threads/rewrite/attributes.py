"""What an attribute of an object of some class is, worked out once per class and name.

Following the descriptor rules of the data model: data descriptors on the class come first, then the
instance's own attributes, then other attributes of the class.
"""

from __future__ import annotations

import _thread
import ctypes
import enum
import functools
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from bohrbug.runtime.threads.rewrite.inspected import INSPECTED

SKIP = "skip"
"""Not an access to data."""
INSTANCE = "instance"
"""An attribute of the instance."""
CLASS_DATA = "class data"
"""An attribute of the instance, or else data of the class."""
MODULE = "module"
"""The owner is a module."""
TYPE = "type"
"""The owner is a class."""
INSTANCE_DICT = "instance dict"
"""``__dict__`` of an instance."""
PRIMITIVE = "primitive"
"""An attribute of a modelled primitive, see :mod:`.inspected`."""

MISSING = object()
_METHODS = (
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    MethodDescriptorType,
    WrapperDescriptorType,
    ClassMethodDescriptorType,
    staticmethod,
    classmethod,
    property,
    functools.partialmethod,
    functools.singledispatchmethod,
)
# Methods written in C, whose classes can't be changed.
_OF_FIXED_CLASSES = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
_NOT_CLASS_DATA = (*_METHODS, GetSetDescriptorType, MemberDescriptorType, type)


_stored_names: set[str] = set()
"""Names of attributes that code stores: a method of such a name may be exchanged."""


def note_stored(name: str) -> None:
    """Some code stores attributes of that name: methods found under it are data from now on."""
    if name not in _stored_names:
        _stored_names.add(name)
        forget_name(name)


class _Structure(ctypes.Structure):
    _fields_ = (("field", ctypes.c_int),)


_StructureField = type(_Structure.__dict__["field"])
_LIMIT = 2048
# A test may put something else in the place of the builtin.
_length = len


# Reading these through a class could run a metaclass's Python code; hooks must run none.
_mro_of: Callable[[type], tuple[type, ...] | None] = type.__dict__["__mro__"].__get__
namespace_of: Callable[[type], MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__
_qualname_of: Callable[[type], str] = type.__dict__["__qualname__"].__get__
_dictoffset_of: Callable[[type], int] = type.__dict__["__dictoffset__"].__get__
_module_dict_of: Callable[[ModuleType], Any] = vars(ModuleType)["__dict__"].__get__


def order_of(class_: type) -> tuple[type, ...]:
    """The method resolution order of a class; empty while the class is being made."""
    return _mro_of(class_) or ()


def look_up(class_: type, name: str) -> Any:
    """What a class has under a name, found without running any code; else :data:`MISSING`."""
    for base in order_of(class_):
        value = namespace_of(base).get(name, MISSING)
        if value is not MISSING:
            return value
    return MISSING


def instance_dict(owner: Any) -> dict[str, Any] | None:
    """The ``__dict__`` of an object, got without running any code; ``None`` if it has none."""
    if issubclass(type(owner), ModuleType):
        namespace = _module_dict_of(owner)
    else:
        descriptor = look_up(type(owner), "__dict__")
        if type(descriptor) is not GetSetDescriptorType:
            return None
        namespace = descriptor.__get__(owner)
    return namespace if type(namespace) is dict else None


def _has(value: Any, special: str) -> bool:
    return look_up(type(value), special) is not MISSING


def _is_data_descriptor(value: Any) -> bool:
    return _has(value, "__set__") or _has(value, "__delete__")


def class_data_owner(class_: type, name: str, behind: type | None = None) -> type | None:
    """The class in whose namespace the data attribute ``name`` of a class is found.

    Parameters:
        class_: whose method resolution order is searched.
        name: the attribute.
        behind: search only what comes after this class, as ``super`` does.
    """
    if issubclass(type(class_), enum.EnumMeta):
        return None
    order = order_of(class_)
    if behind is not None:
        order = order[order.index(behind) + 1 :] if behind in order else ()
    for base in order:
        value = namespace_of(base).get(name, MISSING)
        if value is not MISSING:
            is_data = name in _stored_names or not issubclass(type(value), _NOT_CLASS_DATA)
            return base if is_data else None
    return None


def instance_has(owner: Any, name: str) -> bool:
    """Whether the instance itself has the attribute."""
    namespace = instance_dict(owner)
    return namespace is not None and name in namespace


def _descriptor_kind(found: Any) -> str | None:
    """What a data descriptor on the class makes of an attribute; ``None`` if it is none."""
    class_ = type(found)
    if class_ is MemberDescriptorType:
        is_python_slot = "__slots__" in namespace_of(found.__objclass__)
        return INSTANCE if is_python_slot else SKIP
    if class_ is GetSetDescriptorType:
        return INSTANCE if found.__objclass__.__module__ == "_ctypes" else SKIP
    if class_ is _StructureField:
        return INSTANCE
    return SKIP if _is_data_descriptor(found) else None


def _may_be_exchanged(class_: type, name: str, method: Any) -> bool:
    """Whether code may store something else where a method is found, and that would be seen."""
    if name not in _stored_names or _is_data_descriptor(method):
        return False
    return not issubclass(type(method), _OF_FIXED_CLASSES) or bool(_dictoffset_of(class_))


def raw_read_kind(class_: type, name: str) -> str:
    """What reading the attribute is, not minding a ``__getattribute__`` written in Python."""
    if issubclass(class_, ModuleType):
        return MODULE
    if issubclass(class_, type):
        return SKIP if name[:2] == "__" == name[-2:] else TYPE
    if issubclass(class_, _thread._local):
        return SKIP
    if name == "__class__":
        return SKIP
    if name in INSPECTED and issubclass(class_, INSPECTED[name]):
        return PRIMITIVE
    found = look_up(class_, name)
    if found is MISSING:
        return INSTANCE if _dictoffset_of(class_) else SKIP
    if name == "__dict__":
        return INSTANCE_DICT
    if issubclass(type(found), _METHODS):
        return CLASS_DATA if _may_be_exchanged(class_, name, found) else SKIP
    kind = _descriptor_kind(found)
    if kind is not None:
        return kind
    if _has(found, "__get__"):
        # A descriptor such as cached_property steps back behind the instance's attribute.
        return INSTANCE if _dictoffset_of(class_) else SKIP
    return CLASS_DATA


def raw_write_kind(class_: type, name: str) -> str:
    """What storing the attribute is, not minding a ``__setattr__`` written in Python."""
    if issubclass(class_, ModuleType):
        return MODULE
    if issubclass(class_, type):
        return TYPE
    if issubclass(class_, _thread._local) or name == "__class__":
        return SKIP
    found = look_up(class_, name)
    return (None if found is MISSING else _descriptor_kind(found)) or INSTANCE


_local_classes: list[tuple[dict[type, Any], type]] = []


def remember_class(cache: dict[type, Any], class_: type) -> None:
    """Note that a cache holds a class; see :func:`forget_local_classes`."""
    if "<locals>" in _qualname_of(class_):
        _local_classes.append((cache, class_))


def forget_local_classes() -> None:
    """Let go of the classes that functions made, so that they live no longer than without us."""
    while _local_classes:
        cache, class_ = _local_classes.pop()
        cache.pop(class_, None)


class Kinds(dict[type, str]):
    """For one attribute name: what it is on objects of a class; hashable by identity.

    Parameters:
        name: of the attribute.
        is_write: whether it is about storing.
    """

    __slots__ = ("is_write", "name")
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, name: str, is_write: bool) -> None:
        super().__init__()
        self.name = name
        self.is_write = is_write

    def __missing__(self, class_: type) -> str:
        if _length(self) >= _LIMIT:
            self.clear()
        special = "__setattr__" if self.is_write else "__getattribute__"
        if type(look_up(class_, special)) is FunctionType:
            # Its own code is rewritten and gets to object's in the end.
            kind = SKIP
        elif self.is_write:
            kind = raw_write_kind(class_, self.name)
        else:
            kind = raw_read_kind(class_, self.name)
        self[class_] = kind
        remember_class(self, class_)
        return kind


_READ: dict[str, Kinds] = {}
_WRITE: dict[str, Kinds] = {}


def read_kinds(name: str) -> Kinds:
    """The table for reads of the attributes of that name."""
    kinds = _READ.get(name)
    if kinds is None:
        kinds = _READ[name] = Kinds(name, is_write=False)
    return kinds


def write_kinds(name: str) -> Kinds:
    """The table for stores to the attributes of that name."""
    kinds = _WRITE.get(name)
    if kinds is None:
        kinds = _WRITE[name] = Kinds(name, is_write=True)
    return kinds


def forget_name(name: str) -> None:
    """A class attribute of that name changes: work its kinds out again."""
    if name in _READ:
        _READ[name].clear()
    if name in _WRITE:
        _WRITE[name].clear()


def forget_classes() -> None:
    """Let go of all classes, also to notice changes made by code that is not rewritten."""
    for kinds in (*_READ.values(), *_WRITE.values()):
        kinds.clear()
    _local_classes.clear()
