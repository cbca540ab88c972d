"""What rewritten code calls just before it accesses data that tasks may share.

Here are the accesses that an instruction makes itself; those that it has code in C make for it are
in :mod:`.c_code`.

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

import builtins
import collections
import decimal
import gc
import mmap
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Protocol

from bohrbug.accelerator import native, with_fast_path
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import (
    delegates,
    errors,
    families,
    halfway,
    lives,
    memory,
    parts,
)
from bohrbug.runtime.threads.rewrite.attributes import (
    BY_GETTER,
    CLASS_DATA,
    COMPUTED,
    IN_DICT,
    INSTANCE,
    INSTANCE_DICT,
    MEMORY,
    MODULE,
    OF_CLASS,
    PART_OF_ERROR,
    PRIMITIVE,
    PROXY,
    SKIP,
    SUPER,
    TYPE,
    WHOLE,
    Kinds,
    class_data_owner,
    class_owners,
    forget_name,
    instance_dict,
    instance_has,
    is_in_dict,
    is_stored,
    note_new_on_class,
    read_kinds,
    write_kinds,
)
from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    class_may_change,
    forget_local_classes,
    look_up,
    order_of,
)
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.instance_dicts import (
    KNOWN_DICTS,
    let_owners_go,
    owner_of_dict,
    remember_dict,
)
from bohrbug.runtime.threads.rewrite.mappings import behind_mapping
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.themselves import ONLY_THEMSELVES


class AccessSink(Protocol):
    """What the runtime gives to be told of accesses; another task may run inside each call."""

    def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
        """``owner.name`` is about to be read or written."""

    def item(self, owner: object, key: object, is_write: bool, place: Place) -> None:
        """``owner[key]`` is about to be read or written; for globals the owner is their dict."""

    def whole(self, owner: object, is_write: bool, place: Place) -> None:
        """Something that depends on all of ``owner`` is about to be read or written."""

    def join(self, place: Place) -> bool:
        """What is told from here on is one step; false if it is none, or part of one already."""

    def announced(self) -> None:
        """All that belongs to the step was told, and is told again, to be done."""

    def part(self) -> None:
        """Each access that is told is a step of its own again."""

    def breaker(self) -> None:
        """A GIL build could switch threads here."""


AttributeTeller = Callable[[object, str, bool, Place], None]
ItemTeller = Callable[[object, object, bool, Place], None]
WholeTeller = Callable[[object, bool, Place], None]


def _ignore(*_: object) -> None:
    """Told while no sink is set, if at all."""


def _do_not_join(place: Place) -> bool:
    return False


# A test may put something else in the place of the builtin.
_length = len

# What the sink that is set is told with; look them up here each time, as they change.
active = False
attribute: AttributeTeller = _ignore
item: ItemTeller = _ignore
whole: WholeTeller = _ignore
_sink: AccessSink | None = None
_join: Callable[[Place], bool] = _do_not_join
_announced: Callable[[], None] = _ignore
_part: Callable[[], None] = _ignore
_breaker: Callable[[], None] = _ignore


def set_sink(sink: AccessSink | None) -> None:
    """Tell accesses to ``sink`` from now on; ``None`` for nobody."""
    global active, attribute, item, whole, _sink, _join, _announced, _part, _breaker
    _sink = sink
    halfway.intervals.clear()
    if native is not None:
        native.set_sink(sink)
    if sink is None:
        active = False
        attribute = item = whole = _announced = _part = _breaker = _ignore
        _join = _do_not_join
        forget_local_classes()
        let_owners_go()
        return
    attribute = sink.attribute
    item = sink.item
    whole = sink.whole
    _join = getattr(sink, "join", _do_not_join)
    _announced = getattr(sink, "announced", _ignore)
    _part = getattr(sink, "part", _ignore)
    _breaker = getattr(sink, "breaker", _ignore)
    active = True


def passes_on() -> bool:
    """Whether what is told comes to anybody: not before there is a second task."""
    return _sink is not None and getattr(_sink, "passes_on", True)


class Globals:
    """A module's namespace as a constant of rewritten code; hashable, unlike the dict."""

    __slots__ = ("namespace",)

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace


# --- Telling -------------------------------------------------------------------------------------


def in_one_step(place: Place, tell: Callable[..., Any], *arguments: Any) -> Any:
    """Tell accesses that happen at once.

    Code in C that looks at several objects is not interrupted in between: were each access a step,
    a schedule in which another task changes what was told already, and is not yet read, would be
    taken for one in which the old value was read.

    Parameters:
        place: of the accesses.
        tell: tells of them; called twice if they are a step: as what is accessed is called by
            the task that comes to it first, it has to be known before others may run.
        arguments: what ``tell`` is called with.

    Returns:
        What ``tell`` returned in the end.
    """
    if not _join(place):
        return tell(*arguments)
    try:
        tell(*arguments)
        _announced()
        return tell(*arguments)
    finally:
        _part()


def _tell_at_once(tells: list[halfway.Tell], place: Place) -> None:
    in_one_step(place, halfway.in_turn(tells), place)


halfway.Called.tell_at_once = staticmethod(_tell_at_once)


def tell_item(owner: Any, key: Any, is_write: bool, place: Place) -> None:
    """An item of a mapping or a set."""
    if KNOWN_DICTS and id(owner) in KNOWN_DICTS:
        holder = owner_of_dict(owner)
        if holder is not None:
            if type(key) is str:
                attribute(holder, key, is_write, place)
            else:
                whole(holder, is_write, place)
            return
    if type(key) is str or table.is_plain_key(key):
        item(owner, key, is_write, place)
    else:
        # Hashing and comparing it may run Python code.
        whole(owner, is_write, place)
        halfway.begin(telling_again(owner, is_write))


def telling_again(owner: Any, is_write: bool) -> Callable[[Place], None]:
    """What tells of a whole object again, if it is still there.

    Parameters:
        owner: referred to weakly, if it can be.
        is_write: whether it is changed.
    """
    return halfway.telling(owner, lambda found, place: tell_whole(found, is_write, place))


def telling_all_again(owners: list[Any]) -> Callable[[Place], None]:
    """The same for several iterators, generators and coroutines that go on."""
    return halfway.in_turn([halfway.telling(owner, _going_on) for owner in owners])


def _going_on(owner: Any, place: Place) -> None:
    whole(owner, True, place)


def _tell_index(owner: Any, key: Any, is_write: bool, place: Place) -> None:
    """An item of a sequence."""
    if type(key) is int:
        item(owner, key if key >= 0 else key + _length(owner), is_write, place)
    else:
        whole(owner, is_write, place)
        # Which index it is, it may say in code of its own.
        halfway.begin(telling_again(owner, is_write))


def tell_whole(owner: Any, is_write: bool, place: Place) -> None:
    """A container; a view stands for what it shows: that of a dict, a piece of an array."""
    if not ONLY_THEMSELVES[type(owner)]:
        meant = _tell_what_it_stands_for(owner, is_write, place)
        if meant is None:
            return
        owner, is_write = meant
    if KNOWN_DICTS and id(owner) in KNOWN_DICTS:
        holder = owner_of_dict(owner)
        if holder is not None:
            whole(holder, is_write, place)
            return
    whole(owner, is_write, place)


def _tell_what_it_stands_for(owner: Any, is_write: bool, place: Place) -> tuple[Any, bool] | None:
    """What is still to be told as a whole, and whether as a write; ``None`` if nothing is."""
    if type(owner) in families.VIEWS:
        for underlying in gc.get_referents(owner):
            tell_whole(underlying, is_write, place)
        return None
    if type(owner) is memoryview:
        for shown in memory.shown_by(owner):
            if shown is owner:
                whole(owner, is_write, place)
            else:
                tell_whole(shown, is_write, place)
        return None
    if type(owner) is mmap.mmap:
        owner = behind_mapping(owner)
    if families.GETITEM[type(owner)] is families.MEMORY:
        tell_memory((memory.whole(owner, is_write),), place)
        return None
    if type(owner) in lives.PROXIES:
        whole(lives.read(owner, place), False, place)
        target = lives.target_of(owner)
        if families.CONTAINER[type(target)]:
            tell_whole(target, is_write, place)
        return None
    asked = delegates.DELEGATES[type(owner)]
    if asked is not None:
        in_one_step(place, _tell_delegates, asked, place)
        return None
    if type(owner) in parts.PARTS:
        return parts.whole_of(owner, place), is_write
    if FOREIGN[type(owner)]:
        return families.memory_of(owner), is_write
    if issubclass(type(owner), decimal.Decimal):
        # It never changes. But what is computed with it raises flags in the context.
        return _context_of_decimals(), True
    return owner, is_write


def _tell_delegates(asked: delegates.Delegates, place: Place) -> None:
    for function in asked.functions:
        halfway.Called.tell(function, (), place)
    for thing in asked.gone_through:
        read_whole(thing, place)


_context_of_decimals = decimal.getcontext


def tell_memory(accesses: Iterable[memory.Access], place: Place) -> None:
    """What ``ctypes`` objects access."""
    in_one_step(place, _tell_memory, tuple(accesses), place)


def _tell_memory(accesses: tuple[memory.Access, ...], place: Place) -> None:
    for owner, key, is_write in accesses:
        if key is None:
            whole(owner, is_write, place)
        else:
            item(owner, key, is_write, place)


def read_class(owner: Any, place: Place) -> None:
    """It matters of which class an object is."""
    if is_stored("__class__") and class_may_change(type(owner)):
        attribute(owner, "__class__", False, place)
    _read_bases(type(owner), place)


def _read_bases(class_: type, place: Place) -> None:
    """Where attributes are found depends on the bases of a class, and of these."""
    if is_stored("__bases__"):
        for base in order_of(class_):
            if class_may_change(base):
                attribute(base, "__bases__", False, place)


def tell_attribute(owner: Any, name: str, kind: object, is_write: bool, place: Place) -> None:
    """An attribute of a kind other than :data:`INSTANCE` and :data:`SKIP`."""
    if kind is CLASS_DATA:
        in_one_step(place, _tell_class_data, owner, name, is_write, place)
    elif kind is INSTANCE:
        if is_in_dict(type(owner), name):
            in_one_step(place, _tell_instance, owner, name, is_write, place)
        else:
            attribute(owner, name, is_write, place)
    elif kind is MODULE:
        namespace = instance_dict(owner)
        if namespace is not None and (
            is_write or type(namespace.get(name)) not in table.CODE_TYPES or is_stored(name)
        ):
            item(namespace, name, is_write, place)
    elif kind is TYPE:
        if is_write:
            note_new_on_class(owner, name)
            forget_name(name)
            attribute(owner, name, True, place)
        else:
            in_one_step(place, _tell_class_attribute, owner, name, place)
    elif kind is IN_DICT:
        in_one_step(place, _tell_instance, owner, name, is_write, place)
    elif kind is INSTANCE_DICT:
        get_dict(owner, place)
    elif kind is BY_GETTER:
        halfway.Called.tell(look_up(type(owner), name).fget, (owner,), place)
    elif kind is PRIMITIVE:
        if not parts.note(owner):
            Inspecting.tell(owner, name, is_write, place)
    elif kind is OF_CLASS[SKIP]:
        read_class(owner, place)
    elif kind is OF_CLASS[CLASS_DATA]:
        in_one_step(place, _tell_class_and_data, owner, name, is_write, place)
    elif kind is MEMORY:
        descriptor = look_up(type(owner), name)
        tell_memory(memory.attribute(owner, name, descriptor, is_write), place)
    elif kind is WHOLE:
        if type(owner) is mmap.mmap:
            owner = behind_mapping(owner)
        whole(owner, is_write, place)
    elif kind is COMPUTED:
        # Reading it computes it, unless that was done before; by a function that others may enter.
        attribute(owner, name, True, place)
        halfway.begin(
            halfway.telling(owner, lambda found, place: attribute(found, name, True, place))
        )
    elif kind is PART_OF_ERROR:
        attribute(errors.stand_in(owner), name, is_write, place)
    elif kind is SUPER:
        read_super_attribute(_class_of_super(owner), _object_of_super(owner), name, place)
    elif kind is PROXY:
        # Its object is not kept alive meanwhile: another task may end it.
        whole(lives.read(owner, place), False, place)
        target = lives.target_of(owner)
        if is_write:
            write_attribute(target, name, write_kinds(name), place)
        else:
            read_attribute(target, name, read_kinds(name), place)


# --- Hooks of attributes, globals and cells ------------------------------------------------------


@with_fast_path
def read_attribute(owner: Any, name: str, kinds: Kinds, place: Place) -> None:
    """``owner.name`` is about to be loaded."""
    if active:
        kind = kinds[type(owner)]
        if kind is INSTANCE:
            attribute(owner, name, False, place)
        elif kind is not SKIP:
            tell_attribute(owner, name, kind, False, place)


@with_fast_path
def write_attribute(owner: Any, name: str, kinds: Kinds, place: Place) -> None:
    """``owner.name`` is about to be stored or deleted."""
    if active:
        kind = kinds[type(owner)]
        if kind is INSTANCE:
            attribute(owner, name, True, place)
        elif kind is not SKIP:
            tell_attribute(owner, name, kind, True, place)


_class_of_super: Callable[[Any], Any] = vars(super)["__thisclass__"].__get__
_object_of_super: Callable[[Any], Any] = vars(super)["__self__"].__get__


def read_super_attribute(class_: Any, owner: Any, name: str, place: Place) -> None:
    """``super(class_, owner).name`` is about to be loaded."""
    if active and issubclass(type(class_), type):
        start = owner if issubclass(type(owner), type) else type(owner)
        found = class_data_owner(start, name, behind=class_)
        if found is not None:
            attribute(found, name, False, place)


@with_fast_path
def read_global(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be loaded."""
    if active:
        item(scope.namespace, name, False, place)


_BUILTINS = vars(builtins)


def read_builtin(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be loaded that is a builtin, unless the module has got one by now."""
    if active:
        in_one_step(place, _tell_builtin, scope.namespace, name, place)


def _tell_builtin(namespace: dict[str, Any], name: str, place: Place) -> None:
    item(namespace, name, False, place)
    item(_BUILTINS, name, False, place)


@with_fast_path
def write_global(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be stored or deleted."""
    if active:
        item(scope.namespace, name, True, place)


@with_fast_path
def read_cell(cell: Any, place: Place) -> None:
    """A variable that closures share is about to be loaded."""
    if active:
        whole(cell, False, place)


@with_fast_path
def write_cell(cell: Any, place: Place) -> None:
    """A variable that closures share is about to be stored or deleted."""
    if active:
        whole(cell, True, place)


# --- Hooks of subscripts -------------------------------------------------------------------------

_factory_of: Callable[[Any], Any] = vars(collections.defaultdict)["default_factory"].__get__

_GETITEM = families.GETITEM
_SETITEM = families.SETITEM
_SEQUENCE = families.SEQUENCE
_MAPPING = families.MAPPING
_CONTAINER = families.CONTAINER


@with_fast_path
def read_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be loaded."""
    if active:
        family = _GETITEM[type(owner)]
        if family is not None:
            if (family is _SEQUENCE and type(key) is int and key >= 0) or (
                family is _MAPPING and type(key) is str and not KNOWN_DICTS
            ):
                item(owner, key, False, place)
            else:
                subscript(owner, key, family, False, place)


@with_fast_path
def write_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be stored."""
    if active:
        family = _SETITEM[type(owner)]
        if family is not None:
            if (family is _SEQUENCE and type(key) is int and key >= 0) or (
                family is _MAPPING and type(key) is str and not KNOWN_DICTS
            ):
                item(owner, key, True, place)
            else:
                subscript(owner, key, family, True, place)


def delete_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be deleted."""
    if active:
        delete_in(families.DELITEM[type(owner)], owner, key, place)


def delete_in(family: object, owner: Any, key: Any, place: Place) -> None:
    """An item of a container of a family is about to be deleted."""
    if family is families.MAPPING or family is families.DEFAULT_MAPPING:
        tell_item(owner, key, True, place)
    elif family is families.DELEGATED:
        delegates.tell(owner, "__delitem__", (key,), place)
    elif family is not None:
        tell_whole(owner, True, place)


def _tell_class_data(owner: Any, name: str, is_write: bool, place: Place) -> None:
    if not instance_has(owner, name):
        _tell_class_attribute(type(owner), name, place)
    _tell_instance(owner, name, is_write, place)


def _tell_instance(owner: Any, name: str, is_write: bool, place: Place) -> None:
    namespace = instance_dict(owner) if is_in_dict(type(owner), name) else None
    if namespace is None:
        attribute(owner, name, is_write, place)
    else:
        # Reports call the step by what comes first.
        item(namespace, name, is_write, place)
        attribute(owner, "__dict__", False, place)


def get_dict(owner: Any, place: Place) -> None:
    """The program is about to get hold of the ``__dict__`` of an object."""
    remember_dict(owner)
    if is_stored("__dict__") and not issubclass(type(owner), type):
        attribute(owner, "__dict__", False, place)


def _tell_class_attribute(class_: Any, name: str, place: Place) -> None:
    _read_bases(class_, place)
    for asked in class_owners(class_, name):
        attribute(asked, name, False, place)


def _tell_class_and_data(owner: Any, name: str, is_write: bool, place: Place) -> None:
    read_class(owner, place)
    _tell_class_data(owner, name, is_write, place)


def subscript(owner: Any, key: Any, family: object, is_write: bool, place: Place) -> None:
    """An item of a container of a family is about to be loaded or stored."""
    if family is families.MAPPING:
        tell_item(owner, key, is_write, place)
    elif family is families.SEQUENCE:
        _tell_index(owner, key, is_write, place)
    elif family is families.DEFAULT_MAPPING:
        # Reading a key that is missing stores it.
        is_plain = table.is_plain_key(key)
        missing = is_plain and not is_write and not dict.__contains__(owner, key)
        tell_item(owner, key, is_write or missing, place)
        # Another task may have stored it in the meantime.
        if missing and not dict.__contains__(owner, key):
            _expect_factory(owner, key, place)
    elif family is families.MEMORY:
        tell_memory(memory.item(owner, key, is_write), place)
    elif family is families.DELEGATED:
        delegates.tell(owner, "__setitem__" if is_write else "__getitem__", (key,), place)
    elif family is not None:
        tell_whole(owner, is_write, place)


def _expect_factory(owner: Any, key: Any, place: Place) -> None:
    """The factory of a ``defaultdict`` will be entered, as the key is missing."""
    factory = _factory_of(owner)
    if type(factory) is FunctionType:
        halfway.begin(lambda place: tell_item(owner, key, True, place))
    else:
        halfway.Called.tell(factory, (), place)


def read_slice(owner: Any, place: Place) -> None:
    """``owner[a:b]`` is about to be loaded."""
    if active and families.GETITEM[type(owner)] is not None:
        tell_whole(owner, False, place)


def write_slice(owner: Any, place: Place) -> None:
    """``owner[a:b]`` is about to be stored."""
    if active and families.SETITEM[type(owner)] is not None:
        tell_whole(owner, True, place)


def read_whole(owner: Any, place: Place) -> None:
    """The truth, length, text or all items of ``owner`` are about to be computed."""
    if active and _CONTAINER[type(owner)]:
        tell_whole(owner, False, place)


def drop(place: Place) -> None:
    """Local variables are about to be let go of."""
    if active and lives.are_read():
        whole(lives.drop(place), True, place)


def breaker() -> None:
    """A GIL build could switch threads here."""
    _breaker()


if native is not None:
    native.use_hooks(
        Globals,
        INSTANCE,
        SKIP,
        tell_attribute,
        subscript,
        _GETITEM,
        _SETITEM,
        _MAPPING,
        _SEQUENCE,
        KNOWN_DICTS,
    )
