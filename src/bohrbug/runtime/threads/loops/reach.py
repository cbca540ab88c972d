"""What the callbacks of an event loop can get to: the objects that they, and all that follows from
them, could change.

A callback gets to what it refers to, what that refers to, and so on: the frames of coroutines, the
variables that functions enclose, the global variables that their code names, and the tasks that
wait for a future.  Whatever is not known to lead to nothing else is *out of bounds*.

Where tasks are waited for together, as by ``gather``, whoever waits goes on only once all of them
have ended: a *join*.  It is left to the caller whether what is behind one is within reach.
"""

from __future__ import annotations

import builtins
import gc
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from contextvars import Context
from functools import partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any
from weakref import ReferenceType, getweakrefs

from bohrbug.runtime.threads.loops.counting import futures
from bohrbug.runtime.threads.loops.joins import Join, joined_by
from bohrbug.runtime.threads.loops.named import Global, named_in
from bohrbug.runtime.threads.loops.references import callback_of, references_to
from bohrbug.runtime.threads.rewrite.classes import module_of, namespace_of

MOST_OBJECTS = 1_000
"""Objects that are looked at for one callback; where there are more, they are out of bounds."""

MOST_REFERENCES = 5_000
"""References that are still to be followed at a time, be it to numbers that lead nowhere: for each
step of a loop all of them are followed again."""


class OutOfBounds(Exception):
    """A callback gets to what may lead anywhere."""


PLAIN = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, range, CodeType, Context),
        *(type(Ellipsis), type(NotImplemented)),
    }
)
"""Types of objects that nobody can change, or of which none is changed by what is allowed here."""

FIXED = frozenset({tuple, frozenset, slice})
"""Types of objects that always refer to the same others."""

_ITERABLE: tuple[Iterable[object], ...] = (
    *([], (), {}, set(), "", b"", range(0), deque()),
    *({}.values(), {}.items()),
)

_CHANGING = frozenset(
    {
        *(list, dict, set, deque, defaultdict, bytearray),
        *(enumerate, zip, reversed, map, filter),
        *(type(iter(each)) for each in _ITERABLE),
        *(type({}.keys()), type({}.values()), type({}.items())),
        type(reversed([])),
    }
)
"""Types of collections and iterators, whose own code is all that works on them."""

_BUILTINS = frozenset(
    {
        *("abs", "all", "any", "bool", "bytearray", "bytes", "callable", "chr", "complex"),
        *("dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "int"),
        *("isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next"),
        *("object", "ord", "pow", "range", "repr", "reversed", "round", "set", "slice"),
        *("sorted", "str", "sum", "super", "tuple", "zip", "__debug__", "NotImplemented"),
        *("property", "staticmethod", "Ellipsis", "aiter", "anext", "bin", "hex"),
    }
)
"""Names of builtin functions and types that get to nothing but their arguments."""

_OF_ASYNCIO = frozenset(
    {
        *("Barrier", "BoundedSemaphore", "CancelledError", "Condition", "Event", "Future"),
        *("LifoQueue", "Lock", "PriorityQueue", "Queue", "QueueEmpty", "QueueFull", "Semaphore"),
        *("TaskGroup", "TimeoutError", "create_task", "current_task", "ensure_future", "gather"),
        *("get_running_loop", "get_event_loop", "shield", "sleep", "timeout", "timeout_at"),
        *("wait", "wait_for", "ALL_COMPLETED", "FIRST_COMPLETED", "FIRST_EXCEPTION"),
    }
)
"""What of asyncio gets to nothing but its arguments, the running task, and those that it makes."""

_MAKES_TASKS = frozenset({"TaskGroup", "create_task", "ensure_future", "gather", "shield", "wait"})
_TAKES_TIME = frozenset({"timeout", "timeout_at", "wait_for", "call_later", "call_at"})

_GETTING_LOOPS = frozenset({"get_loop", "_get_loop"})

_MODULES_OF_ASYNCIO = frozenset(
    f"asyncio.{name}"
    for name in (
        "events",
        "futures",
        "locks",
        "mixins",
        "queues",
        "taskgroups",
        "tasks",
        "timeouts",
    )
)
"""Modules whose own code is known to change nothing but what its objects refer to, and the loop."""

_OF_LOOPS = frozenset(
    {"call_at", "call_later", "call_soon", "create_future", "create_task", "get_debug"}
)
"""Methods of a loop that do nothing but ask for a callback."""

_ASSERTING = frozenset({"@pytest_ar", "@py_builtins"})
"""Variables that pytest adds; asked only for what an assertion that fails is to say."""


class Reach:
    """What some callbacks can get to.

    Parameters:
        loop: the event loop that runs them.
        original: from code that was rewritten to what it was before.
        known_joins: see :func:`.joined_by`.

    Attributes:
        seen: the objects that were looked at, by their identities.
        changed: the identities of those that may be changed.
        used: those of variables that may only be read.
        joins: behind which nothing was looked at.
        constants: functions and classes, taken to stay as they are.
        tasks: how many tasks of asyncio are among the objects.
        makes_tasks: more may be made.
        sleeps: there are timers, or may be.
        tells_time: what happens may depend on how much time has passed.
    """

    def __init__(
        self, loop: Any, original: Callable[[CodeType], CodeType], known_joins: dict[int, Join]
    ) -> None:
        self._loop = loop
        self._known_joins = known_joins
        self._original = original
        self.seen: dict[int, Any] = {}
        self.changed: set[int] = set()
        self.used: set[int] = set()
        self.joins: list[Join] = []
        self.constants: dict[int, Any] = {}
        self.tasks = 0
        self.makes_tasks = self.sleeps = self.tells_time = False
        self._has_loop = False
        self._attributes: set[str] = set()
        self._waiting: list[Any] = []

    def add(self, roots: Iterable[Any]) -> None:
        """Look at what can be got to from some objects, too.

        Raises:
            OutOfBounds: that may be anything.
        """
        waiting = self._waiting
        waiting += roots
        while waiting:
            value = waiting.pop()
            kind = type(value)
            if kind in PLAIN or id(value) in self.seen:
                continue
            self.seen[id(value)] = value
            if len(self.seen) > MOST_OBJECTS or _tells_of_its_end(value):
                raise OutOfBounds
            self._enter(value, kind)
            if len(waiting) > MOST_REFERENCES:
                raise OutOfBounds
        if self._has_loop and self._attributes & (set(dir(self._loop)) - _OF_LOOPS):
            raise OutOfBounds

    def meets(self, other: Reach) -> bool:
        """Whether the two may get in each other's way by an object."""
        return not (
            self.changed.isdisjoint(other.changed)
            and self.changed.isdisjoint(other.used)
            and self.used.isdisjoint(other.changed)
        )

    # -- objects -------------------------------------------------------------------------

    def _enter(self, value: Any, kind: type) -> None:
        waiting = self._waiting
        if kind in FIXED:
            waiting += gc.get_referents(value)
        elif kind in _CHANGING:
            self.changed.add(id(value))
            waiting += (each for each in gc.get_referents(value) if each is not kind)
        elif kind is CellType:
            self.used.add(id(value))
            waiting += _contents([value])
        elif kind is CoroutineType or kind is GeneratorType:
            self._frame(value, value.cr_code if kind is CoroutineType else value.gi_code)
        elif kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            waiting.append(value.__self__)
            if not _is_asyncios(type(value.__self__)):
                waiting.append(value.__func__)
        elif kind is partial:
            # It may have attributes.
            self.changed.add(id(value))
            waiting += (value.func, value.args, value.keywords)
        elif kind is BuiltinFunctionType or kind is MethodWrapperType:
            self._builtin(value)
        elif kind in futures() or (_is_asyncios(kind) and kind.__name__ == _GATHERING):
            self._future(value)
        elif value is self._loop:
            self._has_loop = True
        elif issubclass(kind, type):
            self._class(value)
        elif _is_asyncios(kind):
            self._of_asyncio(value, kind)
        elif kind is MethodDescriptorType or kind is WrapperDescriptorType:
            # On the stack of who is about to call it.
            if not _is_known(value.__objclass__):
                raise OutOfBounds
        elif kind.__name__ in _OF_TASKS and module_of(kind) in _MODULES_IN_C:
            self.changed.add(id(value))
            waiting += (each for each in gc.get_referents(value) if each is not kind)
        elif kind.__flags__ & _HEAP_TYPE:
            self._instance(value, kind)
        else:
            raise OutOfBounds

    def _builtin(self, value: Any) -> None:
        """A function in C, or a method of an object of such a type."""
        owner = value.__self__
        if owner is None or type(owner) is ModuleType:
            if owner is builtins and value.__name__ in _BUILTINS:
                return
            raise OutOfBounds
        self._waiting.append(owner)

    def _instance(self, value: Any, kind: type) -> None:
        """An object of a class in Python."""
        if issubclass(kind, (BaseException, ModuleType)):
            # An exception has its traceback, which leads to frames.
            raise OutOfBounds
        self.changed.add(id(value))
        self._waiting += gc.get_referents(value)
        # Not all classes in C say that their objects refer to them.
        self._waiting.append(kind)

    def _of_asyncio(self, value: Any, kind: type) -> None:
        """An object of one of asyncio's own classes, whose code is known."""
        self.changed.add(id(value))
        if kind.__name__ in ("TimerHandle", "Timeout"):
            self.sleeps = True
            self.tells_time = self.tells_time or kind.__name__ == "Timeout"
        own = getattr(value, "__dict__", None)
        for each in gc.get_referents(value):
            if each is own and type(each) is dict:
                self.seen[id(each)] = each
                self._waiting += [inner for inner in own.values() if inner is not self._loop]
            elif each is not self._loop and each is not kind:
                self._waiting.append(each)

    def _future(self, value: Any) -> None:
        """A future or a task: all that waits for it, and a task's coroutine."""
        self.changed.add(id(value))
        if value._exception is not None:
            raise OutOfBounds
        if not value.done():
            for callback, _ in value._callbacks or ():
                join = joined_by(callback, self._known_joins)
                if join is None:
                    self._waiting.append(callback)
                else:
                    self.joins.append(join)
        elif not value.cancelled():
            self._waiting.append(value._result)
        name = type(value).__name__
        if name == "Task":
            self.tasks += 1
            self._waiting += (value.get_coro(), value._fut_waiter)
        elif name == _GATHERING:
            self._waiting += value._children

    # -- code ----------------------------------------------------------------------------

    def _frame(self, value: Any, code: CodeType) -> None:
        """A coroutine, or a generator, with what its frame holds."""
        self.changed.add(id(value))
        frame = value.cr_frame if type(value) is CoroutineType else value.gi_frame
        if frame is None:
            return
        held = gc.get_referents(value)
        for index, each in enumerate(held):
            if type(each) is FunctionType and each.__code__ is code:
                # The function itself, by which a frame knows its variables.
                del held[index]
                break
        name = str(frame.f_globals.get("__name__"))
        if name in _MODULES_OF_ASYNCIO:
            gives_way = code.co_name == "sleep" and any(
                type(each) is GeneratorType for each in held
            )
            self.sleeps = self.sleeps or not (gives_way or code.co_name in _WITHOUT_TIME)
            held = [each for each in held if each is not self._loop]
        elif self._code(code, frame.f_globals):
            self.changed.update(id(each) for each in held if type(each) is CellType)
        self._waiting += [each for each in held if each is not frame]

    def _function(self, function: Any) -> None:
        """A function that may be called."""
        self.constants[id(function)] = function
        cells = function.__closure__ or ()
        if function.__module__ in _MODULES_OF_ASYNCIO:
            if function.__name__ not in _CALLBACKS and function.__name__ not in _OF_ASYNCIO:
                raise OutOfBounds
            self._waiting += [each for each in _contents(cells) if each is not self._loop]
            # What they enclose is theirs alone, and may be given new values.
            self.changed.update(map(id, cells))
            self.seen.update((id(cell), cell) for cell in cells)
            return
        if self._code(function.__code__, function.__globals__):
            self.changed.update(map(id, cells))
        self._waiting += cells
        self._waiting += function.__defaults__ or ()
        self._waiting += (function.__kwdefaults__ or {}).values()
        self._waiting += function.__dict__.values()

    def _code(self, code: CodeType, variables: dict[str, Any]) -> bool:
        """Code that may run; whether it gives new values to variables that functions share."""
        named = named_in(self._original(code))
        if not named.is_plain or str(variables.get("__name__")).startswith("bohrbug."):
            raise OutOfBounds
        self._attributes |= named.attributes
        self.makes_tasks = self.makes_tasks or not _MAKES_TASKS.isdisjoint(named.attributes)
        if not _TAKES_TIME.isdisjoint(named.attributes):
            self.sleeps = self.tells_time = True
        if not _GETTING_LOOPS.isdisjoint(named.attributes):
            self._has_loop = True
        for read in named.reads:
            self._global(read, variables)
        return named.rebinds

    def _global(self, read: Global, variables: dict[str, Any]) -> None:
        """A global variable that is read."""
        name = read.name
        if name in _ASSERTING or name.startswith("__dataclass_"):
            return
        if name in variables:
            value = variables[name]
        elif name in _BUILTINS or _is_exception(getattr(builtins, name, None)):
            return
        else:
            raise OutOfBounds
        if type(value) is ModuleType:
            attribute = read.attribute
            if value is sys.modules.get("asyncio"):
                if attribute not in _OF_ASYNCIO:
                    raise OutOfBounds
                self._named_of_asyncio(vars(value)[attribute], attribute, read)
                return
            if attribute is None or attribute not in vars(value):
                raise OutOfBounds
            if value.__name__ == "math":
                return
            value = vars(value)[attribute]
        if type(value) in _NAMED and value.__module__ in (*_MODULES_OF_ASYNCIO, "_asyncio"):
            if value.__name__ not in _OF_ASYNCIO:
                raise OutOfBounds
            self._named_of_asyncio(value, value.__name__, read)
        elif value is not _BUILTIN_TYPES.get(name):
            self._waiting.append(value)

    def _named_of_asyncio(self, value: Any, name: str, read: Global) -> None:
        """Something of asyncio's own is used."""
        if type(value) is FunctionType or (type(value) is type and value not in futures()):
            self.constants[id(value)] = value
        if name == "sleep":
            self.sleeps = self.sleeps or not read.of_zero
        elif name in _TAKES_TIME:
            self.sleeps = self.tells_time = True
        elif name in ("get_running_loop", "get_event_loop"):
            self._has_loop = True
        self.makes_tasks = self.makes_tasks or name in _MAKES_TASKS

    def _class(self, cls: Any) -> None:
        """A class of which there may be instances, with all that they have by it."""
        if type(cls) is not type:
            raise OutOfBounds
        if _is_known(cls):
            return
        if _is_asyncios(cls) or module_of(cls) == "asyncio.exceptions":
            return
        namespace = namespace_of(cls)
        if not cls.__flags__ & _HEAP_TYPE:
            if _is_exception(cls) and module_of(cls) == "builtins":
                return
            raise OutOfBounds
        is_first = "__slots__" in namespace or {"__dict__", "__weakref__"} <= namespace.keys()
        if not (is_first or _has_python_base(cls)):
            # It is one in C.
            raise OutOfBounds
        self.constants[id(cls)] = cls
        for name, each in namespace.items():
            kind = type(each)
            if kind is staticmethod or kind is classmethod:
                self._waiting.append(each.__func__)
            elif kind is property:
                self._waiting += (each.fget, each.fset, each.fdel)
            elif kind is FunctionType:
                if name == "__repr__" and "__dataclass_fields__" in namespace:
                    # It only sees to it that it is not called within itself.
                    each = getattr(each, "__wrapped__", each)
                self._waiting.append(each)
            elif not (name in _OF_CLASS_STATEMENTS or kind.__name__ in _DESCRIPTORS):
                # Special methods, too, may be objects that others use.
                self._waiting.append(each)
        self._waiting += cls.__bases__


_HEAP_TYPE = 1 << 9
_GATHERING = "_GatheringFuture"
_NAMED = frozenset({FunctionType, BuiltinFunctionType, type})
_BUILTIN_TYPES = {name: getattr(builtins, name, None) for name in _BUILTINS}
_CALLBACKS = frozenset(
    {
        *("_set_result_unless_cancelled", "_release_waiter", "_done_callback", "_on_completion"),
        *("_inner_done_callback", "_outer_done_callback", "_log_on_exception"),
    }
)
"""Functions of asyncio's own that are called back, and get to nothing but what they enclose."""
_OF_TASKS = frozenset({"FutureIter", "TaskStepMethWrapper", "TaskWakeupMethWrapper"})
_MODULES_IN_C = ("_asyncio", "builtins")
_WITHOUT_TIME = frozenset(
    {"__sleep0", "acquire", "get", "gather", "join", "put", "wait", "_wait", "__aenter__"}
    | {"__aexit__", "_block", "_aexit"}
)
"""Coroutines of asyncio's own that wait for no timer, unless they are given one."""

_OF_CLASS_STATEMENTS = frozenset(
    {
        *("__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__"),
        *("__annotations_cache__", "__classdictcell__", "__dataclass_fields__", "__doc__"),
        *("__dataclass_params__", "__match_args__", "__orig_bases__", "__parameters__"),
        *("__slots__", "__static_attributes__", "__type_params__"),
    }
)
"""What a class has by its statement or decorator; code that asks for it is not plain."""

_DESCRIPTORS = frozenset({"getset_descriptor", "member_descriptor", "wrapper_descriptor"})


def _tells_of_its_end(value: Any) -> bool:
    """Whether somebody is called back when an object dies, except for weak collections.

    Whoever looks into one of these gets to weak references, which are out of bounds.
    """
    # Most have none.
    return bool(getweakrefs(value)) and any(
        callback is not None and not _is_harmless(callback)
        for callback in map(callback_of, references_to(value))
    )


def _is_harmless(callback: Any) -> bool:
    """Whether it is that of a weak collection, or our own."""
    if type(callback) is BuiltinFunctionType:
        # Abstract base classes keep weak sets of the classes that they were asked about.
        own = callback.__self__
        return callback.__name__ == "_destroy" and type(own) is ReferenceType
    if type(callback) is not FunctionType and type(callback) is not MethodType:
        return False
    module = str(callback.__module__)
    return module in ("weakref", "_weakrefset") or module.startswith("bohrbug.")


def _contents(cells: Iterable[Any]) -> list[Any]:
    found = []
    for cell in cells:
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue
    return found


def _is_asyncios(kind: type) -> bool:
    """Whether a class is one of asyncio's own whose code is known."""
    name = module_of(kind)
    return (
        type(kind) is type
        and name in _MODULES_OF_ASYNCIO
        and getattr(sys.modules[name], kind.__name__, None) is kind
    )


def _is_known(cls: type) -> bool:
    """Whether a class in C gets to nothing but what its instances refer to."""
    return cls in PLAIN or cls in FIXED or cls in _CHANGING or cls is object or cls in futures()


def _has_python_base(cls: type) -> bool:
    return any(base.__flags__ & _HEAP_TYPE and base is not cls for base in cls.__mro__)


def _is_exception(value: object) -> bool:
    """Whether something is a class of exceptions that a loop does not let through."""
    return (
        isinstance(value, type)
        and issubclass(value, BaseException)
        and not issubclass(value, (SystemExit, KeyboardInterrupt))
    )
