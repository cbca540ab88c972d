"""What an access means: of which objects, items and attributes the sink is told.

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
import decimal
import gc
import mmap
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import (
    delegates,
    errors,
    families,
    files,
    halfway,
    handles,
    lives,
    memory,
    parts,
    tell,
)
from bohrbug.runtime.threads.rewrite.attributes import (
    BASES,
    BESIDE_ITEMS,
    BY_DESCRIPTOR,
    BY_GETTER,
    CLASS_DATA,
    COMPUTED,
    IN_DICT,
    INSTANCE,
    INSTANCE_DICT,
    MEMORY,
    MODULE,
    OF_CLASS,
    OF_HANDLE,
    OF_STREAM,
    PART_OF_ERROR,
    PRIMITIVE,
    PROXY,
    SKIP,
    SUPER,
    TYPE,
    WHOLE,
    WRAPPED,
    class_data_owner,
    class_owners,
    forget_name,
    has_dict_apart,
    instance_has,
    is_in_dict,
    is_new_on_class,
    is_stored,
    note_new_on_class,
    read_kinds,
    write_kinds,
)
from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    class_may_change,
    instance_dict,
    is_written_in_c,
    look_up,
    order_of,
)
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.instance_dicts import (
    KNOWN_DICTS,
    owner_of_dict,
    remember_dict,
)
from bohrbug.runtime.threads.rewrite.mappings import behind_mapping
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.themselves import ONLY_THEMSELVES
from bohrbug.runtime.threads.rewrite.wrappers import UNWRAPPING, wrapped_by

# A test may put something else in the place of the builtin.
_length = len


def tell_item(owner: Any, key: Any, is_write: bool, place: Place) -> None:
    """An item of a mapping or a set."""
    if KNOWN_DICTS and id(owner) in KNOWN_DICTS:
        holder = owner_of_dict(owner)
        if holder is not None:
            if type(key) is str:
                tell.attribute(holder, key, is_write, place)
            else:
                tell.whole(holder, is_write, place)
            return
    if type(key) is str or table.is_plain_key(key):
        tell.item(owner, key, is_write, place)
    else:
        # Hashing and comparing it may run Python code.
        tell.whole(owner, is_write, place)
        halfway.begin(telling_again(owner, is_write))


def telling_again(owner: Any, is_write: bool) -> Callable[[Place], None]:
    """What tells of a whole object again, if it is still there.

    Parameters:
        owner: referred to weakly, if it can be.
        is_write: whether it is changed.
    """
    return halfway.Telling(owner, tell_whole, is_write)


def telling_all_again(owners: list[Any]) -> Callable[[Place], None]:
    """The same for several iterators, generators and coroutines that go on."""
    return halfway.in_turn([halfway.Telling(owner, _going_on) for owner in owners])


def _going_on(owner: Any, place: Place) -> None:
    tell.whole(owner, True, place)


def _tell_index(owner: Any, key: Any, is_write: bool, place: Place) -> None:
    """An item of a sequence."""
    if type(key) is int:
        tell.item(owner, key if key >= 0 else key + _length(owner), is_write, place)
    else:
        tell.whole(owner, is_write, place)
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
            tell.whole(holder, is_write, place)
            return
    tell.whole(owner, is_write, place)


def _tell_what_it_stands_for(owner: Any, is_write: bool, place: Place) -> tuple[Any, bool] | None:
    """What is still to be told as a whole, and whether as a write; ``None`` if nothing is."""
    if type(owner) in families.VIEWS:
        for underlying in gc.get_referents(owner):
            tell_whole(underlying, is_write, place)
        return None
    if type(owner) is memoryview:
        for shown in memory.shown_by(owner):
            if shown is owner or type(shown) is bytes:
                # It was released, or shows what never changes.
                tell.whole(owner, is_write, place)
            else:
                tell_whole(shown, is_write, place)
        return None
    if type(owner) is mmap.mmap:
        owner = behind_mapping(owner)
    if issubclass(type(owner), memory.DATA):
        tell_memory(memory.whole(owner, is_write), place)
        return None
    if type(owner) in lives.PROXIES:
        tell.whole(lives.read(owner, place), False, place)
        target = lives.target_of(owner)
        if families.CONTAINER[type(target)]:
            tell_whole(target, is_write, place)
        return None
    asked = delegates.DELEGATES[type(owner)]
    if asked is not None:
        tell.in_one_step(place, _tell_delegates, owner, asked, is_write, place)
        return (owner, is_write) if table.has_state_in_c(type(owner)) else None
    if type(owner) in parts.PARTS:
        return parts.whole_of(owner, place), is_write
    if UNWRAPPING[type(owner)] is not None:
        wrapped = wrapped_by(owner)
        if wrapped is not owner and families.CONTAINER[type(wrapped)]:
            tell_whole(wrapped, is_write, place)
        return None
    if FOREIGN[type(owner)]:
        if handles.ARE_HANDLES[type(owner)]:
            tell.in_one_step(place, _tell_handle, owner, is_write, place)
            return None
        return families.memory_of(owner), is_write
    if issubclass(type(owner), decimal.Decimal):
        # It never changes. But what is computed with it raises flags in the context.
        return _context_of_decimals(), True
    return owner, is_write


def _tell_handle(owner: Any, is_write: bool, place: Place) -> None:
    tell.whole(families.memory_of(owner), is_write, place)
    _tell_behind(owner, is_write, place)


def _tell_of_handle(owner: Any, name: str, is_write: bool, place: Place) -> None:
    tell.attribute(owner, name, is_write, place)
    _tell_behind(owner, is_write, place)


def _tell_behind(owner: Any, is_write: bool, place: Place) -> None:
    for each, may_be_written in handles.behind(owner):
        tell.whole(each, is_write and may_be_written, place)


def _tell_delegates(owner: Any, asked: delegates.Delegates, is_write: bool, place: Place) -> None:
    for name in asked.names:
        _tell_class_attribute(type(owner), name, place)
    for function in (*asked.functions, *(asked.changing if is_write else ())):
        halfway.Called.tell(function, (), place)
    for thing in asked.gone_through:
        if families.CONTAINER[type(thing)]:
            tell_whole(thing, False, place)


_context_of_decimals = decimal.getcontext


def tell_memory(accesses: Iterable[memory.Access], place: Place) -> None:
    """What ``ctypes`` objects access."""
    tell.in_one_step(place, _tell_memory, tuple(accesses), place)


def _tell_memory(accesses: tuple[memory.Access, ...], place: Place) -> None:
    for owner, key, is_write in accesses:
        if key is None:
            # It may be that of an mmap.
            tell_whole(owner, is_write, place)
        else:
            tell.item(owner, key, is_write, place)


def _computing(owner: Any, name: str, place: Place) -> None:
    tell.attribute(owner, name, True, place)


def read_class(owner: Any, place: Place) -> None:
    """It matters of which class an object is."""
    if is_stored("__class__") and class_may_change(type(owner)):
        tell.attribute(owner, "__class__", False, place)
    read_bases(type(owner), place)


def read_bases(class_: type, place: Place) -> None:
    """Where attributes are found depends on the bases of a class, and of these."""
    if is_stored("__bases__"):
        for base in order_of(class_):
            if class_may_change(base):
                tell.attribute(base, "__bases__", False, place)


def tell_attribute(owner: Any, name: str, kind: object, is_write: bool, place: Place) -> None:
    """An attribute of a kind other than :data:`INSTANCE` and :data:`SKIP`."""
    if kind is CLASS_DATA:
        tell.in_one_step(place, _tell_class_data, owner, name, is_write, place)
    elif kind is INSTANCE:
        if is_in_dict(type(owner), name):
            tell.in_one_step(place, _tell_instance, owner, name, is_write, place)
        else:
            tell.attribute(owner, name, is_write, place)
    elif kind is BESIDE_ITEMS:
        _tell_instance(owner, name, is_write, place)
    elif kind is MODULE:
        namespace = instance_dict(owner)
        if namespace is not None and (
            is_write or type(namespace.get(name)) not in table.CODE_TYPES or is_stored(name)
        ):
            tell.item(namespace, name, is_write, place)
        if namespace is not None and is_stored("__getattr__") and name not in namespace:
            tell.item(namespace, "__getattr__", False, place)
    elif kind is TYPE:
        if is_write:
            note_new_on_class(owner, name)
            forget_name(name)
            tell.attribute(owner, name, True, place)
        else:
            tell.in_one_step(place, _tell_class_attribute, owner, name, place)
    elif kind is IN_DICT:
        tell.in_one_step(place, _tell_instance, owner, name, is_write, place)
    elif kind is INSTANCE_DICT:
        get_dict(owner, place)
    elif kind is BASES:
        tell.in_one_step(place, read_bases, owner, place)
    elif kind is BY_GETTER:
        found = look_up(type(owner), name)
        halfway.Called.tell(found.fset if is_write else found.fget, (owner,), place)
    elif kind is PRIMITIVE:
        if not parts.note(owner):
            Inspecting.tell(owner, name, is_write, place)
    elif kind is OF_CLASS[SKIP]:
        read_class(owner, place)
    elif kind is OF_CLASS[CLASS_DATA]:
        tell.in_one_step(place, _tell_class_and_data, owner, name, is_write, place)
    elif kind is MEMORY:
        descriptor = look_up(type(owner), name)
        tell_memory(memory.attribute(owner, name, descriptor, is_write), place)
    elif kind is WHOLE:
        if type(owner) is mmap.mmap:
            owner = behind_mapping(owner)
        tell.whole(owner, is_write, place)
    elif kind is OF_HANDLE:
        tell.in_one_step(place, _tell_of_handle, owner, name, is_write, place)
    elif kind is OF_STREAM:
        files.look_at_stream(owner, place)
    elif kind is COMPUTED:
        # Reading it computes it, unless that was done before; by a function that others may enter.
        tell.attribute(owner, name, True, place)
        halfway.begin(halfway.Telling(owner, _computing, name))
    elif kind is BY_DESCRIPTOR:
        tell.in_one_step(place, _tell_of_handle, owner, name, is_write, place)
        # If it calls a function, it computes what it keeps.
        halfway.begin(halfway.Telling(owner, _computing, name))
    elif kind is PART_OF_ERROR:
        if is_write and name == "__cause__":
            tell.in_one_step(place, _tell_cause, owner, place)
        else:
            tell.attribute(errors.stand_in(owner), name, is_write, place)
    elif kind is WRAPPED:
        wrapped = wrapped_by(owner)
        kinds = write_kinds(name) if is_write else read_kinds(name)
        kind_of_wrapped = SKIP if wrapped is owner else kinds[type(wrapped)]
        if kind_of_wrapped is not SKIP:
            tell_attribute(wrapped, name, kind_of_wrapped, is_write, place)
    elif kind is SUPER:
        tell_super_attribute(_class_of_super(owner), _object_of_super(owner), name, place)
    elif kind is PROXY:
        # Its object is not kept alive meanwhile: another task may end it.
        tell.whole(lives.read(owner, place), False, place)
        target = lives.target_of(owner)
        kinds = write_kinds(name) if is_write else read_kinds(name)
        kind_of_target = kinds[type(target)]
        if kind_of_target is not SKIP:
            tell_attribute(target, name, kind_of_target, is_write, place)


def _tell_cause(error: BaseException, place: Place) -> None:
    """An exception gets a cause, and with it its context is not shown any more."""
    for name in ("__cause__", "__suppress_context__"):
        tell.attribute(errors.stand_in(error), name, True, place)


_class_of_super: Callable[[Any], Any] = vars(super)["__thisclass__"].__get__
_object_of_super: Callable[[Any], Any] = vars(super)["__self__"].__get__


def tell_super_attribute(class_: Any, owner: Any, name: str, place: Place) -> None:
    """What ``super(class_, owner).name`` depends on."""
    if issubclass(type(class_), type):
        start = owner if issubclass(type(owner), type) else type(owner)
        found = class_data_owner(start, name, behind=class_)
        if found is not None and not is_written_in_c(found):
            tell.attribute(found, name, False, place)
        elif FOREIGN[type(owner)] and type(look_up(class_, name)) is not FunctionType:
            # A property in Python, of a class that derives from one in C, asks that for its value.
            tell.attribute(owner, name, False, place)


_factory_of: Callable[[Any], Any] = vars(collections.defaultdict)["default_factory"].__get__


def delete_in(family: object, owner: Any, key: Any, place: Place) -> None:
    """An item of a container of a family is about to be deleted."""
    if family is families.MAPPING or family is families.DEFAULT_MAPPING:
        tell_item(owner, key, True, place)
    elif family is families.DELEGATED:
        tell_special_method(owner, "__delitem__", (key,), place)
    elif family is not None:
        tell_whole(owner, True, place)


def _tell_class_data(owner: Any, name: str, is_write: bool, place: Place) -> None:
    if is_new_on_class(name) or not instance_has(owner, name):
        _tell_class_attribute(type(owner), name, place)
    _tell_instance(owner, name, is_write, place)


def _tell_instance(owner: Any, name: str, is_write: bool, place: Place) -> None:
    namespace = instance_dict(owner) if is_in_dict(type(owner), name) else None
    if namespace is None:
        tell.attribute(owner, name, is_write, place)
    else:
        # Reports call the step by what comes first.
        tell.item(namespace, name, is_write, place)
        if is_stored("__dict__"):
            tell.attribute(owner, "__dict__", False, place)


def get_dict(owner: Any, place: Place) -> None:
    """The program is about to get hold of the ``__dict__`` of an object."""
    remember_dict(owner)
    if is_stored("__dict__") and not issubclass(type(owner), type):
        tell.attribute(owner, "__dict__", False, place)


def _tell_class_attribute(class_: Any, name: str, place: Place) -> None:
    read_bases(class_, place)
    for asked in class_owners(class_, name):
        tell.attribute(asked, name, False, place)


def _tell_class_and_data(owner: Any, name: str, is_write: bool, place: Place) -> None:
    read_class(owner, place)
    _tell_class_data(owner, name, is_write, place)


def subscript(owner: Any, key: Any, family: object, is_write: bool, place: Place) -> None:
    """An item of a container of a family is about to be loaded or stored."""
    if family is families.MAPPING:
        tell_item(owner, key, is_write, place)
    elif family is families.SEQUENCE:
        _tell_index(owner, key, is_write, place)
    elif family is families.PACKED:
        _tell_index(owner, key, is_write, place)
        # Special methods may be called for the number that is stored.
        halfway.begin(telling_again(owner, True))
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
        tell_special_method(owner, "__setitem__" if is_write else "__getitem__", (key,), place)
    elif family is not None:
        tell_whole(owner, is_write, place)
        if is_write:
            halfway.begin(telling_again(owner, True))
        elif FOREIGN[type(owner)]:
            halfway.begin(halfway.Telling(owner, _making_item))


_COMPARING = frozenset({"__hash__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__index__"})


def _making_item(owner: Any, place: Place) -> None:
    """Code in C that reads an item calls a function: what it gives may be kept, as by proxies."""
    tell_whole(owner, place[0].co_name not in _COMPARING, place)


def _expect_factory(owner: Any, key: Any, place: Place) -> None:
    """The factory of a ``defaultdict`` will be entered, as the key is missing."""
    factory = _factory_of(owner)
    if type(factory) is not FunctionType:
        halfway.Called.tell(factory, (), place)
    # Classes, methods and partials may call functions in Python, too.
    halfway.begin(lambda place: tell_item(owner, key, True, place))


def tell_special_method(owner: Any, special: str, arguments: tuple[Any, ...], place: Place) -> None:
    """A special method of an object is about to be called that is in C, or may be exchanged."""
    look_for_special_method(type(owner), special, place)
    delegates.tell(owner, special, arguments, place)


def look_for_special_method(class_: type, special: str, place: Place) -> None:
    """Which special method a class has is about to be looked up."""
    if delegates.is_exchanged(class_, special):
        tell.in_one_step(place, _tell_class_attribute, class_, special, place)


def tell_attributes(owner: Any, is_write: bool, place: Place) -> None:
    """All attributes of an object, and all that is in it, whatever its special methods say."""
    namespace = instance_dict(owner) if has_dict_apart(type(owner)) else None
    if namespace is None:
        _tell_content(owner, is_write, place)
    else:
        tell.in_one_step(place, _tell_content_and_dict, owner, namespace, is_write, place)


def _tell_content_and_dict(
    owner: Any, namespace: dict[str, Any], is_write: bool, place: Place
) -> None:
    _tell_content(owner, is_write, place)
    tell.whole(namespace, is_write, place)
    if is_stored("__dict__"):
        tell.attribute(owner, "__dict__", False, place)


def _tell_content(owner: Any, is_write: bool, place: Place) -> None:
    if delegates.DELEGATES[type(owner)] and not table.has_state_in_c(type(owner)):
        tell.whole(owner, is_write, place)
    else:
        tell_whole(owner, is_write, place)
