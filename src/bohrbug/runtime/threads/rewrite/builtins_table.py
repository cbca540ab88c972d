"""What containers and iterators implemented in C, and their methods, read and write.

An entry errs on the side of telling too much: a read of the whole container where only some items
matter costs an execution or two, an access that is not told costs a bug.
"""

from __future__ import annotations

import _ctypes
import _io
import _queue
import _socket
import array
import collections
import contextvars
import csv
import datetime
import functools
import itertools
import mmap
import operator
import os
import re
import struct
import types
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import suppress
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    GenericAlias,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from bohrbug.runtime.threads.replacement import Function
from bohrbug.runtime.threads.rewrite import families, library_table, memory, parts
from bohrbug.runtime.threads.rewrite.attributes import STRUCTURE_FIELD, depends_on_special_methods
from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    MISSING,
    InC,
    is_written_in_c,
    look_up,
    module_of,
    name_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.effects import (
    ALL,
    ASK_INTERPRETER,
    BINARY,
    BINARY_IN_PLACE,
    CHANGE_DESCRIPTOR,
    CLOSE_STREAM,
    COMPARE,
    CONTAINS_ITEM_BY_NAME,
    DEFAULT_TIMEOUT,
    DELETE_ITEM_BY_NAME,
    FIRST,
    FORMAT,
    GET_BY_DESCRIPTOR,
    ITERATE,
    LOOK_AT_DESCRIPTOR,
    LOOK_IN_MAPPING,
    LOOK_IN_STREAM,
    LOOK_WHETHER_CLOSED,
    NOTHING,
    PLAIN_WRITE,
    READ,
    READ_ITEM_BY_NAME,
    READ_KEY,
    READ_MAPPING,
    READ_STATE,
    READ_STREAM,
    RELEASE_VIEW,
    SET_BY_DESCRIPTOR,
    SET_ITEM_BY_NAME,
    SET_TRACEBACK,
    STEP,
    USE_CONTEXT_VARIABLE,
    USE_STREAM,
    WRITE,
    WRITE_KEY,
    WRITE_MAPPING,
    WRITE_STREAM,
    Effect,
)

MethodWrapper = MethodWrapperType
MethodDescriptor = MethodDescriptorType
WrapperDescriptor = WrapperDescriptorType
_pattern: Any = re.compile("")
BuiltinMethod: type = type(_pattern.scanner("").match)
"""Of methods in C that are told the class that has them."""
LruCacheWrapper: type = functools._lru_cache_wrapper
# What some tools for bindings make holds a capsule.
OWNERS_OF_FUNCTIONS = frozenset({types.ModuleType, type(None), type(datetime.datetime_CAPI)})
"""Types of ``__self__`` of functions in C that are no methods."""

CALLABLE_TYPES = frozenset(
    {
        BuiltinFunctionType,
        BuiltinMethod,
        MethodWrapper,
        MethodDescriptor,
        WrapperDescriptor,
        MethodType,
        type,
        GenericAlias,
        staticmethod,
        functools.partial,
        LruCacheWrapper,
        operator.attrgetter,
        operator.itemgetter,
        operator.methodcaller,
        Function,
    }
)
"""Types of what may be implemented in C when it is called; see also :data:`~.unknown.CALLED`."""

BOUND_METHOD = MethodType

CODE_TYPES = frozenset({FunctionType, BuiltinFunctionType, type, ModuleType, MethodType})
"""Types of module attributes that are bound once: functions, classes, modules."""

_LIMIT = 2048
# A test may put something else in the place of the builtin.
_length = len


class _PlainKeys(dict[type, bool]):
    """Whether hashing and comparing keys of a class runs no Python code."""

    def __missing__(self, class_: type) -> bool:
        if _length(self) >= _LIMIT:
            self.clear()
        hashing = look_up(class_, "__hash__")
        comparing = look_up(class_, "__eq__")
        answer = class_ is not frozenset and (
            type(hashing) is WrapperDescriptorType and type(comparing) is WrapperDescriptorType
        )
        self[class_] = answer
        remember_class(self, class_)
        return answer


_PLAIN_KEYS = _PlainKeys()


def is_plain_key(key: Any) -> bool:
    """Whether hashing and comparing a key runs no Python code and can't fail."""
    class_ = type(key)
    if class_ is tuple:
        return all(is_plain_key(element) for element in key)
    return _PLAIN_KEYS[class_]


# --- Iterators -----------------------------------------------------------------------------------

OVER_CONTAINER = "over a container"
OVER_ITERATORS = "over iterators"
OVER_NOTHING = "over nothing that changes"
OVER_LINES = "over the lines of a stream"


RUNNING_TYPES = (GeneratorType, CoroutineType, AsyncGeneratorType)
"""Types of what runs over an interval, in frames of their own."""


async def _asynchronous() -> AsyncGenerator[None, None]:
    yield


def _awaitables_of_generators() -> Iterator[type]:
    generator = _asynchronous()
    awaitable: Any
    for awaitable in (generator.__anext__(), generator.aclose()):
        yield type(awaitable)
        awaitable.close()


AWAITABLES_OF_GENERATORS = frozenset(_awaitables_of_generators())
"""Types of what asynchronous generators give to be awaited: to do so lets the generator run."""


class _HasItems:
    def __getitem__(self, number: int) -> int:
        raise IndexError(number)


SEQUENCE_ITERATOR: type = type(iter(_HasItems()))
"""What ``iter`` makes of objects that only have items."""


_scandir = os.scandir


def _iterator_types() -> dict[type, str]:
    ordered = collections.OrderedDict[int, int]()
    containers: list[Any] = [[], {}, set(), collections.deque(), bytearray(), array.array("b")]
    containers += [ordered, memoryview(b"")]
    containers += [
        view
        for mapping in (dict[int, int](), ordered)
        for view in (mapping.keys(), mapping.values(), mapping.items())
    ]
    roles = {type(iter(container)): OVER_CONTAINER for container in containers}
    reversible: list[Any] = [[], {}, {}.values(), {}.items(), collections.deque(), ordered]
    roles.update({type(reversed(container)): OVER_CONTAINER for container in reversible})
    nothing: list[Any] = [(), "", "\u0100", b"", range(1), range(1 << 70), frozenset()]
    for thing in nothing:
        roles.setdefault(type(iter(thing)), OVER_NOTHING)
    roles.update(dict.fromkeys((*RUNNING_TYPES, itertools.count, itertools.repeat), OVER_NOTHING))
    roles.update(dict.fromkeys(AWAITABLES_OF_GENERATORS, OVER_ITERATORS))
    over_iterators: list[type] = [map, filter, zip, enumerate, reversed]
    over_iterators += [
        value
        for name, value in vars(itertools).items()
        if isinstance(value, type) and hasattr(value, "__next__")
    ]
    over_iterators += [
        type(iter(int, 1)),
        SEQUENCE_ITERATOR,
        type(struct.iter_unpack("b", b"")),
        type(csv.reader([])),
    ]
    # What is in a folder; the root may be one that can't be read.
    with suppress(OSError), _scandir(os.sep) as names_in_folder:
        over_iterators.append(type(names_in_folder))
    for iterator in over_iterators:
        roles.setdefault(iterator, OVER_ITERATORS)
    return roles


_ITERATORS = _iterator_types()


STREAMS = frozenset(
    {_io.StringIO, _io.BytesIO, _io.TextIOWrapper, _io.FileIO}
    | {_io.BufferedReader, _io.BufferedWriter, _io.BufferedRandom}
)
"""Types of streams, which have a position: whoever uses one changes it."""

ITERATOR_TYPES = InC({*_ITERATORS, *STREAMS}, "__iter__", "__next__")


class _Iterators(dict[type, str | None]):
    """What iterators of a class step over that are implemented in C; ``None`` for all else."""

    def __missing__(self, class_: type) -> str | None:
        if _length(self) >= _LIMIT:
            self.clear()
        in_c = ITERATOR_TYPES[class_]
        role = _ITERATORS.get(in_c) or (OVER_LINES if in_c in STREAMS else None)
        if role is None and FOREIGN[class_]:
            # Of classes made with Cython it is a function of Cython's own.
            special = look_up(class_, "__next__")
            is_in_c = special is not MISSING and type(special) is not FunctionType
            role = OVER_ITERATORS if is_in_c else None
        self[class_] = role
        remember_class(self, class_)
        return role


ITERATORS = _Iterators()
depends_on_special_methods(ITERATORS)

# --- Methods -------------------------------------------------------------------------------------

OBJECT_METHODS = frozenset({"__setattr__", "__delattr__", "__getattribute__"})


def _names(names: str) -> Iterable[str]:
    return names.split()


_ITEMS_BY_NAME = {
    "__getitem__": Effect(READ_ITEM_BY_NAME),
    "__setitem__": Effect(SET_ITEM_BY_NAME),
}


def _methods(
    class_: type,
    *,
    writes: str = "",
    reads: str = "",
    others: dict[str, Effect] | None = None,
) -> dict[str, Effect]:
    """The effects of a container's methods.

    Parameters:
        class_: the container.
        writes: methods that change it; what they are given is read.
        reads: further methods that read it; special methods are known.
        others: all else.
    """
    effects = {name: Effect(READ) for name in _names(_SPECIAL_READS) if hasattr(class_, name)}
    effects.update({name: Effect(READ, ALL) for name in _names(reads)})
    effects.update(dict.fromkeys(_names(writes), PLAIN_WRITE))
    for action, special_names in ((BINARY, _SPECIAL_BINARY), (COMPARE, _COMPARISONS)):
        known = (name for name in _names(special_names) if hasattr(class_, name))
        effects.update(dict.fromkeys(known, Effect(action)))
    effects.update(
        {
            name: Effect(BINARY_IN_PLACE)
            for name in _names("__iadd__ __imul__ __iand__ __ior__ __isub__ __ixor__")
            if hasattr(class_, name)
        }
    )
    special = {
        **_ITEMS_BY_NAME,
        "__delitem__": Effect(DELETE_ITEM_BY_NAME),
        "__contains__": Effect(CONTAINS_ITEM_BY_NAME),
        "__iter__": Effect(ITERATE),
    }
    effects.update({name: effect for name, effect in special.items() if hasattr(class_, name)})
    effects["__init__"] = Effect(WRITE, (0, 1))
    effects.update(others or {})
    return {
        name: effect.with_items(name in _CALLING_BACK, name in _BY_VALUE)
        if name in _CALLING_BACK or name in _BY_VALUE
        else effect
        for name, effect in effects.items()
    }


_CALLING_BACK = frozenset(
    {"sort", "remove", "index", "count", "extend", "extendleft", "update", "__init__", "__iadd__"}
    | {"union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset"}
    | {"intersection_update", "difference_update", "symmetric_difference_update", "isdisjoint"}
)
"""Methods that compare items, take a function, or read what they are given item by item."""

_BY_VALUE = frozenset({"sort", "remove", "index", "count", "__repr__", "__str__", "__format__"})
"""Methods that compare items, or make text of them."""


_SPECIAL_READS = (
    "__len__ __repr__ __str__ __reversed__ __copy__ __deepcopy__ __reduce__ __reduce_ex__"
    " __sizeof__ copy __bytes__"
)
_COMPARISONS = "__eq__ __ne__ __lt__ __le__ __gt__ __ge__"
_SPECIAL_BINARY = (
    "__add__ __mul__ __or__ __ror__ __and__ __rand__ __sub__ __rsub__ __xor__ __rxor__"
)


def _converting(class_: type, **methods: Any) -> dict[str, Effect]:
    """The same where special methods may be called for the numbers that it is given."""
    return {
        name: Effect(WRITE, calls_back=True) if effect is PLAIN_WRITE else effect
        for name, effect in _methods(class_, **methods).items()
    }


_MAPPING_METHODS = {
    "get": Effect(READ_KEY),
    "__missing__": Effect(WRITE_KEY),
    "pop": Effect(WRITE_KEY),
    "setdefault": Effect(WRITE_KEY),
    "update": Effect(WRITE, (0,)),
}
_SEQUENCE_EXTENDERS = {"extend": Effect(WRITE, (0,)), "extendleft": Effect(WRITE, (0,))}
_ITERATOR_METHODS = {
    name: Effect(STEP)
    for name in ("__next__", "send", "throw", "close", "__setstate__", "__length_hint__")
}
_STREAM_METHODS = (
    "write writelines truncate seek read readline readlines read1 readinto readinto1 close"
    " __next__ tell __exit__"
)

_FILE_METHODS = {
    **dict.fromkeys(
        _names("read readline readlines read1 peek readall __next__"), Effect(READ_STREAM)
    ),
    **dict.fromkeys(_names("readinto readinto1"), Effect(READ_STREAM, fills=True)),
    "write": Effect(WRITE_STREAM, (0,)),
    **dict.fromkeys(_names("truncate flush"), Effect(WRITE_STREAM)),
    "writelines": Effect(WRITE_STREAM, (0,), calls_back=True, by_value=True, at_once=True),
    **dict.fromkeys(_names("seek detach reconfigure"), Effect(USE_STREAM)),
    "tell": Effect(LOOK_IN_STREAM),
    **dict.fromkeys(_names("close __exit__"), Effect(CLOSE_STREAM)),
}

_WRITE_LINES = Effect(WRITE, (0,), calls_back=True, by_value=True, at_once=True)

_BUFFER_READERS = (
    "count find rfind index rindex startswith endswith partition rpartition split rsplit"
    " strip lstrip rstrip replace translate removeprefix removesuffix"
)
"""Methods of ``bytes`` that look for, or at, the bytes of other objects."""

_DESCRIPTOR_METHODS = {
    "__get__": Effect(GET_BY_DESCRIPTOR),
    **dict.fromkeys(_names("__set__ __delete__"), Effect(SET_BY_DESCRIPTOR)),
}

_DEQUE_WRITES = "append appendleft pop popleft rotate clear insert remove reverse __delitem__"

_METHODS: dict[type, dict[str, Effect]] = {
    list: _methods(
        list,
        writes="append insert remove pop clear sort reverse __delitem__",
        reads="index count",
        others=_SEQUENCE_EXTENDERS,
    ),
    collections.deque: _methods(
        collections.deque, writes=_DEQUE_WRITES, reads="index count", others=_SEQUENCE_EXTENDERS
    ),
    dict: _methods(dict, writes="popitem clear", others=_MAPPING_METHODS),
    collections.defaultdict: _methods(collections.defaultdict),
    collections.OrderedDict: _methods(
        collections.OrderedDict, writes="popitem clear move_to_end", others=_MAPPING_METHODS
    ),
    set: _methods(
        set,
        writes="pop clear",
        reads=("union intersection difference symmetric_difference issubset issuperset isdisjoint"),
        others={
            "add": Effect(WRITE_KEY),
            "discard": Effect(WRITE_KEY),
            "remove": Effect(WRITE_KEY),
            **{
                name: Effect(WRITE, ALL)
                for name in (
                    "update",
                    "intersection_update",
                    "difference_update",
                    "symmetric_difference_update",
                )
            },
        },
    ),
    bytearray: _converting(
        bytearray,
        writes="append insert remove pop clear reverse resize take_bytes __delitem__",
        reads=" ".join(
            name
            for name in dir(bytes)
            if not name.startswith("_") and name not in ("fromhex", "maketrans")
        ),
        others=_SEQUENCE_EXTENDERS,
    ),
    array.array: _converting(
        array.array,
        writes="append insert remove pop clear reverse byteswap fromunicode",
        reads="index count tobytes tolist tofile tounicode buffer_info",
        others=_SEQUENCE_EXTENDERS
        | dict.fromkeys(
            _names("frombytes fromfile fromlist"), Effect(WRITE, (0,), calls_back=True)
        ),
    ),
    memoryview: _methods(
        memoryview,
        reads="tobytes tolist hex index count",
        others=dict.fromkeys(("release", "__exit__"), Effect(RELEASE_VIEW)),
    ),
    re.Pattern: {
        **dict.fromkeys(
            _names("match prefixmatch fullmatch search findall finditer split"),
            Effect(NOTHING, (0,)),
        ),
        **dict.fromkeys(_names("sub subn"), Effect(NOTHING, (1,), calls_back=True)),
    },
    contextvars.Context: _methods(
        contextvars.Context,
        reads="get keys items values copy",
        others={"run": Effect(WRITE, calls_back=True, calls=FIRST)},
    ),
    contextvars.ContextVar: dict.fromkeys(("get", "set", "reset"), Effect(USE_CONTEXT_VARIABLE)),
    mmap.mmap: {
        **dict.fromkeys(_names("find rfind size tell __len__ __enter__"), Effect(LOOK_IN_MAPPING)),
        **dict.fromkeys(_names("seek read read_byte readline"), Effect(READ_MAPPING)),
        **dict.fromkeys(
            _names("write_byte move resize close __exit__ flush madvise"),
            Effect(WRITE_MAPPING),
        ),
        "write": Effect(WRITE_MAPPING, (0,)),
        **_ITEMS_BY_NAME,
    },
    memory.DATA: {"__init__": Effect(WRITE, (0, 1))},
    **dict.fromkeys((_ctypes.Array, _ctypes._Pointer), _ITEMS_BY_NAME),
    str: {
        **dict.fromkeys(("join", "translate"), Effect(NOTHING, (0,))),
        "format": Effect(FORMAT, by_value=True),
        "format_map": Effect(NOTHING, (0,), by_value=True),
    },
    bytes: {
        "join": Effect(NOTHING, (0,), calls_back=True, by_value=True),
        **dict.fromkeys(_names(_BUFFER_READERS), Effect(NOTHING, (0, 1))),
    },
    _io.StringIO: dict.fromkeys(_names(_STREAM_METHODS), Effect(WRITE))
    | {"getvalue": Effect(WRITE), "writelines": _WRITE_LINES},
    _io.BytesIO: dict.fromkeys(_names(_STREAM_METHODS), Effect(WRITE))
    | {"getvalue": Effect(WRITE), "getbuffer": Effect(WRITE), "writelines": _WRITE_LINES}
    | {"write": Effect(WRITE, (0,)), "__init__": Effect(WRITE, (0,))}
    | dict.fromkeys(_names("readinto readinto1"), Effect(WRITE, fills=True)),
    **dict.fromkeys(
        (
            _io.TextIOWrapper,
            _io.BufferedReader,
            _io.BufferedWriter,
            _io.BufferedRandom,
            _io.FileIO,
        ),
        _FILE_METHODS,
    ),
    **{view: _methods(view, reads="isdisjoint") for view in families.DICT_VIEWS},
    _socket.socket: {
        **dict.fromkeys(_names("setsockopt settimeout setblocking"), Effect(CHANGE_DESCRIPTOR)),
        **dict.fromkeys(_names("getsockopt gettimeout getblocking"), Effect(LOOK_AT_DESCRIPTOR)),
        "fileno": Effect(LOOK_WHETHER_CLOSED),
        "__init__": Effect(READ_STATE, state=DEFAULT_TIMEOUT),
    },
    # One that no class of the program derives from is replaced.
    _queue.SimpleQueue: dict.fromkeys(
        _names("put put_nowait get get_nowait empty qsize"),
        Effect(ASK_INTERPRETER, state="a class that derives from queue.SimpleQueue"),
    ),
    LruCacheWrapper: dict.fromkeys(("cache_clear", "cache_info"), Effect(WRITE)),
    functools.partial: {"__setstate__": Effect(WRITE)},
    BaseException: {
        "add_note": Effect(WRITE),
        "with_traceback": Effect(SET_TRACEBACK),
        "__setstate__": Effect(WRITE),
        **dict.fromkeys(("__str__", "__repr__"), Effect(NOTHING, by_value=True)),
    },
    types.SimpleNamespace: {"__replace__": Effect(READ)},
    types.MappingProxyType: _methods(types.MappingProxyType, reads="get items keys values copy"),
    **{
        part: _methods(part, writes="update setdefault pop", reads="get keys values items copy")
        for part in parts.CLASSES
    },
    **dict.fromkeys(_ITERATORS, _ITERATOR_METHODS),
    **dict.fromkeys(
        (GetSetDescriptorType, MemberDescriptorType, STRUCTURE_FIELD), _DESCRIPTOR_METHODS
    ),
}


def is_stream(class_: type) -> bool:
    """Whether objects of a class are streams in C, be it by a class in Python in between."""
    return any(base in STREAMS for base in order_of(class_))


class _Methods(dict[type, dict[str, Effect]]):
    """The effects of the methods of objects of a class, inherited ones included."""

    def __missing__(self, class_: type) -> dict[str, Effect]:
        if _length(self) >= _LIMIT:
            self.clear()
        effects: dict[str, Effect] = {}
        if FOREIGN[class_]:
            effects.update(_methods(class_))
        for base in reversed(order_of(class_)):
            effects.update(_METHODS.get(base, {}))
            if is_written_in_c(base):
                name = (module_of(base), name_of(base))
                effects.update(library_table.METHODS.get(name, {}))
        self[class_] = effects
        remember_class(self, class_)
        return effects


METHODS = _Methods()


def has_state_in_c(class_: type) -> bool:
    """Whether objects of a class hold more than attributes: items, say, or cached results."""
    return families.has_content(class_) or bool(METHODS[class_])


def add_methods(methods: dict[type, dict[str, Effect]]) -> None:
    """Effects of the methods of further classes."""
    _METHODS.update(methods)
    METHODS.clear()


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    families.forget_classes()
    for cache in (ITERATORS, _PLAIN_KEYS, METHODS, FOREIGN):
        cache.clear()
