"""What rewritten code calls just before it accesses data that tasks may share.

Here are the accesses that an instruction makes itself; those that it has code in C make for it are
in :mod:`.c_code`.

Each hook decides in a few dictionary look-ups whether the access can matter and tells the sink.
While no sink is set a hook returns at once. Hooks never perform the access themselves, so that an
exception raised by the access comes from the user's own line alone.
What is told then is in :mod:`.meanings`.
"""

from __future__ import annotations

import builtins
from typing import Any

from bohrbug.accelerator import native, with_fast_path
from bohrbug.runtime.threads.rewrite import families, halfway, lives, meanings, tell
from bohrbug.runtime.threads.rewrite.attributes import (
    BESIDE_ITEMS,
    CLASS_DATA,
    IN_DICT,
    INSTANCE,
    MODULE,
    OF_CLASS,
    SKIP,
    TYPE,
    Kinds,
)
from bohrbug.runtime.threads.rewrite.instance_dicts import KNOWN_DICTS
from bohrbug.runtime.threads.rewrite.place import Place


class Globals:
    """A module's namespace as a constant of rewritten code; hashable, unlike the dict."""

    __slots__ = ("namespace",)

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace


@with_fast_path
def read_attribute(owner: Any, name: str, kinds: Kinds, place: Place) -> None:
    """``owner.name`` is about to be loaded."""
    if tell.active:
        kind = kinds[type(owner)]
        if kind is INSTANCE:
            tell.attribute(owner, name, False, place)
        elif kind is not SKIP:
            meanings.tell_attribute(owner, name, kind, False, place)


@with_fast_path
def write_attribute(owner: Any, name: str, kinds: Kinds, place: Place) -> None:
    """``owner.name`` is about to be stored or deleted."""
    if tell.active:
        kind = kinds[type(owner)]
        if kind is INSTANCE:
            tell.attribute(owner, name, True, place)
        elif kind is not SKIP:
            meanings.tell_attribute(owner, name, kind, True, place)


def read_super_attribute(class_: Any, owner: Any, name: str, place: Place) -> None:
    """``super(class_, owner).name`` is about to be loaded."""
    if tell.active:
        meanings.tell_super_attribute(class_, owner, name, place)


@with_fast_path
def read_global(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be loaded."""
    if tell.active:
        tell.item(scope.namespace, name, False, place)


_BUILTINS = vars(builtins)


def read_builtin(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be loaded that is a builtin, unless the module has got one by now."""
    if tell.active:
        tell.in_one_step(place, _tell_builtin, scope.namespace, name, place)


def _tell_builtin(namespace: dict[str, Any], name: str, place: Place) -> None:
    tell.item(namespace, name, False, place)
    tell.item(_BUILTINS, name, False, place)


@with_fast_path
def write_global(scope: Globals, name: str, place: Place) -> None:
    """A global is about to be stored or deleted."""
    if tell.active:
        tell.item(scope.namespace, name, True, place)


@with_fast_path
def read_cell(cell: Any, place: Place) -> None:
    """A variable that closures share is about to be loaded."""
    if tell.active:
        tell.whole(cell, False, place)


@with_fast_path
def write_cell(cell: Any, place: Place) -> None:
    """A variable that closures share is about to be stored or deleted."""
    if tell.active:
        tell.whole(cell, True, place)


# --- Hooks of subscripts -------------------------------------------------------------------------

_GETITEM = families.GETITEM
_SETITEM = families.SETITEM
_SEQUENCE = families.SEQUENCE
_MAPPING = families.MAPPING
_CONTAINER = families.CONTAINER


@with_fast_path
def read_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be loaded."""
    if tell.active:
        family = _GETITEM[type(owner)]
        if family is not None:
            if (family is _SEQUENCE and type(key) is int and key >= 0) or (
                family is _MAPPING and type(key) is str and not KNOWN_DICTS
            ):
                tell.item(owner, key, False, place)
            else:
                halfway.end_here()
                meanings.subscript(owner, key, family, False, place)


@with_fast_path
def write_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be stored."""
    if tell.active:
        family = _SETITEM[type(owner)]
        if family is not None:
            if (family is _SEQUENCE and type(key) is int and key >= 0) or (
                family is _MAPPING and type(key) is str and not KNOWN_DICTS
            ):
                tell.item(owner, key, True, place)
            else:
                halfway.end_here()
                meanings.subscript(owner, key, family, True, place)


def delete_item(owner: Any, key: Any, place: Place) -> None:
    """``owner[key]`` is about to be deleted."""
    if tell.active:
        meanings.delete_in(families.DELITEM[type(owner)], owner, key, place)


def read_slice(owner: Any, start: Any, stop: Any, place: Place) -> None:
    """``owner[start:stop]`` is about to be loaded."""
    family = families.GETITEM[type(owner)]
    if tell.active and family is not None:
        halfway.end_here()
        meanings.subscript(owner, slice(start, stop), family, False, place)


def write_slice(owner: Any, place: Place) -> None:
    """``owner[a:b]`` is about to be stored."""
    if tell.active and families.SETITEM[type(owner)] is not None:
        meanings.tell_whole(owner, True, place)


def read_whole(owner: Any, place: Place) -> None:
    """The truth, length, text or all items of ``owner`` are about to be computed."""
    if tell.active and _CONTAINER[type(owner)]:
        meanings.tell_whole(owner, False, place)


def drop(place: Place) -> None:
    """Local variables are about to be let go of."""
    if tell.active:
        variable = lives.drop(place)
        if variable is not None:
            tell.whole(variable, True, place)


if native is not None:
    native.use_hooks(
        Globals,
        INSTANCE,
        SKIP,
        BESIDE_ITEMS,
        meanings.tell_attribute,
        meanings.subscript,
        _GETITEM,
        _SETITEM,
        _MAPPING,
        _SEQUENCE,
        KNOWN_DICTS,
        # Reading an attribute of these kinds does nothing but tell of it.
        (INSTANCE, CLASS_DATA, IN_DICT, MODULE, TYPE, OF_CLASS[SKIP], OF_CLASS[CLASS_DATA]),
    )
