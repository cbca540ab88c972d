"""What functions of the standard library that are written in C access beyond what they are given.

State that a process has once: the file mode mask, the locale, signal handlers, limits of the
interpreter; generators of random numbers; and objects that are written out with all that they
refer to, as by ``json`` and ``pickle``.
"""

from __future__ import annotations

import _csv
import _json
import _locale
import _pickle
import _random
import _signal  # type: ignore[import-not-found]
import builtins
import csv
import marshal
import os
import sys
from collections.abc import Callable
from types import (
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

from bohrbug.runtime.threads.rewrite import attributes, hooks
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place

_Arguments = tuple[Any, ...]
_DEEPEST = 20
"""How many objects lie in one another when they are written out, at most, that are looked at."""

_PROCESS = {
    name: Named(name)
    for name in ("the file mode mask", "the locale", "signal handlers", "limits of the interpreter")
}


def _state(name: str, is_write: bool) -> Callable[[Any, _Arguments, Place], None]:
    variable = _PROCESS[name]

    def tell(owner: Any, arguments: _Arguments, place: Place) -> None:
        hooks.whole(variable, is_write, place)

    return tell


def _set_locale(owner: Any, arguments: _Arguments, place: Place) -> None:
    is_write = bool(arguments) and arguments[0] is not None
    hooks.whole(_PROCESS["the locale"], is_write, place)


def _write_out(owner: Any, arguments: _Arguments, place: Place) -> None:
    _read_all(owner, place, set(), 0)


def _write_out_argument(owner: Any, arguments: _Arguments, place: Place) -> None:
    hooks.whole(owner, True, place)
    if arguments:
        _read_all(arguments[0], place, set(), 0)


def _read_all(owner: Any, place: Place, seen: set[int], depth: int) -> None:
    """An object is read, with all that lies in it."""
    if id(owner) in seen or depth > _DEEPEST:
        return
    seen.add(id(owner))
    class_ = type(owner)
    inner: list[Any] = []
    if table.CONTAINER[class_]:
        hooks.tell_whole(owner, False, place)
    if issubclass(class_, dict):
        inner += dict.values(owner)
    elif issubclass(class_, list):
        inner += list.__iter__(owner)
    elif issubclass(class_, tuple):
        inner += tuple.__iter__(owner)
    if not issubclass(class_, (type, ModuleType, FunctionType)):
        namespace = attributes.instance_dict(owner)
        if namespace:
            hooks.whole(owner, False, place)
            inner += namespace.values()
    for each in inner:
        if not isinstance(each, (str, int, float, bytes, type(None))):
            _read_all(each, place, seen, depth + 1)


def _get_by_descriptor(owner: Any, arguments: _Arguments, place: Place) -> None:
    if arguments and arguments[0] is not None:
        name = owner.__name__
        hooks.read_attribute(arguments[0], name, attributes.read_kinds(name), place)


def _set_by_descriptor(owner: Any, arguments: _Arguments, place: Place) -> None:
    if arguments:
        name = owner.__name__
        hooks.write_attribute(arguments[0], name, attributes.write_kinds(name), place)


def _read_class(owner: Any, arguments: _Arguments, place: Place) -> None:
    hooks.read_class(owner, place)


_ALL_OF: dict[str, Callable[[Any, _Arguments, Place], None]] = {
    "write the file mode mask": _state("the file mode mask", True),
    "set the locale": _set_locale,
    "read the locale": _state("the locale", False),
    "read signal handlers": _state("signal handlers", False),
    "write signal handlers": _state("signal handlers", True),
    "read limits": _state("limits of the interpreter", False),
    "write limits": _state("limits of the interpreter", True),
    "write out": _write_out,
    "write out an argument": _write_out_argument,
    "get by a descriptor": _get_by_descriptor,
    "set by a descriptor": _set_by_descriptor,
    "look at the class": _read_class,
}

ACTIONS = _ALL_OF

_FUNCTIONS: tuple[tuple[ModuleType, str, str], ...] = (
    (os, "umask", "write the file mode mask"),
    (_locale, "setlocale", "set the locale"),
    (_locale, "localeconv", "read the locale"),
    (_signal, "getsignal", "read signal handlers"),
    (_signal, "signal", "write signal handlers"),
    (sys, "getrecursionlimit getswitchinterval", "read limits"),
    (sys, "setrecursionlimit setswitchinterval", "write limits"),
    (_pickle, "dump dumps", "write out"),
    (marshal, "dump dumps", "write out"),
    (builtins, "repr ascii", "write out"),
    (builtins, "isinstance", "look at the class"),
)
for _module, _names, _action in _FUNCTIONS:
    table.add_functions(_module, _names, _action)

_WRITE = table.Effect(table.WRITE)
_BY_DESCRIPTOR = {
    "__get__": table.Effect("get by a descriptor"),
    "__set__": table.Effect("set by a descriptor"),
    "__delete__": table.Effect("set by a descriptor"),
}
table.add_methods(
    {
        _random.Random: dict.fromkeys(
            ("random", "getrandbits", "seed", "getstate", "setstate"), _WRITE
        ),
        _pickle.Pickler: {"dump": table.Effect("write out an argument")},
        type(csv.writer(sys.__stdout__)) if sys.__stdout__ else _csv.Writer: {
            "writerow": table.Effect("write out an argument"),
            "writerows": table.Effect("write out an argument"),
        },
        MemberDescriptorType: _BY_DESCRIPTOR,
        GetSetDescriptorType: _BY_DESCRIPTOR,
    }
)

ENCODER: type = vars(_json)["make_encoder"]
"""The type of what writes out objects as JSON."""


def encode(encoder: Any, arguments: _Arguments, place: Place) -> None:
    """An encoder of ``json`` is about to be called."""
    if arguments:
        _read_all(arguments[0], place, set(), 0)
