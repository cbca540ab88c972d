"""What rewritten code calls just before it accesses data that tasks may share.

Each hook decides in a few dictionary look-ups whether the access can matter and tells the sink.
While no sink is set a hook returns at once. Hooks never perform the access themselves, so that an
exception raised by the access comes from the user's own line alone.

What is told, and as what:

- ``obj.name`` is ``attribute(obj, name)``. A read that falls through to a class attribute is told
  for the class where it is found and then for the instance: what is read depends on both.
- ``module.name`` and a global are ``item(module.__dict__, name)``.
- Items of an instance's ``__dict__``, got with ``vars(obj)`` or ``obj.__dict__``, are attributes.
- ``list``, ``deque``, ``bytearray`` and ``array`` items, mapping items and set members are
  ``item(container, key)``; everything that depends on or changes more than one item is ``whole``.
- Keys whose ``__hash__`` or ``__eq__`` is Python code are told as ``whole``: the sink must not run
  code of the tested program.
- Not told: immutable owners, methods found on the class, properties (their function is rewritten),
  ``threading.local``.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import weakref
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, Protocol

from bohrbug.accelerator import native, twin
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite.attributes import (
    CLASS_DATA,
    INSTANCE,
    INSTANCE_DICT,
    MODULE,
    SKIP,
    TYPE,
    Kinds,
    class_data_owner,
    forget_local_classes,
    forget_name,
    instance_dict,
    instance_has,
    look_up,
    raw_read_kind,
    raw_write_kind,
    read_kinds,
    write_kinds,
)
from bohrbug.runtime.threads.rewrite.place import Place


class AccessSink(Protocol):
    """What the runtime gives to be told of accesses; another task may run inside each call."""

    def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
        """``owner.name`` is about to be read or written."""

    def item(self, owner: object, key: object, is_write: bool, place: Place) -> None:
        """``owner[key]`` is about to be read or written; for globals the owner is their dict."""

    def whole(self, owner: object, is_write: bool, place: Place) -> None:
        """Something that depends on all of ``owner`` is about to be read or written."""

    def breaker(self) -> None:
        """A GIL build could switch threads here."""


AttributeTeller = Callable[[object, str, bool, Place], None]
ItemTeller = Callable[[object, object, bool, Place], None]
WholeTeller = Callable[[object, bool, Place], None]


def _ignore(*_: object) -> None:
    """Told while no sink is set, if at all."""


# A test may put something else in the place of the builtin.
_length = len

_active = False
_attribute: AttributeTeller = _ignore
_item: ItemTeller = _ignore
_whole: WholeTeller = _ignore
_breaker: Callable[[], None] = _ignore


def set_sink(sink: AccessSink | None) -> None:
    """Tell accesses to ``sink`` from now on; ``None`` for nobody."""
    global _active, _attribute, _item, _whole, _breaker, _expected
    _expected = None
    if native is not None:
        native.set_sink(sink)
    if sink is None:
        _active = False
        _attribute = _item = _whole = _breaker = _ignore
        forget_local_classes()
        return
    _attribute = sink.attribute
    _item = sink.item
    _whole = sink.whole
    _breaker = getattr(sink, "breaker", _ignore)
    _active = True


class Globals:
    """A module's namespace as a constant of rewritten code; hashable, unlike the dict."""

    __slots__ = ("namespace",)

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace


# --- Instance dicts ------------------------------------------------------------------------------

_DICT_OWNERS: dict[int, weakref.ref[Any]] = {}
_DICT_OWNERS_LIMIT = 4096


def _remember_dict(owner: Any) -> None:
    """Note whose ``__dict__`` it is that the program is about to get hold of."""
    if issubclass(type(owner), (type, ModuleType)):
        return
    namespace = instance_dict(owner)
    if namespace is None:
        return
    try:
        reference = weakref.ref(owner)
    except TypeError:
        return
    if _length(_DICT_OWNERS) >= _DICT_OWNERS_LIMIT:
        del _DICT_OWNERS[next(iter(_DICT_OWNERS))]
    _DICT_OWNERS[id(namespace)] = reference


def _owner_of_dict(namespace: dict[Any, Any]) -> Any:
    reference = _DICT_OWNERS.get(id(namespace))
    if reference is None:
        return None
    owner = reference()
    if owner is not None and instance_dict(owner) is namespace:
        return owner
    del _DICT_OWNERS[id(namespace)]
    return None


# --- Telling -------------------------------------------------------------------------------------


def _tell_item(owner: Any, key: Any, is_write: bool, place: Place) -> None:
    """An item of a mapping or a set."""
    if _DICT_OWNERS and id(owner) in _DICT_OWNERS:
        holder = _owner_of_dict(owner)
        if holder is not None:
            if type(key) is str:
                _attribute(holder, key, is_write, place)
            else:
                _whole(holder, is_write, place)
            return
    if type(key) is str or table.is_plain_key(key):
        _item(owner, key, is_write, place)
    else:
        _whole(owner, is_write, place)


def _tell_index(owner: Any, key: Any, is_write: bool, place: Place) -> None:
    """An item of a sequence."""
    if type(key) is int:
        _item(owner, key if key >= 0 else key + _length(owner), is_write, place)
    else:
        _whole(owner, is_write, place)


def _tell_whole(owner: Any, is_write: bool, place: Place) -> None:
    """A container; a view of a dict stands for the dict."""
    if type(owner) in table.VIEWS:
        for underlying in gc.get_referents(owner):
            _tell_whole(underlying, is_write, place)
        return
    if type(owner) is memoryview:
        _whole(owner.obj, is_write, place)
        return
    if _DICT_OWNERS and id(owner) in _DICT_OWNERS:
        holder = _owner_of_dict(owner)
        if holder is not None:
            _whole(holder, is_write, place)
            return
    _whole(owner, is_write, place)


def _tell_attribute(owner: Any, name: str, kind: object, is_write: bool, place: Place) -> None:
    """An attribute of a kind other than :data:`INSTANCE` and :data:`SKIP`."""
    if kind is CLASS_DATA:
        if not instance_has(owner, name):
            found = class_data_owner(type(owner), name)
            if found is not None:
                _attribute(found, name, False, place)
        _attribute(owner, name, is_write, place)
    elif kind is INSTANCE:
        _attribute(owner, name, is_write, place)
    elif kind is MODULE:
        namespace = instance_dict(owner)
        if namespace is not None and (
            is_write or type(namespace.get(name)) not in table.CODE_TYPES
        ):
            _item(namespace, name, is_write, place)
    elif kind is TYPE:
        if is_write:
            forget_name(name)
            _attribute(owner, name, True, place)
        else:
            found = class_data_owner(owner, name)
            if found is not None:
                _attribute(found, name, False, place)
    elif kind is INSTANCE_DICT:
        _remember_dict(owner)


# --- Hooks of attributes, globals and cells ------------------------------------------------------


@twin
def read_attribute(owner: Any, name: str, kinds: Kinds, place: Place) -> None:
    """``owner.name`` is about to be loaded."""
    if _active:
        kind = kinds[type(owner)]
        if kind is INSTANCE:
            _attribute(owner, name, False, place)
        elif kind is not SKIP:
            _tell_attribute(owner, name, kind, False, place)


@twin
def write_attribute(owner: Any, name: str, kinds: Kinds, place: Place) -> None:
    """``owner.name`` is about to be stored or deleted."""
    if _active:
        kind = kinds[type(owner)]
        if kind is INSTANCE:
            _attribute(owner, name, True, place)
        elif kind is not SKIP:
            _tell_attribute(owner, name, kind, True, place)


def read_super_attribute(class_: Any, owner: Any, name: str, place: Place) -> None:
    """``super(class_, owner).name`` is about to be loaded."""
    if _active and issubclass(type(class_), type):
        start = owner if issubclass(type(owner), type) else type(owner)
        found = class_data_owner(start, name, behind=class_)
        if found is not None:
            _attribute(found, name, False, place)


@twin
def read_global(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be loaded."""
    if _active:
        _item(scope.namespace, name, False, place)


@twin
def write_global(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be stored or deleted."""
    if _active:
        _item(scope.namespace, name, True, place)


@twin
def read_cell(cell: Any, place: Place) -> None:
    """A variable that closures share is about to be loaded."""
    if _active:
        _whole(cell, False, place)


@twin
def write_cell(cell: Any, place: Place) -> None:
    """A variable that closures share is about to be stored or deleted."""
    if _active:
        _whole(cell, True, place)


# --- Functions that C code calls halfway ---------------------------------------------------------

# The code object of a function that C code is expected to enter between looking at a variable and
# storing it, and how to tell of it: ``lru_cache`` and the factory of a ``defaultdict`` store what
# the function returns.
_expected: tuple[CodeType, Callable[[Place], None]] | None = None


def enter(place: Place) -> None:
    """A function begins; told only if C code calls it in the middle of an access."""
    if _expected is not None:
        _enter(place)


def _enter(place: Place) -> None:
    global _expected
    assert _expected is not None
    code, tell = _expected
    _expected = None
    # The frames of this function and of the hook lie above the one that begins.
    if sys._getframe(2).f_code is code:
        tell(place)


def _expect_computation(cache: Any) -> None:
    """The function of an ``lru_cache`` will be entered, unless its result is known."""
    global _expected
    function = cache.__dict__.get("__wrapped__")
    if type(function) is FunctionType:
        # Weak: when the result is known, this stays for a while.
        reference = weakref.ref(cache)

        def tell(place: Place) -> None:
            owner = reference()
            if owner is not None:
                _whole(owner, True, place)

        _expected = (function.__code__, tell)


def _expect_factory(owner: Any, key: Any) -> None:
    """The factory of a ``defaultdict`` will be entered, as the key is missing."""
    global _expected
    factory = _factory_of(owner)
    if type(factory) is FunctionType:
        _expected = (factory.__code__, lambda place: _tell_item(owner, key, True, place))


_factory_of: Callable[[Any], Any] = vars(collections.defaultdict)["default_factory"].__get__


# --- Hooks of subscripts and operators -----------------------------------------------------------

_GETITEM = table.GETITEM
_SETITEM = table.SETITEM
_SEQUENCE = table.SEQUENCE
_MAPPING = table.MAPPING
_CONTAINER = table.CONTAINER
_SCALARS = frozenset({int, float, str, bool, bytes, complex})


@twin
def read_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be loaded."""
    if _active:
        family = _GETITEM[type(owner)]
        if family is not None:
            if (family is _SEQUENCE and type(key) is int and key >= 0) or (
                family is _MAPPING and type(key) is str and not _DICT_OWNERS
            ):
                _item(owner, key, False, place)
            else:
                _subscript(owner, key, family, False, place)


@twin
def write_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be stored."""
    if _active:
        family = _SETITEM[type(owner)]
        if family is not None:
            if (family is _SEQUENCE and type(key) is int and key >= 0) or (
                family is _MAPPING and type(key) is str and not _DICT_OWNERS
            ):
                _item(owner, key, True, place)
            else:
                _subscript(owner, key, family, True, place)


def delete_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be deleted."""
    if _active:
        family = table.DELITEM[type(owner)]
        if family is table.MAPPING or family is table.DEFAULT_MAPPING:
            _tell_item(owner, key, True, place)
        elif family is not None:
            _tell_whole(owner, True, place)


def _subscript(owner: Any, key: Any, family: object, is_write: bool, place: Place) -> None:
    if family is table.MAPPING:
        _tell_item(owner, key, is_write, place)
    elif family is table.SEQUENCE:
        _tell_index(owner, key, is_write, place)
    elif family is table.DEFAULT_MAPPING:
        # Reading a key that is missing stores it.
        is_plain = table.is_plain_key(key)
        missing = is_plain and not is_write and not dict.__contains__(owner, key)
        _tell_item(owner, key, is_write or missing, place)
        # Another task may have stored it in the meantime.
        if missing and not dict.__contains__(owner, key):
            _expect_factory(owner, key)
    else:
        _tell_whole(owner, is_write, place)


def read_slice(owner: Any, place: Place) -> None:
    """``owner[a:b]`` is about to be loaded."""
    if _active and table.GETITEM[type(owner)] is not None:
        _tell_whole(owner, False, place)


def write_slice(owner: Any, place: Place) -> None:
    """``owner[a:b]`` is about to be stored."""
    if _active and table.SETITEM[type(owner)] is not None:
        _tell_whole(owner, True, place)


def contains(key: Any, owner: Any, place: Place) -> None:
    """``key in owner`` is about to be computed."""
    if _active:
        family = table.CONTAINS[type(owner)]
        if family is None:
            if type(owner) in table.ITERATORS:
                _step(owner, place, 0)
        elif family is table.SEQUENCE or family is table.OTHER:
            _tell_whole(owner, False, place)
        else:
            _tell_item(owner, key, False, place)


def read_whole(owner: Any, place: Place) -> None:
    """The truth, length, text or all items of ``owner`` are about to be computed."""
    if _active and _CONTAINER[type(owner)]:
        _tell_whole(owner, False, place)


def binary(left: Any, right: Any, place: Place) -> None:
    """A comparison or a binary operator is about to be computed."""
    if _active:
        if type(left) is type(right) and type(left) in _SCALARS:
            return
        if _CONTAINER[type(left)]:
            _tell_whole(left, False, place)
        if _CONTAINER[type(right)]:
            _tell_whole(right, False, place)


def binary_in_place(left: Any, right: Any, place: Place) -> None:
    """``left += right`` or its like is about to be computed; it may change ``left``."""
    if _active:
        if type(left) is type(right) and type(left) in _SCALARS:
            return
        if type(right) in table.ITERATORS or _CONTAINER[type(right)]:
            _consume(right, place)
        if _CONTAINER[type(left)]:
            _tell_whole(left, True, place)


# --- Hooks of iteration --------------------------------------------------------------------------


# References to an iterator that nobody but the loop holds: the stack of the looping frame, the
# parameter of the hook, the argument of getrefcount.
_UNSHARED = 3


def iterate(owner: Any, place: Place) -> None:
    """``iter(owner)`` is about to be made; a list is first looked at by the first step."""
    if _active and type(owner) is not list and _CONTAINER[type(owner)]:
        _tell_whole(owner, False, place)


def consume(owner: Any, place: Place) -> None:
    """All items of ``owner`` are about to be read in one go."""
    if _active:
        _consume(owner, place)


def _consume(owner: Any, place: Place) -> None:
    if _CONTAINER[type(owner)]:
        _tell_whole(owner, False, place)
    elif type(owner) in table.ITERATORS:
        _step(owner, place, 0)


def step(iterator: Any, place: Place) -> None:
    """The next item of ``iterator`` is about to be asked for."""
    if _active and type(iterator) in table.ITERATORS:
        _step_into(iterator, place, 0)
        if sys.getrefcount(iterator) > _UNSHARED:
            _whole(iterator, True, place)


def step_of_comprehension(iterator: Any, place: Place) -> None:
    """The next item is about to be asked for by a comprehension, whose parameter it is as well."""
    if _active and type(iterator) in table.ITERATORS:
        _step_into(iterator, place, 0)
        if sys.getrefcount(iterator) > _UNSHARED + 1:
            _whole(iterator, True, place)


def _step(iterator: Any, place: Place, depth: int) -> None:
    _step_into(iterator, place, depth)
    _whole(iterator, True, place)


def _step_into(iterator: Any, place: Place, depth: int) -> None:
    """What lies under an iterator that C code advances: containers and further iterators."""
    role = table.ITERATORS[type(iterator)]
    if role is table.OVER_NOTHING:
        return
    for referent in gc.get_referents(iterator):
        class_ = type(referent)
        if role is table.OVER_CONTAINER:
            if _CONTAINER[class_]:
                _tell_whole(referent, False, place)
        elif class_ in table.ITERATORS and depth < 4:
            _step_into(referent, place, depth + 1)
            # The iterator below it, the list of referents, the loop and the call hold it.
            if sys.getrefcount(referent) > 4:
                _whole(referent, True, place)
        elif class_ is tuple and depth < 4:
            # Not the tuple itself: zip_longest leaves holes in it that crash who looks at them.
            for inner in gc.get_referents(referent):
                if type(inner) in table.ITERATORS:
                    _step_into(inner, place, depth + 1)
                    if sys.getrefcount(inner) > 4:
                        _whole(inner, True, place)
        elif class_ is BuiltinFunctionType and type(referent.__self__) is not ModuleType:
            _call(referent, (), place)


# --- Hooks of calls ------------------------------------------------------------------------------

_CALLABLE_TYPES = table.CALLABLE_TYPES
_FUNCTIONS = table.FUNCTIONS
_METHODS = table.METHODS
_PLAIN_WRITE = table.PLAIN_WRITE


def call0(callable_: Any, place: Place) -> None:
    """``callable_()`` is about to be called."""
    if _active:
        class_ = type(callable_)
        if class_ is MethodType and type(callable_.__func__) is FunctionType:
            return
        if class_ in _CALLABLE_TYPES:
            _call(callable_, (), place)


def call1(callable_: Any, first: Any, place: Place) -> None:
    """``callable_`` is about to be called with one positional argument."""
    if _active:
        class_ = type(callable_)
        if class_ is MethodType and type(callable_.__func__) is FunctionType:
            return
        if class_ in _CALLABLE_TYPES:
            _call(callable_, (first,), place)


def call2(callable_: Any, first: Any, second: Any, place: Place) -> None:
    """``callable_`` is about to be called with two positional arguments."""
    if _active:
        class_ = type(callable_)
        if class_ is MethodType and type(callable_.__func__) is FunctionType:
            return
        if class_ in _CALLABLE_TYPES:
            _call(callable_, (first, second), place)


def call3(callable_: Any, first: Any, second: Any, third: Any, place: Place) -> None:
    """``callable_`` is about to be called with three positional arguments or more."""
    if _active:
        class_ = type(callable_)
        if class_ is MethodType and type(callable_.__func__) is FunctionType:
            return
        if class_ in _CALLABLE_TYPES:
            _call(callable_, (first, second, third), place)


def call_star(callable_: Any, arguments: Any, place: Place) -> None:
    """``callable_(*arguments)`` is about to be called."""
    if _active:
        if type(arguments) is not tuple:
            _consume(arguments, place)
        if type(callable_) in _CALLABLE_TYPES:
            _call(callable_, tuple(arguments) if type(arguments) in (tuple, list) else (), place)


def breaker() -> None:
    """A GIL build could switch threads here."""
    _breaker()


def _call(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """A call of something that may be implemented in C."""
    class_ = type(callable_)
    if class_ is MethodType:
        inner = callable_.__func__
        if type(inner) is not FunctionType and type(inner) in _CALLABLE_TYPES:
            _call(inner, (callable_.__self__, *arguments), place)
    elif class_ is BuiltinFunctionType:
        owner = callable_.__self__
        if type(owner) is ModuleType:
            effect = _FUNCTIONS.get(callable_)
            if effect is not None:
                _apply(effect, None, arguments, place)
        else:
            _method(owner, callable_.__name__, arguments, place)
    elif class_ is type:
        if callable_ in table.CONSTRUCTORS:
            for argument in arguments[table.CONSTRUCTORS[callable_] :]:
                _consume(argument, place)
    elif class_ is table.MethodWrapper:
        _method(callable_.__self__, callable_.__name__, arguments, place)
    elif class_ is table.MethodDescriptor or class_ is table.WrapperDescriptor:
        if arguments:
            _method(arguments[0], callable_.__name__, arguments[1:], place)
    elif class_ is functools.partial:
        inner = callable_.func
        if type(inner) in _CALLABLE_TYPES:
            _call(inner, callable_.args + arguments, place)
    elif class_ is table.LruCacheWrapper:
        _whole(callable_, True, place)
        _expect_computation(callable_)
    elif arguments:
        _getter(callable_, arguments[0], place)


def _getter(callable_: Any, target: Any, place: Place) -> None:
    """``attrgetter``, ``itemgetter`` and ``methodcaller`` objects."""
    _, details = callable_.__reduce__()[:2]
    if type(callable_) is table.AttrGetter:
        for path in details:
            if "." not in path:
                read_attribute(target, path, read_kinds(path), place)
    elif type(callable_) is table.ItemGetter:
        for key in details:
            read_item(target, key, place)
    elif type(details[0]) is str:
        method = look_up(type(target), details[0])
        if type(method) in (table.MethodDescriptor, table.WrapperDescriptor):
            _method(target, details[0], tuple(details[1:]), place)


def _method(owner: Any, name: str, arguments: tuple[Any, ...], place: Place) -> None:
    effect = _METHODS[type(owner)].get(name)
    if effect is not None:
        if effect is _PLAIN_WRITE and not _DICT_OWNERS:
            _whole(owner, True, place)
        else:
            _apply(effect, owner, arguments, place)
    elif name in table.OBJECT_METHODS and arguments and type(arguments[0]) is str:
        attribute = arguments[0]
        is_write = name != "__getattribute__"
        kind = (raw_write_kind if is_write else raw_read_kind)(type(owner), attribute)
        if kind is not SKIP:
            _tell_attribute(owner, attribute, kind, is_write, place)


def _apply(effect: table.Effect, owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Tell what a call does."""
    if effect.takes_owner_from_arguments:
        if not arguments:
            return
        owner = arguments[0]
        arguments = arguments[1:]
    for index in effect.consumes:
        if index < _length(arguments):
            _consume(arguments[index], place)
    _ACTIONS[effect.action](owner, arguments, place)


def _nothing(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Only arguments are read."""


def _read(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    read_whole(owner, place)


def _write(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if _CONTAINER[type(owner)]:
        _tell_whole(owner, True, place)
    else:
        _whole(owner, True, place)


def _read_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        read_item(owner, arguments[0], place)


def _read_key(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    # Unlike a subscript it stores nothing in a defaultdict.
    if arguments:
        _tell_item(owner, arguments[0], False, place)
    else:
        _tell_whole(owner, False, place)


def _write_key(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        _tell_item(owner, arguments[0], True, place)
    else:
        _tell_whole(owner, True, place)


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
        read_attribute(owner, arguments[0], read_kinds(arguments[0]), place)


def _set_attribute(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and type(arguments[0]) is str:
        write_attribute(owner, arguments[0], write_kinds(arguments[0]), place)


def _vars(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _remember_dict(owner)


def _set_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        write_item(owner, arguments[0], place)


def _delete_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        delete_item(owner, arguments[0], place)


def _binary(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    binary(owner, arguments[0] if arguments else None, place)


def _binary_in_place(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    binary_in_place(owner, arguments[0] if arguments else None, place)


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
        if _active:
            _call(callable_, arguments, place)
        return callable_(*arguments, **keywords)

    name = getattr(callable_, "__qualname__", None) or type(callable_).__qualname__
    known = CALLABLE_PLACES.get(name)
    if known is None:
        code = run.__code__.replace(co_name=name, co_qualname=name)
        known = CALLABLE_PLACES[name] = Place((code, 0))
    place = known
    return run


if native is not None:
    native.use_hooks(
        Globals,
        INSTANCE,
        SKIP,
        _tell_attribute,
        _subscript,
        _GETITEM,
        _SETITEM,
        _MAPPING,
        _SEQUENCE,
        _DICT_OWNERS,
    )
