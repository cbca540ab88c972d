"""What functions and constructors implemented in C read and write.

Those of containers' classes are in :mod:`.builtins_table`, and those of the rest of the standard
library, by name, in :mod:`.library_table`.
"""

from __future__ import annotations

import _bisect
import _heapq
import _operator
import _weakref
import array
import builtins
import collections
import functools
import gc
import io
import itertools
import operator
import os
import sys
import types
from collections.abc import Callable
from types import BuiltinFunctionType, ModuleType
from typing import Any

from bohrbug.runtime.threads.rewrite.classes import FROZEN_DICTS, InC
from bohrbug.runtime.threads.rewrite.effects import (
    ASK_FOR_LENGTH,
    ASK_INTERPRETER,
    BINARY,
    BINARY_IN_PLACE,
    CHANGE_DESCRIPTOR,
    CLOSE_DESCRIPTOR,
    COMPARE,
    CONSUME,
    CONTAINS_ITEM,
    CONTROL_DESCRIPTOR,
    COPY_FILE,
    DELETE_ITEM,
    EXCHANGE_DESCRIPTOR,
    FIRST,
    FOLDS,
    GET_ATTRIBUTE,
    HASH,
    ITERATE,
    LINK_FILE,
    LIST_FOLDER,
    LOOK_AT_BASES,
    LOOK_AT_CLASS,
    LOOK_AT_DESCRIPTOR,
    LOOK_WHETHER_CALLABLE,
    MAKE_CLASS,
    MAKE_FILE,
    NAME_FILE,
    NOTHING,
    OPEN_FILE,
    PRINT,
    READ,
    READ_AT_POSITION,
    READ_CURRENT_FOLDER,
    READ_DESCRIPTOR,
    READ_FILE,
    READ_ITEM,
    READ_NAMES,
    READ_STATE,
    REMOVE_FOLDER,
    RENAME_FILE,
    SEEK_DESCRIPTOR,
    SEND_FILE,
    SET_ATTRIBUTE,
    SET_ITEM,
    STEP,
    VARS,
    WRITE,
    WRITE_AT_POSITION,
    WRITE_CURRENT_FOLDER,
    WRITE_DESCRIPTOR,
    WRITE_FILE,
    WRITE_STATE,
    Effect,
)

CONSTRUCTORS: dict[type, int] = {
    **dict.fromkeys((list, tuple, set, frozenset, dict, bytes, bytearray, str, bool), 0),
    **dict.fromkeys((collections.deque, collections.OrderedDict, memoryview, io.BytesIO), 0),
    **dict.fromkeys((itertools.product, itertools.permutations), 0),
    # It asks how long what it goes through is.
    reversed: 0,
    **dict.fromkeys((itertools.combinations, itertools.combinations_with_replacement), 0),
    types.SimpleNamespace: 0,
    **dict.fromkeys((collections.defaultdict, array.array), 1),
    **dict.fromkeys((ExceptionGroup, BaseExceptionGroup), 1),
    **dict.fromkeys(FROZEN_DICTS, 0),
}
"""Classes whose constructors read all items of their arguments from this position on."""


MADE_AS = InC(CONSTRUCTORS, "__new__", "__init__")
"""By class: the one of :data:`CONSTRUCTORS` as whose objects its own are made."""


def reads_items(class_: type) -> bool:
    """Whether making an object of a class reads items of what it is made of."""
    return MADE_AS[class_] in CONSTRUCTORS


MADE_OF_PAIRS = frozenset(
    {dict, collections.OrderedDict, collections.defaultdict, types.SimpleNamespace}
)
"""Classes whose constructors may be given pairs, and read these, too."""


def _functions() -> dict[Callable[..., Any], Effect]:
    effects: dict[Callable[..., Any], Effect] = {}

    def enter(
        module: ModuleType,
        names: str,
        action: str,
        *consumes: int,
        calls_back: bool = False,
        by_value: bool = False,
        at_once: bool = False,
        fills: bool = False,
    ) -> None:
        for name in names.split():
            function = getattr(module, name, None)
            if type(function) is BuiltinFunctionType:
                effects[function] = Effect(
                    action,
                    consumes,
                    True,
                    calls_back,
                    by_value=by_value,
                    at_once=at_once,
                    fills=fills,
                )

    comparing = {"calls_back": True, "by_value": True}
    enter(builtins, "len abs round divmod pow", READ)
    enter(builtins, "format repr ascii", READ, by_value=True)
    enter(builtins, "dir", READ_NAMES)
    enter(builtins, "isinstance", LOOK_AT_CLASS)
    enter(builtins, "issubclass", LOOK_AT_BASES)
    enter(builtins, "__build_class__", MAKE_CLASS)
    enter(builtins, "callable", LOOK_WHETHER_CALLABLE)
    enter(builtins, "hash", HASH)
    enter(builtins, "sorted min max", CONSUME, **comparing)
    enter(builtins, "sum any all", CONSUME, **comparing, at_once=True)
    enter(builtins, "next anext", STEP)
    enter(builtins, "iter", ITERATE)
    enter(builtins, "getattr hasattr", GET_ATTRIBUTE)
    enter(builtins, "setattr delattr", SET_ATTRIBUTE)
    enter(builtins, "vars", VARS)
    enter(
        _heapq,
        "heappush heappop heappushpop heapreplace heapify",
        WRITE,
        calls_back=True,
        by_value=True,
    )
    # Up to 3.13 those for the largest item first are private.
    enter(
        _heapq, "_heapreplace_max _heapify_max _heappop_max", WRITE, calls_back=True, by_value=True
    )
    enter(_heapq, "heappush_max heappop_max heappushpop_max", WRITE, **comparing)
    enter(_heapq, "heapreplace_max heapify_max", WRITE, **comparing)
    enter(_bisect, "bisect bisect_left bisect_right", READ, **comparing)
    enter(_bisect, "insort insort_left insort_right", WRITE, **comparing)
    enter(_operator, "truth not_", READ)
    enter(_operator, "length_hint", ASK_FOR_LENGTH)
    enter(_operator, "countOf indexOf", CONSUME, **comparing, at_once=True)
    enter(_weakref, "_remove_dead_weakref", DELETE_ITEM)
    enter(_operator, "getitem", READ_ITEM)
    enter(_operator, "setitem", SET_ITEM)
    enter(_operator, "delitem", DELETE_ITEM)
    enter(_operator, "contains", CONTAINS_ITEM)
    enter(_operator, "add mul or_ and_ sub xor concat", BINARY)
    enter(_operator, "eq ne lt le gt ge", COMPARE)
    enter(_operator, "iadd imul ior iand isub ixor iconcat", BINARY_IN_PLACE)
    effects[operator.call] = Effect(NOTHING, calls_back=True, calls=FIRST)
    effects[functools.reduce] = Effect(NOTHING, (0,), True, True, calls=FOLDS)
    # It does the work of Counter's constructor and of its update.
    enter(collections, "_count_elements", WRITE, 0, calls_back=True)
    effects[print] = Effect(PRINT)
    enter(sys, "getsizeof", READ)
    for module, names in (
        (sys, "getrefcount getallocatedblocks"),
        (gc, "get_referrers get_objects get_count get_stats"),
    ):
        for name in names.split():
            effects[getattr(module, name)] = Effect(
                ASK_INTERPRETER, state=f"{module.__name__}.{name}"
            )
    # What stands for them is asked for no module.
    for name, action in (
        ("use_tool_id", WRITE_STATE),
        ("free_tool_id", WRITE_STATE),
        ("register_callback", WRITE_STATE),
        ("get_tool", READ_STATE),
    ):
        if hasattr(sys, "monitoring"):
            state = "the tools of sys.monitoring"
            effects[getattr(sys.monitoring, name)] = Effect(action, state=state)
    enter(builtins, "open", OPEN_FILE)
    enter(os, "open", OPEN_FILE)
    enter(os, "stat lstat statx access readlink getxattr listxattr", READ_FILE)
    effects.update(dict.fromkeys((os.listdir, os.scandir), Effect(LIST_FOLDER)))
    enter(os, "truncate chmod chown utime setxattr removexattr", WRITE_FILE)
    enter(os, "remove unlink", NAME_FILE)
    enter(os, "mkdir mkfifo", MAKE_FILE)
    enter(os, "rmdir", REMOVE_FOLDER)
    enter(os, "rename replace", RENAME_FILE)
    enter(os, "link symlink", LINK_FILE)
    enter(os, "chdir", WRITE_CURRENT_FOLDER)
    effects[os.getcwd] = Effect(READ_CURRENT_FOLDER)
    enter(os, "read", READ_DESCRIPTOR)
    enter(os, "readv readinto", READ_DESCRIPTOR, fills=True)
    enter(os, "write", WRITE_DESCRIPTOR, 0)
    enter(os, "writev", WRITE_DESCRIPTOR, by_value=True)
    enter(os, "ftruncate", WRITE_DESCRIPTOR)
    enter(os, "sendfile", SEND_FILE)
    enter(os, "copy_file_range", COPY_FILE)
    enter(os, "pread", READ_AT_POSITION)
    enter(os, "preadv", READ_AT_POSITION, fills=True)
    enter(os, "pwrite", WRITE_AT_POSITION, 0)
    enter(os, "pwritev", WRITE_AT_POSITION, by_value=True)
    enter(os, "posix_fallocate", WRITE_AT_POSITION)
    enter(os, "lseek", SEEK_DESCRIPTOR)
    enter(os, "fstat get_blocking get_inheritable isatty dup", LOOK_AT_DESCRIPTOR)
    enter(os, "set_blocking set_inheritable fchmod fchown", CHANGE_DESCRIPTOR)
    enter(os, "close", CLOSE_DESCRIPTOR)
    enter(os, "dup2", EXCHANGE_DESCRIPTOR)
    if sys.platform != "win32":
        import fcntl

        enter(fcntl, "fcntl", CONTROL_DESCRIPTOR)
    return effects


FUNCTIONS = _functions()


def add_functions(module: ModuleType, names: str, action: str) -> None:
    """Effects of further functions, done to the first argument."""
    for name in names.split():
        function = getattr(module, name, None)
        if type(function) is BuiltinFunctionType:
            FUNCTIONS[function] = Effect(action, (), True)
