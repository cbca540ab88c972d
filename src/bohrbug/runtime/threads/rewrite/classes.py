"""What classes are, found out without running any code of the tested program."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

MISSING = object()

FROZEN_DICTS: tuple[type, ...] = tuple(
    vars(builtins)[name] for name in ("frozendict",) if name in vars(builtins)
)
"""The class ``frozendict``, which Python 3.15 has: made once, and never changed."""

# A test may put something else in the place of the builtin.
_length = len

# Reading these through a class could run a metaclass's Python code; hooks must run none.
_mro_of: Callable[[type], tuple[type, ...] | None] = type.__dict__["__mro__"].__get__
namespace_of: Callable[[type], MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__
name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_qualname_of: Callable[[type], str] = type.__dict__["__qualname__"].__get__
_module_of: Callable[[type], Any] = type.__dict__["__module__"].__get__


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


_HEAP_TYPE = 1 << 9
flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__


def class_may_change(class_: type) -> bool:
    """Whether objects of the class can be made objects of another one."""
    return bool(flags_of(class_) & _HEAP_TYPE) and not issubclass(class_, type | ModuleType)


def is_made_in_python(class_: type) -> bool:
    """Whether a class was made by a class statement, or by a call of ``type``; or may have been."""
    return bool(flags_of(class_) & _HEAP_TYPE)


_IMMUTABLE = 1 << 8


def is_open(class_: type) -> bool:
    """Whether attributes of a class can be set: of some that are written in C they can't."""
    return bool(flags_of(class_) & _HEAP_TYPE) and not flags_of(class_) & _IMMUTABLE


_weakref_offset_of: Callable[[type], int] = type.__dict__["__weakrefoffset__"].__get__


def takes_weak_references(class_: type) -> bool:
    """Whether objects of a class can be referenced weakly.

    Those of SWIG say so, but leave references behind that lead nowhere when they die: the next use
    of one, if only to drop it, crashes.
    """
    return bool(_weakref_offset_of(class_)) and name_of(class_) != "SwigPyObject"


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


def forget_all_local_classes() -> None:
    """Those who keep them have let go of them by themselves."""
    _local_classes.clear()


_module_dict_of: Callable[[ModuleType], Any] = vars(ModuleType)["__dict__"].__get__


class _DictsOfInstances(dict[type, Any]):
    """What gets the ``__dict__`` of objects of a class without running any code; or ``None``."""

    def __missing__(self, class_: type) -> Any:
        if issubclass(class_, ModuleType):
            answer: Any = _module_dict_of
        else:
            descriptor = look_up(class_, "__dict__")
            # A member, of types.SimpleNamespace.
            is_slot = type(descriptor) in (GetSetDescriptorType, MemberDescriptorType)
            answer = descriptor.__get__ if is_slot else None
        self[class_] = answer
        remember_class(self, class_)
        return answer


DICTS_OF_INSTANCES = _DictsOfInstances()


def instance_dict(owner: Any) -> dict[str, Any] | None:
    """The ``__dict__`` of an object, got without running any code; ``None`` if it has none."""
    get = DICTS_OF_INSTANCES[type(owner)]
    try:
        namespace = None if get is None else get(owner)
    except (AttributeError, ValueError):
        # It stands for an object that has none, or for nothing yet.
        return None
    return namespace if type(namespace) is dict else None


_OF_C = (
    MethodDescriptorType,
    WrapperDescriptorType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
)


def is_written_in_c(class_: type) -> bool:
    """Whether a class itself, whatever its bases are, is written in C."""
    namespace = namespace_of(class_)
    if type(namespace.get("__new__")) is BuiltinFunctionType:
        return True
    if "__slots__" in namespace:
        # Its slots are member descriptors, as those of classes in C are.
        return False
    return any(
        type(value) in _OF_C and value.__objclass__ is class_
        for name, value in namespace.items()
        # Those that each class in Python has of its own.
        if name not in ("__dict__", "__weakref__")
    )


def names(text: str) -> frozenset[str]:
    """What a text names, word by word."""
    return frozenset(text.split())


KNOWN_MODULES = names(
    # Their mutable objects are in the tables; the others never change, or are Python itself.
    "builtins types typing _typing collections _collections itertools functools operator"
    " _operator inspect abc _abc ast _ast sys os posix time re string.templatelib datetime"
    " _datetime zoneinfo _zoneinfo io _io _struct struct _json array mmap _tokenize"
    # What the runtime controls as a whole.
    " _thread threading _queue queue _socket socket select _ssl ssl _asyncio asyncio signal"
    " _signal _contextvars contextvars sqlite3 _sqlite3 _multiprocessing greenlet"
    " greenlet._greenlet _greenlet concurrent.interpreters _interpreters _interpchannels"
    # Weak references, and memory that addresses lead to.
    " weakref _weakref ctypes _ctypes"
    # What looks at the program.
    " _lsprof _tracemalloc"
)
"""Modules in C of whose objects it is known what is done to them."""

_PLAIN_OBJECTS = frozenset(
    {("_ssl", "MemoryBIO"), ("sqlite3", "Blob"), ("_io", "BufferedRWPair")}
    | {("_io", "IncrementalNewlineDecoder"), ("_ssl", "_SSLContext")}
)
"""Classes of such modules that nobody controls: their objects are data."""


class _IsForeign(dict[type, bool]):
    """Whether objects of a class are changed by code in C that no table knows.

    Not those of classes that compare and hash by value, unless these have methods that change
    them: they are values.
    """

    def __missing__(self, class_: type) -> bool:
        if _length(self) >= 2048:
            self.clear()
        answer = self[class_] = is_foreign(class_)
        remember_class(self, class_)
        return answer


def is_foreign(class_: type) -> bool:
    """See :data:`FOREIGN`, which keeps the answers."""
    order = order_of(class_)
    # By identity: a metaclass may say what is equal.
    if any(base is type or base is BaseException for base in order):
        return False
    bases = [base for base in order if is_written_in_c(base) and not _is_known(base)]
    return bool(bases) and not _is_value(class_)


def _is_known(class_: type) -> bool:
    module = module_of(class_)
    return module in KNOWN_MODULES and (module, name_of(class_)) not in _PLAIN_OBJECTS


# By identity: a program may put something else there.
_BUILTINS = {id(value) for value in vars(builtins).values() if isinstance(value, type)}

_UNNAMED = names(
    # What programs run as.
    "function method method-wrapper instancemethod builtin_function_or_method builtin_method"
    " module moduledef code cell frame FrameLocalsProxy traceback"
    " generator coroutine coroutine_wrapper anext_awaitable async_generator"
    " async_generator_asend async_generator_athrow async_generator_wrapped_value"
    " TaskStepMethWrapper _RunningLoopHolder lazy_import uop_executor InstructionSequence"
    # Attributes and singletons.
    " getset_descriptor member_descriptor method_descriptor wrapper_descriptor"
    " classmethod_descriptor mappingproxy NoneType NotImplementedType NoDefaultType ellipsis"
    # Views and iterators.
    " dict_keys dict_values dict_items odict_keys odict_values odict_items odict_iterator"
    " dict_keyiterator dict_valueiterator dict_itemiterator dict_reversekeyiterator"
    " dict_reversevalueiterator dict_reverseitemiterator iterator callable_iterator"
    " list_iterator list_reverseiterator tuple_iterator set_iterator range_iterator"
    " longrange_iterator bytes_iterator bytearray_iterator memory_iterator str_iterator"
    " str_ascii_iterator generic_alias_iterator line_iterator positions_iterator"
    " fieldnameiterator formatteriterator"
    # Memory, and what the interpreter keeps.
    " PyCapsule managedbuffer _buffer_wrapper EncodingMap stderrprinter InterpreterID"
    " UnraisableHookArgs asyncgen_hooks hamt hamt_array_node hamt_bitmap_node"
    " hamt_collision_node keys values items CArgObject StgDict"
) | {"symtable entry"}
"""The interpreter's own classes that no module has, by name."""


def module_of(class_: type) -> str:
    """The name of the module that a class is of; "" if it says none, or nothing that is true.

    Any class in C says that it is of ``builtins`` whose author has named no module.
    """
    name = namespace_of(class_).get("__module__", MISSING)
    if type(name) is not str:
        # Or it has a descriptor there, for the attribute of its objects: functions have one.
        if name is MISSING and flags_of(class_) & _HEAP_TYPE:
            return ""
        name = _module_of(class_)
    if type(name) is not str or (name == builtins.__name__ and not _is_of_interpreter(class_)):
        return ""
    return name


def _is_of_interpreter(class_: type) -> bool:
    is_unnamed = name_of(class_) in _UNNAMED and not flags_of(class_) & _HEAP_TYPE
    return is_unnamed or id(class_) in _BUILTINS


_CHANGING = names("__setitem__ __delitem__ __iadd__ __isub__ __iand__ __ior__ __ixor__ write")
_SETTER = "set_"


def _is_value(class_: type) -> bool:
    """Whether objects of a class in C are compared by what they are, and nothing changes them.

    Handles are compared, too: of memory (cffi), or of what lies in a file (h5py).
    """
    hashing, comparing = look_up(class_, "__hash__"), look_up(class_, "__eq__")
    return (
        type(hashing) is WrapperDescriptorType
        and hashing is not object.__dict__["__hash__"]
        and type(comparing) is WrapperDescriptorType
        and comparing is not object.__dict__["__eq__"]
        and not any(
            name in _CHANGING or name.startswith(_SETTER)
            for base in order_of(class_)
            for name in namespace_of(base)
        )
    )


FOREIGN = _IsForeign()
"""By class, see :class:`_IsForeign`."""


def is_ours(class_: type) -> bool:
    """Whether a class stands for one of the program's, and tells for itself."""
    return module_of(class_).startswith("bohrbug.")


class InC(dict[type, type]):
    """By class: the one in C whose methods its objects have, be it by a class in Python in between.

    Of all else it is the class itself; of ours, too, which are controlled by themselves.

    Parameters:
        known: the classes in C.
        names: of the methods; who has another one tells of it by itself.
    """

    def __init__(self, known: Iterable[type], *names: str) -> None:
        super().__init__()
        self._known = frozenset(known)
        self._names = names
        _all_in_c.append(self)

    def __missing__(self, class_: type) -> type:
        found = next((base for base in order_of(class_) if base in self._known), class_)
        if is_ours(class_) or any(look_up(class_, n) is not look_up(found, n) for n in self._names):
            found = class_
        self[class_] = found
        remember_class(self, class_)
        return found


_all_in_c: list[InC] = []


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    for in_c in _all_in_c:
        in_c.clear()
