"""What code in C accesses, told just before it runs: operators, iteration and calls.

Such code is not rewritten. What is known of it is in a table (:mod:`.builtins_table`); what it
does to objects that it was not given, such as the container under an iterator, is asked of the
garbage collector. Most values are of types that need nothing told: that is looked at before whether
there is a sink.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from bohrbug.runtime.threads.captured import keeps_text_for_the_test
from bohrbug.runtime.threads.replacement import Function
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import files, halfway, hooks
from bohrbug.runtime.threads.rewrite.attributes import (
    SKIP,
    look_up,
    note_stored,
    order_of,
    raw_read_kind,
    raw_write_kind,
    read_kinds,
    write_kinds,
)
from bohrbug.runtime.threads.rewrite.instance_dicts import KNOWN_DICTS, remember_dict
from bohrbug.runtime.threads.rewrite.place import Place

# A test may put something else in the place of the builtin.
_length = len

_CONTAINER = table.CONTAINER
_SCALARS = frozenset({int, float, str, bool, bytes, complex})

# --- Hooks of operators --------------------------------------------------------------------------


def contains(key: Any, owner: Any, place: Place) -> None:
    """``key in owner`` is about to be computed."""
    family = table.CONTAINS[type(owner)]
    if family is None:
        if type(owner) in table.ITERATORS and hooks.active:
            _step(owner, place, 0)
    elif hooks.active:
        if family is table.SEQUENCE or family is table.OTHER:
            hooks.tell_whole(owner, False, place)
        else:
            hooks.tell_item(owner, key, False, place)


def binary(left: Any, right: Any, place: Place) -> None:
    """A comparison or a binary operator is about to be computed."""
    if type(left) is type(right) and type(left) in _SCALARS:
        return
    if _CONTAINER[type(left)] and hooks.active:
        hooks.tell_whole(left, False, place)
    if _CONTAINER[type(right)] and hooks.active:
        hooks.tell_whole(right, False, place)


def binary_in_place(left: Any, right: Any, place: Place) -> None:
    """``left += right`` or its like is about to be computed; it may change ``left``."""
    if type(left) is type(right) and type(left) in _SCALARS:
        return
    if (type(right) in table.ITERATORS or _CONTAINER[type(right)]) and hooks.active:
        _consume(right, place)
    if _CONTAINER[type(left)] and hooks.active:
        hooks.tell_whole(left, True, place)


# --- Hooks of iteration --------------------------------------------------------------------------


def _references_of_parameter(value: Any) -> int:
    return sys.getrefcount(value)


# References to an iterator that nobody but the loop holds: the parameter of the hook and, where
# the interpreter counts it, the argument of getrefcount; and the stack of the looping frame.
_UNSHARED = _references_of_parameter(iter([])) + 1
# Those to an iterator that another one holds, while it is looked at: the list of referents, the
# loop over it and, where it is counted, the argument of getrefcount; and the other one.
_UNSHARED_REFERENT = _UNSHARED + 1


def iterate(owner: Any, place: Place) -> None:
    """``iter(owner)`` is about to be made; a list is first looked at by the first step."""
    if type(owner) is not list and _CONTAINER[type(owner)] and hooks.active:
        hooks.tell_whole(owner, False, place)


def consume(owner: Any, place: Place) -> None:
    """All items of ``owner`` are about to be read in one go."""
    if hooks.active:
        _consume(owner, place)


def _consume(owner: Any, place: Place) -> None:
    if _CONTAINER[type(owner)]:
        hooks.tell_whole(owner, False, place)
    elif type(owner) in table.ITERATORS:
        _step(owner, place, 0)


def step(iterator: Any, place: Place) -> None:
    """The next item of ``iterator`` is about to be asked for.

    Since Python 3.15 a loop over a list has the list in its place, and an index of its own.
    """
    if type(iterator) in table.ITERATORS and hooks.active:
        _step_into(iterator, place, 0)
        if sys.getrefcount(iterator) > _UNSHARED:
            _advance(iterator, place)
    elif _CONTAINER[type(iterator)] and hooks.active:
        hooks.tell_whole(iterator, False, place)


def step_of_comprehension(iterator: Any, place: Place) -> None:
    """The next item is about to be asked for by a comprehension, whose parameter it is as well."""
    if type(iterator) in table.ITERATORS and hooks.active:
        _step_into(iterator, place, 0)
        if sys.getrefcount(iterator) > _UNSHARED + 1:
            _advance(iterator, place)


def _step(iterator: Any, place: Place, depth: int) -> None:
    _step_into(iterator, place, depth)
    _advance(iterator, place)


def _advance(iterator: Any, place: Place) -> None:
    """An iterator that others may have as well goes on; functions that it calls run meanwhile."""
    hooks.whole(iterator, True, place)
    if type(iterator) in _RUNNING:
        halfway.begin(hooks.telling_again(iterator, True))


_RUNNING = frozenset(
    {GeneratorType, map, filter}
    | {itertools.accumulate, itertools.takewhile, itertools.dropwhile, itertools.starmap}
    | {itertools.filterfalse, itertools.groupby}
)
"""Iterators that call functions written in Python."""


def _step_into(iterator: Any, place: Place, depth: int) -> None:
    """What lies under an iterator that C code advances: containers and further iterators."""
    role = table.ITERATORS[type(iterator)]
    if role is table.OVER_NOTHING:
        return
    for referent in gc.get_referents(iterator):
        class_ = type(referent)
        if role is table.OVER_CONTAINER:
            if _CONTAINER[class_]:
                hooks.tell_whole(referent, False, place)
        elif class_ in table.ITERATORS and depth < 4:
            _step_into(referent, place, depth + 1)
            if sys.getrefcount(referent) > _UNSHARED_REFERENT:
                hooks.whole(referent, True, place)
        elif class_ is tuple and depth < 4:
            # Not the tuple itself: zip_longest leaves holes in it that crash who looks at them.
            for inner in gc.get_referents(referent):
                if type(inner) in table.ITERATORS:
                    _step_into(inner, place, depth + 1)
                    if sys.getrefcount(inner) > _UNSHARED_REFERENT:
                        hooks.whole(inner, True, place)
        elif class_ is BuiltinFunctionType and type(referent.__self__) is not ModuleType:
            _call(referent, (), place)


# --- Hook of class patterns ----------------------------------------------------------------------


def match_class(subject: Any, class_: Any, names: Any, count: int, place: Place) -> None:
    """``case class_(...)`` is about to be tried: the attributes it names are read.

    Parameters:
        subject: what is matched.
        class_: of the pattern.
        names: of the attributes that the pattern names itself.
        count: of the positions, whose attributes ``__match_args__`` of the class names.
        place: of the pattern.
    """
    if not hooks.active or not issubclass(type(class_), type):
        return
    # A metaclass may decide in code of its own, which must not run twice.
    if type(class_) is type and class_ not in order_of(type(subject)):
        return
    positions = look_up(class_, "__match_args__")
    if type(positions) is tuple:
        names = positions[:count] + names
    for name in names:
        if type(name) is str:
            hooks.read_attribute(subject, name, read_kinds(name), place)


# --- Hooks of calls ------------------------------------------------------------------------------

_CALLABLE_TYPES = table.CALLABLE_TYPES
_FUNCTIONS = table.FUNCTIONS
_METHODS = table.METHODS
_PLAIN_WRITE = table.PLAIN_WRITE


def call0(callable_: Any, place: Place) -> None:
    """``callable_()`` is about to be called."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        return
    if class_ in _CALLABLE_TYPES and hooks.active:
        _call(callable_, (), place)


def call1(callable_: Any, first: Any, place: Place) -> None:
    """``callable_`` is about to be called with one positional argument."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        return
    if class_ in _CALLABLE_TYPES and hooks.active:
        _call(callable_, (first,), place)


def call2(callable_: Any, first: Any, second: Any, place: Place) -> None:
    """``callable_`` is about to be called with two positional arguments."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        return
    if class_ in _CALLABLE_TYPES and hooks.active:
        _call(callable_, (first, second), place)


def call3(callable_: Any, first: Any, second: Any, third: Any, place: Place) -> None:
    """``callable_`` is about to be called with three positional arguments or more."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        return
    if class_ in _CALLABLE_TYPES and hooks.active:
        _call(callable_, (first, second, third), place)


def call_with_file(callable_: Any, file: Any, place: Place) -> None:
    """``callable_`` is about to be called with a keyword argument ``file``."""
    if callable_ is print and file is not None and hooks.active:
        _print_to(file, place)


def call_star(callable_: Any, arguments: Any, place: Place) -> None:
    """``callable_(*arguments)`` is about to be called."""
    if hooks.active:
        if type(arguments) is not tuple:
            _consume(arguments, place)
        if type(callable_) in _CALLABLE_TYPES:
            _call(callable_, tuple(arguments) if type(arguments) in (tuple, list) else (), place)


def _call(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """A call of something that may be implemented in C."""
    class_ = type(callable_)
    if class_ is not BuiltinFunctionType:
        _CALLS[class_](callable_, arguments, place)
        return
    # By far the most, such as items.append: without one call more.
    owner = callable_.__self__
    if type(owner) is not ModuleType:
        _method(owner, callable_.__name__, arguments, place)
        return
    effect = _FUNCTIONS.get(callable_)
    if effect is not None:
        _apply(effect, None, arguments, place)


def _bound_method(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    inner = callable_.__func__
    # A function in Python tells its accesses itself.
    if type(inner) is not FunctionType and type(inner) in _CALLABLE_TYPES:
        _call(inner, (callable_.__self__, *arguments), place)


def _class(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    first = table.CONSTRUCTORS.get(callable_)
    if first is not None:
        for argument in arguments[first:]:
            _consume(argument, place)


def _replacement(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    effect = _EFFECTS_BY_IDENTITY.get(callable_.identity_of_original)
    if effect is not None:
        _apply(effect, None, arguments, place)


_EFFECTS_BY_IDENTITY = {id(function): effect for function, effect in _FUNCTIONS.items()}


def _method_of_object(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _method(callable_.__self__, callable_.__name__, arguments, place)


def _method_of_class(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        _method(arguments[0], callable_.__name__, arguments[1:], place)


def _partial(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    inner = callable_.func
    if type(inner) in _CALLABLE_TYPES:
        _call(inner, _arguments_of_partial(callable_.args, arguments), place)


# Python 3.14 on: stands for an argument that the call of a partial gives.
_PLACEHOLDER: object = getattr(functools, "Placeholder", object())


def _arguments_of_partial(kept: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    missing = sum(argument is _PLACEHOLDER for argument in kept)
    filling = iter(given[:missing])
    filled = (next(filling, None) if each is _PLACEHOLDER else each for each in kept)
    return (*filled, *given[missing:])


def _cached(cache: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """The function of an ``lru_cache`` will be entered, unless its result is known."""
    hooks.whole(cache, True, place)
    # When the result is known, this stays until the next call: hence weakly.
    halfway.begin(hooks.telling_again(cache, True))


def _getter(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """``attrgetter``, ``itemgetter`` and ``methodcaller`` objects."""
    if not arguments:
        return
    target = arguments[0]
    _, details = callable_.__reduce__()[:2]
    if type(callable_) is operator.attrgetter:
        for path in details:
            if "." not in path:
                hooks.read_attribute(target, path, read_kinds(path), place)
    elif type(callable_) is operator.itemgetter:
        for key in details:
            hooks.read_item(target, key, place)
    elif type(details[0]) is str:
        method = look_up(type(target), details[0])
        if type(method) in (table.MethodDescriptor, table.WrapperDescriptor):
            _method(target, details[0], tuple(details[1:]), place)


_CALLS: dict[type, Callable[[Any, tuple[Any, ...], Place], None]] = {
    MethodType: _bound_method,
    type: _class,
    table.MethodWrapper: _method_of_object,
    table.MethodDescriptor: _method_of_class,
    table.WrapperDescriptor: _method_of_class,
    functools.partial: _partial,
    table.LruCacheWrapper: _cached,
    operator.attrgetter: _getter,
    operator.itemgetter: _getter,
    operator.methodcaller: _getter,
    Function: _replacement,
}
"""For each of the types :data:`~.builtins_table.CALLABLE_TYPES` but functions in C."""


def _method(owner: Any, name: str, arguments: tuple[Any, ...], place: Place) -> None:
    effect = _METHODS[type(owner)].get(name)
    if effect is not None:
        if effect is _PLAIN_WRITE and not KNOWN_DICTS:
            hooks.whole(owner, True, place)
        else:
            _apply(effect, owner, arguments, place)
    elif name in table.OBJECT_METHODS and arguments and type(arguments[0]) is str:
        attribute = arguments[0]
        is_write = name != "__getattribute__"
        kind = (raw_write_kind if is_write else raw_read_kind)(type(owner), attribute)
        if kind is not SKIP:
            hooks.tell_attribute(owner, attribute, kind, is_write, place)


def _apply(effect: table.Effect, owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Tell what a call does."""
    if effect.takes_owner_from_arguments:
        if not arguments:
            return
        owner = arguments[0]
        arguments = arguments[1:]
    consumed = [arguments[index] for index in effect.consumes if index < _length(arguments)]
    for argument in consumed:
        _consume(argument, place)
    _ACTIONS[effect.action](owner, arguments, place)
    if effect.calls_back:
        if effect.action is not table.NOTHING:
            halfway.begin(hooks.telling_again(owner, effect.action is table.WRITE))
        elif consumed and _CONTAINER[type(consumed[0])]:
            halfway.begin(hooks.telling_again(consumed[0], False))


def _nothing(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Only arguments are read."""


def _read(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    hooks.read_whole(owner, place)


def _write(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if _CONTAINER[type(owner)]:
        hooks.tell_whole(owner, True, place)
    else:
        hooks.whole(owner, True, place)


def _read_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        hooks.read_item(owner, arguments[0], place)


def _read_key(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    # Unlike a subscript it stores nothing in a defaultdict.
    if arguments:
        hooks.tell_item(owner, arguments[0], False, place)
    else:
        hooks.tell_whole(owner, False, place)


def _write_key(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        hooks.tell_item(owner, arguments[0], True, place)
    else:
        hooks.tell_whole(owner, True, place)


def _contains(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        contains(arguments[0], owner, place)


def _next(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if type(owner) in table.ITERATORS:
        _step(owner, place, 0)


def _iterate(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    iterate(owner, place)


def _consume_owner(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _consume(owner, place)


def _get_attribute(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and type(arguments[0]) is str:
        hooks.read_attribute(owner, arguments[0], read_kinds(arguments[0]), place)


def _set_attribute(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and type(arguments[0]) is str:
        note_stored(arguments[0])
        hooks.write_attribute(owner, arguments[0], write_kinds(arguments[0]), place)


def _vars(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    remember_dict(owner)


def _set_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        hooks.write_item(owner, arguments[0], place)


def _delete_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        hooks.delete_item(owner, arguments[0], place)


def _binary(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    binary(owner, arguments[0] if arguments else None, place)


def _binary_in_place(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    binary_in_place(owner, arguments[0] if arguments else None, place)


def _print(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    hooks.item(vars(sys), "stdout", False, place)
    _print_to(sys.stdout, place)


def _print_to(stream: Any, place: Place) -> None:
    # Nobody looks at what goes to a terminal, or to pytest, unless the test captures it.
    if keeps_text_for_the_test(stream):
        hooks.whole(stream, True, place)


_ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], None]] = {
    table.NOTHING: _nothing,
    table.READ: _read,
    table.WRITE: _write,
    table.READ_ITEM: _read_item,
    table.READ_KEY: _read_key,
    table.WRITE_KEY: _write_key,
    table.CONTAINS_ITEM: _contains,
    table.STEP: _next,
    table.ITERATE: _iterate,
    table.CONSUME: _consume_owner,
    table.GET_ATTRIBUTE: _get_attribute,
    table.SET_ATTRIBUTE: _set_attribute,
    table.VARS: _vars,
    table.SET_ITEM: _set_item,
    table.DELETE_ITEM: _delete_item,
    table.BINARY: _binary,
    table.BINARY_IN_PLACE: _binary_in_place,
    table.PRINT: _print,
    **files.ACTIONS,
}


CALLABLE_PLACES: dict[str, Place] = {}
"""The place of each C function that was passed on as a callable, by its name."""


def instrumented_callable(callable_: Callable[..., Any]) -> Callable[..., Any]:
    """A callable that tells its accesses when something else than rewritten code calls it.

    For thread targets and functions submitted to executors, such as ``items.append``. What is
    written in Python is returned as it is: its own code is rewritten.
    """
    if type(callable_) not in _CALLABLE_TYPES or issubclass(type(callable_), type):
        return callable_
    if type(callable_) is MethodType and type(callable_.__func__) is FunctionType:
        return callable_

    def run(*arguments: Any, **keywords: Any) -> Any:
        if hooks.active:
            _call(callable_, arguments, place)
        return callable_(*arguments, **keywords)

    halfway.note_caller(run.__code__)
    name = getattr(callable_, "__qualname__", None) or type(callable_).__qualname__
    known = CALLABLE_PLACES.get(name)
    if known is None:
        code = run.__code__.replace(co_name=name, co_qualname=name)
        known = CALLABLE_PLACES[name] = Place((code, 0))
    place = known
    return run
