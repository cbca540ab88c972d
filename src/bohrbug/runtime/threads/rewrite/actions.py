"""What calls of code in C do to what they are given: those actions that lead no further."""

from __future__ import annotations

import mmap
import sys
import warnings
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

from bohrbug.runtime.threads.captured import keeps_text_for_the_test
from bohrbug.runtime.threads.rewrite import (
    by_value,
    constructors,
    delegates,
    effects,
    errors,
    families,
    formats,
    halfway,
    hooks,
    item_functions,
    meanings,
    tell,
    unknown,
)
from bohrbug.runtime.threads.rewrite.attributes import (
    STRUCTURE_FIELD,
    is_stored,
    note_stored,
    read_kinds,
    write_kinds,
)
from bohrbug.runtime.threads.rewrite.classes import (
    FOREIGN,
    instance_dict,
    is_open,
    look_up,
    namespace_of,
    order_of,
)
from bohrbug.runtime.threads.rewrite.mappings import behind_mapping
from bohrbug.runtime.threads.rewrite.place import Place


def _nothing(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Only arguments are read."""


def _read(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    hooks.read_whole(owner, place)


def _write(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if families.CONTAINER[type(owner)]:
        meanings.tell_whole(owner, True, place)
    else:
        tell.whole(owner, True, place)


def _read_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        hooks.read_item(owner, arguments[0], place)
    else:
        # An iterator will call it with items that nobody knows yet.
        hooks.read_whole(owner, place)


def _read_key(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    # Unlike a subscript it stores nothing in a defaultdict.
    if arguments:
        meanings.tell_item(owner, arguments[0], False, place)
    else:
        meanings.tell_whole(owner, False, place)


def _write_key(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        meanings.tell_item(owner, arguments[0], True, place)
    else:
        meanings.tell_whole(owner, True, place)


def _get_attribute(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and type(arguments[0]) is str:
        hooks.read_attribute(owner, arguments[0], read_kinds(arguments[0]), place)


def _set_attribute(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and type(arguments[0]) is str:
        note_stored(arguments[0])
        constructors.Making.method(owner, arguments[0], arguments[1:])
        hooks.write_attribute(owner, arguments[0], write_kinds(arguments[0]), place)


def _get_by_descriptor(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    name = _name_of(owner, arguments[0]) if arguments else None
    if name is not None:
        hooks.read_attribute(arguments[0], name, read_kinds(name), place)


def _name_of(descriptor: Any, owner: Any) -> str | None:
    """As what the class of an object has a descriptor; fields of structures don't know it."""
    if owner is None or type(descriptor) is not STRUCTURE_FIELD:
        return None if owner is None else descriptor.__name__
    for base in order_of(type(owner)):
        for name, value in namespace_of(base).items():
            if value is descriptor:
                return name
    return None


def _set_by_descriptor(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    name = _name_of(owner, arguments[0]) if arguments else None
    if name is not None:
        if FOREIGN[type(arguments[0])] and look_up(type(arguments[0]), name) is not owner:
            # By a property in Python, of a class that derives from the one in C.
            tell.attribute(arguments[0], name, True, place)
        else:
            hooks.write_attribute(arguments[0], name, write_kinds(name), place)


def _register(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.attribute(owner, "_abc_registry", True, place)


def _check_registered(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.attribute(owner, "_abc_registry", False, place)


def _read_names(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_names, owner, place)


def _tell_names(owner: Any, place: Place) -> None:
    if issubclass(type(owner), ModuleType):
        tell.whole(instance_dict(owner), False, place)
        return
    class_ = owner
    if not issubclass(type(owner), type):
        meanings.tell_attributes(owner, False, place)
        class_ = type(owner)
    for base in order_of(class_):
        if is_open(base):
            tell.whole(base, False, place)


def _warn(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_warning, place)


def _tell_warning(place: Place) -> None:
    tell.item(vars(warnings), "filters", False, place)
    if families.CONTAINER[type(warnings.filters)]:
        meanings.tell_whole(warnings.filters, False, place)


def _set_traceback(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.attribute(errors.stand_in(owner), "__traceback__", True, place)


def _look_at_class(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    meanings.read_class(owner, place)


def _look_at_bases(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if issubclass(type(owner), type):
        meanings.read_bases(owner, place)


def _make_class(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    # Behind the body and the name; of a further base nothing is told.
    tell_subclasses(arguments[1:], True, place)


def tell_subclasses(bases: Iterable[Any], is_write: bool, place: Place) -> None:
    """Which subclasses some classes have is read, or changed where some code reads it."""
    for base in bases:
        if issubclass(type(base), type):
            if not is_write:
                note_stored("__subclasses__")
            if is_stored("__subclasses__") and base is not object:
                tell.attribute(base, "__subclasses__", is_write, place)


def _look_whether_callable(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    meanings.look_for_special_method(type(owner), "__call__", place)


def _hash(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if delegates.DELEGATES[type(owner)]:
        meanings.tell_whole(owner, False, place)


def _use_context_variable(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """A task's own context is nobody else's; one that it runs in by ``Context.run`` may be."""
    halfway.tell_enclosing(place)


def _vars(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    meanings.get_dict(owner, place)


def _set_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        _read_for_slice(arguments, place)
        hooks.write_item(owner, arguments[0], place)


def _read_for_slice(arguments: tuple[Any, ...], place: Place) -> None:
    """All items of what is stored in a slice are read."""
    if type(arguments[0]) is slice:
        for stored in arguments[1:2]:
            if families.CONTAINER[type(stored)]:
                meanings.tell_whole(stored, False, place)


def _delete_item(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        hooks.delete_item(owner, arguments[0], place)


def _read_item_by_name(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if not arguments:
        hooks.read_whole(owner, place)
    elif tell.active:
        family = families.GETITEM_BY_NAME[type(owner)]
        meanings.subscript(owner, arguments[0], family, False, place)


def _set_item_by_name(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and tell.active:
        _read_for_slice(arguments, place)
        family = families.SETITEM_BY_NAME[type(owner)]
        meanings.subscript(owner, arguments[0], family, True, place)


def _delete_item_by_name(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments and tell.active:
        meanings.delete_in(families.DELITEM_BY_NAME[type(owner)], owner, arguments[0], place)


def _print(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_print, arguments, place)


def _tell_print(arguments: tuple[Any, ...], place: Place) -> None:
    tell.item(vars(sys), "stdout", False, place)
    print_to(sys.stdout, place)
    if keeps_text_for_the_test(sys.stdout):
        by_value.read(arguments, place)


def print_to(stream: Any, place: Place) -> None:
    """Something is printed."""
    halfway.Called.tell(item_functions.plain_attribute(stream, "write"), (), place)
    # Nobody looks at what goes to a terminal, or to pytest, unless the test captures it.
    if keeps_text_for_the_test(stream):
        tell.whole(stream, True, place)
        if type(look_up(type(stream), "write")) is not FunctionType:
            # It writes each argument, and what stands between them, by itself.
            unknown.do_in_pieces(place, "print")


def _write_buffer(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Whatever stands before it, such as a format."""
    for argument in arguments:
        if families.CONTAINER[type(argument)]:
            meanings.tell_whole(argument, True, place)
            # Special methods may be called for the numbers that are written.
            halfway.begin(meanings.telling_again(argument, True))
            return


def _release_view(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_release, owner, place)


def _tell_release(view: memoryview, place: Place) -> None:
    # What it shows can be resized from here on, and nobody can use the view any more.
    meanings.tell_whole(view, True, place)
    tell.whole(view, True, place)


def _look_in_mapping(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_mapping, owner, False, False, place)


def _read_mapping(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_mapping, owner, True, False, place)


def _write_mapping(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_mapping, owner, True, True, place)


def _tell_mapping(mapping: mmap.mmap, moves: bool, is_write: bool, place: Place) -> None:
    """A method uses an ``mmap``: it may go on in it, and change what is in it."""
    contents = behind_mapping(mapping)
    if contents is mapping:
        tell.whole(mapping, moves or is_write, place)
        return
    # Each has a position of its own, and several may show the same memory.
    tell.whole(mapping, moves, place)
    tell.whole(contents, is_write, place)


def _look_whether_closed(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    # That is what closing one stores, in Python.
    tell.attribute(owner, "_closed", False, place)


def _format(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    formats.read(owner, arguments, place)


ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], None]] = {
    effects.NOTHING: _nothing,
    effects.READ: _read,
    effects.WRITE: _write,
    effects.READ_ITEM: _read_item,
    effects.READ_KEY: _read_key,
    effects.WRITE_KEY: _write_key,
    effects.GET_ATTRIBUTE: _get_attribute,
    effects.SET_ATTRIBUTE: _set_attribute,
    effects.GET_BY_DESCRIPTOR: _get_by_descriptor,
    effects.SET_BY_DESCRIPTOR: _set_by_descriptor,
    effects.FORMAT: _format,
    effects.REGISTER: _register,
    effects.CHECK_REGISTERED: _check_registered,
    effects.READ_NAMES: _read_names,
    effects.WARN: _warn,
    effects.SET_TRACEBACK: _set_traceback,
    effects.LOOK_AT_CLASS: _look_at_class,
    effects.LOOK_AT_BASES: _look_at_bases,
    effects.MAKE_CLASS: _make_class,
    effects.LOOK_WHETHER_CALLABLE: _look_whether_callable,
    effects.HASH: _hash,
    effects.VARS: _vars,
    effects.USE_CONTEXT_VARIABLE: _use_context_variable,
    effects.SET_ITEM: _set_item,
    effects.DELETE_ITEM: _delete_item,
    effects.READ_ITEM_BY_NAME: _read_item_by_name,
    effects.SET_ITEM_BY_NAME: _set_item_by_name,
    effects.DELETE_ITEM_BY_NAME: _delete_item_by_name,
    effects.PRINT: _print,
    effects.WRITE_BUFFER: _write_buffer,
    effects.RELEASE_VIEW: _release_view,
    effects.LOOK_IN_MAPPING: _look_in_mapping,
    effects.READ_MAPPING: _read_mapping,
    effects.WRITE_MAPPING: _write_mapping,
    effects.LOOK_WHETHER_CLOSED: _look_whether_closed,
}
