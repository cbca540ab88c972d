"""Which globals of a module may change, so that reads of them have to be told."""

from __future__ import annotations

import builtins
import dis
import weakref
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from bohrbug.runtime.threads.rewrite import hooks
from bohrbug.runtime.threads.rewrite.attributes import EXCHANGED, is_stored
from bohrbug.runtime.threads.rewrite.codec import decode

_BOUND_ONCE = (FunctionType, BuiltinFunctionType, type, ModuleType)


class GlobalsView:
    """What is known of a module's globals when code of the module is rewritten.

    Reads of globals bound to functions, classes, modules or builtins are not told unless some
    function of the module stores that global, or any one an attribute of that name: others are
    bound once, on import.

    Parameters:
        namespace: ``__globals__`` of the functions.
        stored: names that functions of the module store or delete.
    """

    def __init__(self, namespace: dict[str, Any], stored: frozenset[str]) -> None:
        self.holder = hooks.Globals(namespace)
        self.namespace = namespace
        self.stored = stored
        self.has_weak_references = _has_weak_references(namespace)
        # By identity of the original: it, and what it became. Code objects that are equal need
        # not be the same function.
        self.made: dict[int, tuple[CodeType, CodeType]] = {}
        self.skipped: dict[CodeType, str] = {}
        # The answers that what was rewritten depends on.
        self._answers: dict[str, bool] = {}
        self._is_mixed = False

    def holds(self, namespace: dict[str, Any], stored: frozenset[str]) -> bool:
        """Whether what was rewritten for this view would be rewritten the same now."""
        return (
            self.namespace is namespace
            and not self._is_mixed
            and self.stored == stored
            and self.has_weak_references == _has_weak_references(namespace)
            and all(self._decide(name) == answer for name, answer in self._answers.items())
        )

    def may_change(self, name: str) -> bool:
        """Whether a read of the global is told."""
        answer = self._decide(name)
        if self._answers.setdefault(name, answer) != answer:
            self._is_mixed = True
        return answer

    def is_builtin(self, name: str) -> bool:
        """Whether a global that may change is a builtin for now."""
        return name not in self.namespace and name in vars(builtins)

    def _decide(self, name: str) -> bool:
        if name in self.stored or is_stored(name):
            return True
        if name in self.namespace:
            # Not isinstance, which asks the object, such as a proxy that makes what it stands for.
            return not issubclass(type(self.namespace[name]), _BOUND_ONCE)
        # Not hasattr, which gives a module without it an __annotations__.
        return name not in vars(builtins)


_STORING_BY_NAME = frozenset(
    {"setattr", "delattr", "__setattr__", "__delattr__", "patch", "globals", "vars", "__dict__"}
)
"""What code mentions that stores attributes and globals whose names are strings."""


_HANDING_OUT = frozenset({"__kwdefaults__", "keywords", "__setstate__"})
"""Attributes that lead to parts of functions and partials, and may serve to change them."""


def stored_attributes(code: CodeType) -> Iterator[str]:
    """Names of the attributes that a code object, or code nested in it, stores or deletes.

    Of code that may store some by their names, each string that may be one: ``name``, and the last
    part of ``module.name``.
    """
    yield from _HANDING_OUT.intersection(code.co_names)
    if not _STORING_BY_NAME.isdisjoint(code.co_names):
        for constant in code.co_consts:
            if isinstance(constant, str):
                name = constant.rpartition(".")[2]
                if name.isidentifier() and not (name in EXCHANGED and _only_reads(code, name)):
                    yield name
    stores = dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]
    raw = code.co_code
    if stores[0] in raw[::2] or stores[1] in raw[::2]:
        for instruction in decode(code):
            if instruction.opcode in stores:
                yield code.co_names[instruction.arg]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from stored_attributes(constant)


def _only_reads(code: CodeType, name: str) -> bool:
    """Whether a code object has a name only for ``getattr`` and ``hasattr``.

    Should it store it all the same, as in ``setattr(getattr(a, "b"), name, c)``, that is noted
    when it does.
    """
    last = ""
    for instruction in dis.get_instructions(code):
        value = instruction.argval
        if not isinstance(value, str):
            continue
        if instruction.opname != "LOAD_CONST":
            last = value if value in _READING_BY_NAME | _STORING_BY_NAME else last
        elif value == name and last not in _READING_BY_NAME:
            return False
    return True


_READING_BY_NAME = frozenset({"getattr", "hasattr"})


def _has_weak_references(namespace: dict[str, Any]) -> bool:
    """Whether a module has imported :mod:`weakref`, or something of it, or has finalizers."""
    return any(
        value is weakref or id(value) in _OF_WEAKREF or (type(value) is type and _finalizes(value))
        for value in namespace.values()
    )


def _finalizes(cls: type) -> bool:
    return any("__del__" in vars(each) for each in cls.__mro__)


_WEAK_TYPES = (type, BuiltinFunctionType)
_OF_WEAKREF = frozenset(
    id(value) for value in vars(weakref).values() if isinstance(value, _WEAK_TYPES)
)


def stored_globals(code: CodeType) -> set[str]:
    """Names of the globals that a code object, or code nested in it, stores or deletes."""
    names: set[str] = set()
    store, delete = dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]
    raw = code.co_code[::2]
    if store in raw or delete in raw:
        for instruction in decode(code):
            if instruction.opcode == store or instruction.opcode == delete:
                names.add(code.co_names[instruction.arg])
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= stored_globals(constant)
    return names
