"""What an attribute of an object of some class is, worked out once per class and name.

Following the descriptor rules of the data model: data descriptors on the class come first, then the
instance's own attributes, then other attributes of the class.
"""

from __future__ import annotations

import _thread
import array
import collections
import ctypes
import enum
import functools
import io
import mmap
import sys
import typing
from collections.abc import Callable
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from bohrbug.runtime.threads.rewrite import classes
from bohrbug.runtime.threads.rewrite.classes import (
    DICTS_OF_INSTANCES,
    FOREIGN,
    MISSING,
    class_may_change,
    forget_all_local_classes,
    instance_dict,
    look_up,
    names,
    namespace_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.errors import PARTS
from bohrbug.runtime.threads.rewrite.handles import ARE_HANDLES
from bohrbug.runtime.threads.rewrite.inspected import INSPECTED, STORED
from bohrbug.runtime.threads.rewrite.lives import PROXIES
from bohrbug.runtime.threads.rewrite.memory import DATA
from bohrbug.runtime.threads.rewrite.wrappers import is_of_wrapped

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
BASES = "what the bases of a class say"
"""The owner is a class, of which it is computed."""
INSTANCE_DICT = "instance dict"
"""``__dict__`` of an instance."""
PRIMITIVE = "primitive"
BY_GETTER = "by a getter or setter in C"
"""An attribute of a modelled primitive, see :mod:`.inspected`."""

PART_OF_ERROR = "part of an error"
"""What ``raise`` sets of an exception, see :mod:`.errors`."""

COMPUTED = "computed"
"""What code in C computes by a function in Python when it is first asked for, and keeps."""

BY_DESCRIPTOR = "by a descriptor in C"
"""What a descriptor gives that no table knows, be it a cached property: it may call functions."""

WRAPPED = "of what is wrapped"
"""An attribute of the object that the owner stands for."""
PROXY = "proxy"
"""The owner stands for an object that it refers to weakly."""

SUPER = "super"
"""The owner is what ``super()`` gives, before Python 3.12."""

WHOLE = "whole"
"""A part of the owner, which is read and changed as a whole, such as a generator."""

OF_HANDLE = "of a handle"
"""An attribute of an object in C that may work on another one, see :mod:`.handles`."""

OF_STREAM = "of a stream"
"""What a stream says of itself, see :func:`.files.look_at_stream`."""

MEMORY = "memory"
"""A part of the memory of a ``ctypes`` object."""

OF_CLASS = {SKIP: "of class: skip", CLASS_DATA: "of class: class data"}
"""Attributes that the class has, where objects change their classes; by what they are else."""

IN_DICT = "in a dict that may be exchanged"
"""An instance's attribute where some code stores ``__dict__``: of the dict, not of the object."""

BESIDE_ITEMS = "in the dict of a container"
"""An attribute of a container: of the dict, as what the container is as a whole are its items."""

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
_IN_PYTHON = frozenset({FunctionType, MethodType, type(None)})
"""Types of what properties may call that tells for itself, or of nothing."""

_OF_FIXED_CLASSES = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
_NOT_CLASS_DATA = (*_METHODS, GetSetDescriptorType, MemberDescriptorType, type)


EXCHANGED = ("__class__", "__bases__", "__dict__")
"""Attributes that decide where others are found."""

_OF_BASES = ("__mro__", "__base__")

_stored_names: set[str] = set()
"""Names of attributes that code stores: a method of such a name may be exchanged."""


_new_on_classes: set[str] = set()
"""Names of attributes that classes have got while a test ran, and had not before."""


def note_new_on_class(class_: type, name: str) -> None:
    """A class is about to get an attribute; objects without one ask their classes if it is new."""
    if name not in _new_on_classes and look_up(class_, name) is MISSING:
        _new_on_classes.add(name)


def is_new_on_class(name: str) -> bool:
    """Whether some class has got an attribute of that name while a test ran: a property, say."""
    return name in _new_on_classes


def new_on_classes() -> int:
    """How many names of such attributes are known: with each of them more operations conflict."""
    return len(_new_on_classes)


def note_stored(name: str) -> None:
    """Some code stores attributes of that name: methods found under it are data from now on."""
    if name not in _stored_names:
        _stored_names.add(name)
        _forget_answers(name)


def _forget_answers(name: str) -> None:
    """Forget what was found out while it was not known that code stores this, or while it was."""
    if name in EXCHANGED:
        # What an attribute is depends on it.
        forget_classes()
    else:
        forget_name(name)
    if name in PARTS_OF_FUNCTIONS:
        STORED_PARTS.clear()
        STORED_PARTS.update(_stored_names.intersection(PARTS_OF_FUNCTIONS))
        for cache in _by_parts_of_functions:
            cache.clear()
    if name in SPECIAL_METHODS:
        STORED_SPECIAL_METHODS.clear()
        STORED_SPECIAL_METHODS.update(_stored_names & SPECIAL_METHODS)
        classes.forget_classes()
        for cache in _by_special_methods:
            cache.clear()


def forget_stored_names() -> None:
    """What was stored while one test was explored says nothing of the next one."""
    names = [*_stored_names]
    _stored_names.clear()
    _new_on_classes.clear()
    for name in names:
        _forget_answers(name)


def is_stored(name: str) -> bool:
    """Whether some code is known to store attributes of that name."""
    return name in _stored_names


PARTS_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")
"""Attributes of functions that every call of them reads."""


STORED_PARTS: set[str] = set()
"""Those of them that some code exchanges."""

_by_parts_of_functions: list[dict[type, bool]] = []


def depends_on_parts_of_functions(cache: dict[type, bool]) -> None:
    """Let go of what a cache holds once some code exchanges parts of functions."""
    _by_parts_of_functions.append(cache)


def stores_parts_of_functions() -> bool:
    """Whether some code exchanges parts of functions."""
    return bool(STORED_PARTS)


BINARY_OPERATORS = names(
    "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"
)
SPECIAL_METHODS = names(
    "__new__ __init__ __call__ __len__ __length_hint__ __bool__ __iter__ __next__ __reversed__"
    " __getitem__ __setitem__ __delitem__ __contains__ __enter__ __exit__ __repr__ __str__"
    " __format__ __bytes__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __index__ __int__"
    " __float__ __complex__ __abs__ __neg__ __pos__ __invert__ __round__"
) | {f"__{side}{name}__" for side in ("", "r", "i") for name in BINARY_OPERATORS}
"""Methods that the interpreter looks up on the class of an object, and nobody names."""

STORED_SPECIAL_METHODS: set[str] = set()
"""Those of them that some code stores, on whatever class."""

_by_special_methods: list[dict[type, Any]] = []


def depends_on_special_methods(*caches: dict[type, Any]) -> None:
    """Let go of what caches hold once some code exchanges special methods."""
    _by_special_methods.extend(caches)


_ARE_ANNOTATIONS_COMPUTED = sys.version_info >= (3, 14)

COMPUTED_BY_C: dict[str, tuple[type, ...]] = {}
"""Attributes that are computed when they are first asked for, and the types in C that have them."""

if sys.version_info >= (3, 12):
    COMPUTED_BY_C["__value__"] = (typing.TypeAliasType,)
    COMPUTED_BY_C["__bound__"] = COMPUTED_BY_C["__constraints__"] = (typing.TypeVar,)
    COMPUTED_BY_C["__default__"] = (typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple)
if _ARE_ANNOTATIONS_COMPUTED:
    COMPUTED_BY_C["__annotations__"] = (FunctionType, classmethod, staticmethod)


STREAM: type = io.IOBase.__mro__[1]
"""The base in C of all streams."""
_OF_STREAM = names("closed newlines encoding errors line_buffering write_through")
"""What closing or reading a stream changes, or setting it up anew."""


class _Structure(ctypes.Structure):
    _fields_ = (("field", ctypes.c_int),)


STRUCTURE_FIELD = type(_Structure.__dict__["field"])
_LIMIT = 2048
# A test may put something else in the place of the builtin.
_length = len


_dictoffset_of: Callable[[type], int] = type.__dict__["__dictoffset__"].__get__


def _has(value: Any, special: str) -> bool:
    return look_up(type(value), special) is not MISSING


def _is_data_descriptor(value: Any) -> bool:
    return _has(value, "__set__") or _has(value, "__delete__")


def class_owners(class_: type, name: str) -> tuple[type, ...]:
    """The classes that are asked for an attribute, up to the one that has it.

    Only this one, if no code is known to store such attributes.
    """
    found = class_data_owner(class_, name)
    if name not in _stored_names:
        return () if found is None else (found,)
    asked: list[type] = []
    for base in order_of(class_):
        if base is not object:
            asked.append(base)
        if name in namespace_of(base):
            break
    return tuple(asked)


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


def _descriptor_kind(found: Any, name: str) -> str | None:
    """What a data descriptor on the class makes of an attribute; ``None`` if it is none."""
    class_ = type(found)
    is_of_c = class_ in (MemberDescriptorType, GetSetDescriptorType)
    if is_of_c and name in _OF_STREAM and issubclass(found.__objclass__, STREAM):
        return OF_STREAM
    if class_ is MemberDescriptorType:
        if found.__objclass__ is functools.partial:
            return WHOLE
        if found.__objclass__ in (GeneratorType, CoroutineType, AsyncGeneratorType):
            return WHOLE if name[:2] in ("gi", "cr", "ag") else SKIP
        if issubclass(found.__objclass__, BaseException):
            return PART_OF_ERROR if name in PARTS else INSTANCE
        is_python_slot = "__slots__" in namespace_of(found.__objclass__)
        if is_python_slot or found.__objclass__ is FunctionType:
            return INSTANCE
        return _kind_in_c(found.__objclass__)
    if class_ is GetSetDescriptorType:
        if issubclass(found.__objclass__, DATA):
            return SKIP if name[0] == "_" else MEMORY
        if found.__objclass__ in (GeneratorType, CoroutineType, AsyncGeneratorType):
            return WHOLE if name[:2] in ("gi", "cr", "ag") else SKIP
        if name == "closed" and found.__objclass__ is mmap.mmap:
            return WHOLE
        if found.__objclass__ is memoryview:
            # None of them can be read once the view is released.
            return WHOLE
        if found.__objclass__ in COMPUTED_BY_C.get(name, ()):
            return COMPUTED
        if found.__objclass__ is FunctionType:
            return INSTANCE
        if found.__objclass__ is CellType:
            return WHOLE
        if found.__objclass__ is BaseException and name in PARTS:
            return PART_OF_ERROR
        is_of_error = found.__objclass__ is BaseException and name != "__dict__"
        return INSTANCE if is_of_error else _kind_in_c(found.__objclass__)
    if class_ is STRUCTURE_FIELD:
        return MEMORY
    if _is_unknown_descriptor(class_):
        return BY_DESCRIPTOR
    return SKIP if _is_data_descriptor(found) else None


def _kind_in_c(class_: type) -> str:
    """What an attribute is that a class in C has a descriptor for."""
    if not FOREIGN[class_]:
        return SKIP
    return OF_HANDLE if ARE_HANDLES[class_] else INSTANCE


def _is_unknown_descriptor(class_: type) -> bool:
    """Whether objects of a class in C that no table knows are descriptors, and no functions."""
    return (
        FOREIGN[class_]
        and look_up(class_, "__get__") is not MISSING
        and look_up(class_, "__call__") is MISSING
    )


def _may_be_exchanged(class_: type, name: str, method: Any) -> bool:
    """Whether code may store something else where a method is found, and that would be seen."""
    if name not in _stored_names or _is_data_descriptor(method):
        return False
    return not issubclass(type(method), _OF_FIXED_CLASSES) or bool(_dictoffset_of(class_))


def raw_read_kind(class_: type, name: str) -> str:
    """What reading the attribute is, not minding a ``__getattribute__`` written in Python."""
    if name == "__annotations__" and _ARE_ANNOTATIONS_COMPUTED and class_ is ModuleType:
        return COMPUTED
    if issubclass(class_, ModuleType):
        return MODULE
    if class_ in PROXIES:
        return PROXY
    if class_ is super:
        return SKIP if name[:2] == "__" == name[-2:] and not is_stored(name) else SUPER
    if issubclass(class_, type):
        if name == "__dict__":
            return INSTANCE_DICT
        if name == "__annotations__" and _ARE_ANNOTATIONS_COMPUTED:
            return COMPUTED
        if name in _OF_BASES and is_stored("__bases__"):
            return BASES
        return SKIP if name[:2] == "__" == name[-2:] and not is_stored(name) else TYPE
    if issubclass(class_, _thread._local):
        return SKIP
    if name == "__class__":
        return INSTANCE if is_stored(name) else SKIP
    if name in INSPECTED and issubclass(class_, INSPECTED[name]):
        return PRIMITIVE
    found = look_up(class_, name)
    if found is MISSING:
        if _asks_class(class_, name):
            return CLASS_DATA
        if is_of_wrapped(class_, name):
            return WRAPPED
        if FOREIGN[class_]:
            # Code in C may find it without a descriptor.
            return BY_DESCRIPTOR
        return INSTANCE if _dictoffset_of(class_) else SKIP
    if name == "__dict__":
        return INSTANCE_DICT
    if type(found) is property and type(found.fget) not in _IN_PYTHON:
        return BY_GETTER
    if issubclass(type(found), _METHODS):
        return CLASS_DATA if _may_be_exchanged(class_, name, found) else SKIP
    kind = _descriptor_kind(found, name)
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
    if class_ in PROXIES:
        return PROXY
    if issubclass(class_, type):
        return TYPE
    if issubclass(class_, _thread._local):
        return SKIP
    if name == "__class__":
        return INSTANCE
    if name in STORED and issubclass(class_, STORED[name]):
        return PRIMITIVE
    found = look_up(class_, name)
    if type(found) is property and type(found.fset) not in _IN_PYTHON:
        return BY_GETTER
    if name == "__dict__" and found is not MISSING:
        return INSTANCE
    if found is MISSING and is_of_wrapped(class_, name):
        return WRAPPED
    kind = _descriptor_kind(found, name) or INSTANCE
    return CLASS_DATA if kind is INSTANCE and _asks_class(class_, name) else kind


def _asks_class(class_: type, name: str) -> bool:
    """Whether the class of an object may get an attribute that stands before the object's own."""
    return name in _new_on_classes and bool(_dictoffset_of(class_)) and not FOREIGN[class_]


_CONTAINERS = (dict, list, set, collections.deque, bytearray, array.array)


def has_dict_apart(class_: type) -> bool:
    """Whether the ``__dict__`` of an instance is an object of its own, to whoever looks at it.

    Some code may exchange it for another; or it is that of a container, the whole of which is
    something else: its items.
    """
    return (
        (is_stored("__dict__") or issubclass(class_, _CONTAINERS))
        and bool(_dictoffset_of(class_))
        and not FOREIGN[class_]
    )


def is_in_dict(class_: type, name: str) -> bool:
    """Whether an instance's attribute is an item of a dict that is an object of its own."""
    return (
        name != "__dict__"
        and has_dict_apart(class_)
        and type(look_up(class_, name)) not in (MemberDescriptorType, GetSetDescriptorType)
    )


def _classes_are_exchanged() -> bool:
    return is_stored("__class__") or is_stored("__bases__")


def _depends_on_class(class_: type, name: str, kind: str) -> bool:
    return (
        kind in OF_CLASS
        and name != "__class__"
        and class_may_change(class_)
        and look_up(class_, name) is not MISSING
    )


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
            if _classes_are_exchanged() and _depends_on_class(class_, self.name, kind):
                kind = OF_CLASS[kind]
        if kind is INSTANCE and is_in_dict(class_, self.name):
            kind = IN_DICT if is_stored("__dict__") else BESIDE_ITEMS
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
    DICTS_OF_INSTANCES.clear()
    forget_all_local_classes()
