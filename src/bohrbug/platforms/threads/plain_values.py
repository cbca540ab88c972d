"""Values as a few characters, without running any code of the program.

Neither ``__repr__`` nor a property is called: what they do might change the execution that is
looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

LONGEST = 90
"""Characters of a value that are shown."""
MOST_ITEMS = 5
"""Items of a container, and attributes of an object."""
_LONGEST_TEXT = 60
_LARGEST_BITS = 256

_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
_mro_of = type.__dict__["__mro__"].__get__
_dict_of_type = type.__dict__["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__


def shown(value: Any) -> str:
    """A value for people: ``Account(balance=10)``, ``[1, 2, …]``, ``<Lock>``."""
    text = _shown(value, 2)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def is_telling(value: Any) -> bool:
    """Whether a value says something of what a program does: no module, class or function."""
    return not issubclass(type(value), ModuleType | type | FunctionType | BuiltinFunctionType)


def _shown(value: Any, depth: int) -> str:
    kind = type(value)
    if kind is bool or value is None or kind is float or kind is complex:
        return repr(value)
    if kind is int:
        bits = value.bit_length()
        return repr(value) if bits <= _LARGEST_BITS else f"<int of {bits:,} bits>"
    if kind in (str, bytes, bytearray):
        return repr(value[:_LONGEST_TEXT]) + ("…" if len(value) > _LONGEST_TEXT else "")
    if kind in (FunctionType, BuiltinFunctionType):
        return f"<function {value.__name__}>"
    if kind is MethodType:
        return f"<method {_shown(value.__func__, 0)}>"
    if issubclass(kind, type):
        return f"<class {_name_of(value)}>"
    brackets = _BRACKETS.get(kind)
    if kind in (set, frozenset) and not value:
        return f"{_name_of(kind)}()"
    if brackets is not None:
        items = _listed((_shown(each, depth - 1) for each in _first(value)), len(value), depth)
        comma = "," if kind is tuple and len(value) == 1 else ""
        return f"{brackets[0]}{items}{comma}{brackets[1]}"
    if kind is dict:
        pairs = (f"{_shown(k, 0)}: {_shown(v, depth - 1)}" for k, v in _first(value.items()))
        return f"{{{_listed(pairs, len(value), depth)}}}"
    return _object(value, kind, depth)


def _first(values: Iterable[Any]) -> list[Any]:
    found = []
    for value in values:
        found.append(value)
        if len(found) == MOST_ITEMS:
            break
    return found


def _listed(words: Iterable[str], count: int, depth: int) -> str:
    if not count:
        return ""
    if depth <= 0:
        return "…"
    return ", ".join(words) + (", …" if count > MOST_ITEMS else "")


def _object(value: object, kind: type, depth: int) -> str:
    name = _name_of(kind)
    attributes = _attributes(value, kind) if depth > 0 and _is_of_program(kind) else {}
    if not attributes:
        return f"<{name}>"
    known = (f"{key}={_shown(each, depth - 1)}" for key, each in _first(attributes.items()))
    return f"{name}({_listed(known, len(attributes), depth)})"


def _is_of_program(kind: type) -> bool:
    """Whether a class is neither of the standard library nor of ours."""
    module = _dict_of_type(kind).get("__module__")
    if type(module) is not str:
        return False
    top = module.partition(".")[0]
    return top == "__main__" or (top not in sys.stdlib_module_names and top != "bohrbug")


def _attributes(value: object, kind: type) -> dict[str, Any]:
    """What an object has in its dict or its slots, without asking it."""
    found: dict[str, Any] = {}
    for base in _mro_of(kind):
        for name, descriptor in _dict_of_type(base).items():
            if name == "__dict__" and type(descriptor) is GetSetDescriptorType:
                own = descriptor.__get__(value)
                if type(own) is dict:
                    found.update((key, own[key]) for key in _first(own) if type(key) is str)
            elif type(descriptor) is MemberDescriptorType and not name.startswith("__"):
                try:
                    found[name] = descriptor.__get__(value)
                except AttributeError:
                    # Not set yet.
                    continue
    return found
