"""What code in C that no table knows may access: what it is given, and what hangs on that.

Whether it does is not known. So it is taken to read and write what it is given, and to read what
lies in containers and objects that it is given, in one step; where another task gets at the same
without being ordered with it, that is a condition of the verdict.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import families, partials
from bohrbug.runtime.threads.rewrite.attributes import (
    depends_on_parts_of_functions,
    depends_on_special_methods,
    stores_parts_of_functions,
)
from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    KNOWN_MODULES,
    MISSING,
    InC,
    instance_dict,
    look_up,
    module_of,
    name_of,
    order_of,
    remember_class,
)
from bohrbug.runtime.threads.rewrite.delegates import function_in_c, is_exchanged
from bohrbug.runtime.threads.rewrite.effects import (
    DELETE_ITEM_BY_NAME,
    SET_ITEM_BY_NAME,
    STEP,
    WRITE,
    WRITE_KEY,
)
from bohrbug.runtime.threads.rewrite.place import Place

MOST_REACHED = 1_000
"""Objects that are looked at for one call; what lies behind them is not seen."""

_TRANSPARENT = frozenset(families.UNCHANGING)
_CODE = (FunctionType, MethodType, ModuleType, type)
_MODELLED = ("concurrent.futures", "multiprocessing", "asyncio", "logging", "threading", "queue")

Reached = tuple[Any, bool]
"""An object, and whether it may be written."""


class _CalledObjects(dict[type, bool]):
    """Whether calling an object of a class calls code in C of which something is told."""

    def __missing__(self, class_: type) -> bool:
        calling = look_up(class_, "__call__")
        answer = (
            is_exchanged(class_, "__call__")
            or function_in_c(calling) is not None
            or (
                type(calling) is WrapperDescriptorType
                and (FOREIGN[class_] or "__call__" in table.METHODS[class_])
            )
        )
        self[class_] = answer
        remember_class(self, class_)
        return answer


CALLED_OBJECTS = _CalledObjects()


class _IsLikeAFunction(dict[type, bool]):
    """Whether objects of a class are functions in all but name, as those of Cython.

    They have code, or are of one of the kinds that libraries make; calls of other objects work
    with what these have inside, as the cache of a function is.
    """

    def __missing__(self, class_: type) -> bool:
        answer = look_up(class_, "__code__") is not MISSING or any(
            (module_of(base), name_of(base)) in _LIKE_FUNCTIONS for base in order_of(class_)
        )
        self[class_] = answer
        remember_class(self, class_)
        return answer


_LIKE_FUNCTIONS = frozenset(
    {("numpy", "ufunc"), ("numpy", "_ArrayFunctionDispatcher")}
    | {("nanobind", name) for name in ("nb_func", "nb_method", "nb_bound_method")}
)
"""Classes in C of functions without code of their own, by module and name."""


IS_LIKE_A_FUNCTION = _IsLikeAFunction()

_BOUND_METHOD = ("nanobind", "nb_bound_method")


def bound_to(function: Any) -> tuple[Any, ...]:
    """The object that a function in all but name is a method of, if it is one."""
    class_ = type(function)
    if (module_of(class_), name_of(class_)) != _BOUND_METHOD:
        return ()
    return tuple(
        each
        for each in gc.get_referents(function)
        if FOREIGN[type(each)] and not IS_LIKE_A_FUNCTION[type(each)]
    )


METACLASSES = InC((type,), "__call__")
"""By metaclass: ``type``, where its classes are called as those of that are."""


class _Called(dict[type, bool]):
    """Whether something is to be told of the call of an object of a class."""

    def __missing__(self, class_: type) -> bool:
        if class_ is FunctionType:
            answer = stores_parts_of_functions()
        else:
            in_c = partials.CALLED_AS[class_] in table.CALLABLE_TYPES or METACLASSES[class_] is type
            answer = in_c or CALLED_OBJECTS[class_]
        self[class_] = answer
        remember_class(self, class_)
        return answer


CALLED = _Called()
depends_on_parts_of_functions(CALLED)
depends_on_special_methods(CALLED_OBJECTS, CALLED)


def forget_classes() -> None:
    """Let go of all classes that were looked at."""
    CALLED_OBJECTS.clear()
    CALLED.clear()
    IS_LIKE_A_FUNCTION.clear()
    _ROLES.clear()


_PASSED_OVER, _PASSED_THROUGH, _BOUND, _USED_UP, _HOLDING, _READ = range(6)
"""What becomes of an object: nothing; only what it holds counts, or what it is bound to; it is read
and written, but nothing behind it; it is accessed, and what it holds is read; it is only read, with
its arguments and attributes, as exceptions are."""


class _Roles(dict[type, int]):
    """What becomes of objects of a class that code in C is given."""

    def __missing__(self, class_: type) -> int:
        answer = self[class_] = _role_of(class_)
        remember_class(self, class_)
        return answer


def _role_of(class_: type) -> int:
    if class_ in _TRANSPARENT:
        return _PASSED_THROUGH
    if class_ is BuiltinFunctionType:
        return _BOUND
    if table.ITERATORS[class_] is not None or table.is_stream(class_):
        return _USED_UP
    if issubclass(class_, _CODE):
        return _PASSED_OVER
    if issubclass(class_, BaseException):
        return _READ
    if CALLED_OBJECTS[class_] and (IS_LIKE_A_FUNCTION[class_] or not FOREIGN[class_]):
        return _PASSED_OVER
    if families.CONTAINER[class_] or _is_plain_object(class_):
        return _HOLDING
    return _PASSED_OVER


_ROLES = _Roles()


def reached(things: Iterable[Any], is_write: bool) -> Iterator[Reached]:
    """What a call may access that is given these objects.

    Parameters:
        things: its arguments.
        is_write: whether these may be written; what lies behind them is only read.
    """
    seen: set[int] = set()
    waiting = [(thing, is_write) for thing in things]
    for thing, writes in waiting:
        class_ = type(thing)
        role = _ROLES[class_]
        if role == _PASSED_OVER or id(thing) in seen:
            continue
        if len(seen) >= MOST_REACHED:
            return
        seen.add(id(thing))
        if role == _HOLDING:
            yield thing, writes
            inner_writes = writes and FOREIGN[class_]
            waiting.extend([(inner, inner_writes) for inner in _held_by(thing)])
        elif role == _READ:
            yield thing, False
            waiting.extend([(inner, False) for inner in _kept_by(thing)])
        elif role == _USED_UP:
            yield thing, True
        elif role == _PASSED_THROUGH:
            waiting.extend([(inner, writes) for inner in gc.get_referents(thing)])
        elif type(thing.__self__) is not ModuleType:
            # It may be called.
            waiting.append((thing.__self__, writes or _changes(thing)))


def _changes(function: Any) -> bool:
    """Whether a bound method in C is known to change its object."""
    effect = table.METHODS[type(function.__self__)].get(function.__name__)
    return effect is not None and effect.action in _CHANGING


_CHANGING = frozenset({WRITE, WRITE_KEY, STEP, SET_ITEM_BY_NAME, DELETE_ITEM_BY_NAME})


def _is_plain_object(class_: type) -> bool:
    """Whether objects of a class have attributes that code in C may look at."""
    module = module_of(class_)
    return not (
        # Those of ``collections`` in Python hold a container each, as those of programs do.
        (module in KNOWN_MODULES and module != "collections")
        or module.startswith(_MODELLED)
        or type(look_up(class_, "__setattr__")) is FunctionType
    )


def _kept_by(error: BaseException) -> Iterable[Any]:
    """What lies in an exception itself: behind its traceback, and others, are frames."""
    arguments: tuple[object, ...] = _arguments_of(error)
    return *arguments, *(instance_dict(error) or {}).values()


_arguments_of: Callable[[BaseException], Any] = vars(BaseException)["args"].__get__


def _held_by(owner: Any) -> Iterable[Any]:
    """What lies in a container or an object; what an object of C works on: streams, memory."""
    held = gc.get_referents(owner)
    namespace = instance_dict(owner)
    if namespace is not None:
        held = [each for each in held if each is not namespace] + gc.get_referents(namespace)
    if not FOREIGN[type(owner)]:
        return held
    return [
        each
        for each in held
        if type(each) is BuiltinFunctionType
        or table.is_stream(type(each))
        or table.ITERATORS[type(each)] is not None
        # Such as the elements in one.
        or type(each) is type(owner)
        or (families.CONTAINER[type(each)] and not FOREIGN[type(each)])
    ]


# --- What was assumed ----------------------------------------------------------------------------

_assumed: dict[int, tuple[Place, str]] = {}
"""By id of the place of a call: what was called there."""


def assume(place: Place, name: str) -> None:
    """What is called at a place is taken to access what it reaches in one step."""
    if id(place) not in _assumed:
        _assumed[id(place)] = place, name


_in_pieces: dict[int, tuple[Place, str]] = {}
"""The same of what is known to be done in pieces, between which nobody comes in here."""


def do_in_pieces(place: Place, name: str) -> None:
    """What is called at a place is several steps, and taken as one."""
    if id(place) not in _in_pieces:
        _in_pieces[id(place)] = place, name


def taken_as_one_step(place: object) -> str | None:
    """What was called at a place, if that is taken as one step and may be several."""
    known = _in_pieces.get(id(place))
    return assumed_at(place) if known is None else known[1]


def assumed_at(place: object) -> str | None:
    """What was called at a place, if that was code in C that no table knows."""
    known = _assumed.get(id(place))
    return None if known is None else known[1]


def forget_assumptions() -> None:
    """At the beginning of an exploration."""
    _assumed.clear()
    _in_pieces.clear()


def name_of_function(function: Any) -> str:
    """How a verdict calls a function or an object that is called: ``zlib.crc32``."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if type(name) is not str:
        return name_of_class(type(function))
    module = getattr(function, "__module__", None)
    if type(module) is str:
        return f"{module}.{name}"
    owner = getattr(function, "__self__", None)
    # A method in C knows no module.
    return name if owner is None else f"{name_of_class(type(owner))}.{name.rpartition('.')[2]}"


def name_of_class(class_: type) -> str:
    """How a verdict calls a class."""
    return f"{module_of(class_)}.{class_.__qualname__}".removeprefix(".")
