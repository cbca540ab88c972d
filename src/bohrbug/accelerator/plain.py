"""Classes whose objects are made in C, as their ``__init__`` only stores what it is given.

Many small objects are made in each execution, and a call of a class written in Python takes longer
than all that is done with most of them.
"""

from __future__ import annotations

import dataclasses
import dis
import inspect
from typing import Any, TypeVar

from bohrbug.accelerator import native

_Class = TypeVar("_Class", bound=type)

_NEW_EACH_TIME = (dict, list, set)

_NOTHING = object()

_DECISIONS = ("COMPARE", "CONTAINS", "IS_OP", "BINARY", "UNARY", "JUMP", "CALL")
"""Parts of the names of instructions by which an ``__init__`` does more than storing."""


def plain(cls: _Class) -> _Class:
    """Decorator: make objects of this class in C, if there is the C module.

    What is stored where is found out by making two objects of placeholders: where they differ,
    something new is made each time.

    Parameters:
        cls: a class with slots and no ``__dict__``; a dataclass, or one with an ``__init__`` that
            does nothing but store its arguments, constants, and new dicts, lists and sets.

    Raises:
        TypeError: it does something else.
    """
    if native is None:
        return cls
    signature = list(inspect.signature(cls).parameters.values())
    placeholders = {parameter.name: object() for parameter in signature}
    defaults = tuple(
        _default(cls, parameter)
        for parameter in signature
        if parameter.default is not inspect.Parameter.empty
    )
    positional = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in signature)
    _check(cls)
    made, another = cls(**placeholders), cls(**placeholders)
    numbers = {id(placeholder): i for i, placeholder in enumerate(placeholders.values())}
    slots = []
    for base in cls.__mro__:
        for name in vars(base).get("__slots__", ()):
            value = _stored(base, name, made)
            if value is not _NOTHING:
                is_new = value is not _stored(base, name, another)
                number = numbers.get(id(value), -1)
                slots.append((name, number, type(value) if is_new else value))
    native.use_plain(cls, tuple(placeholders), positional, defaults, tuple(slots))
    return cls


def _stored(base: Any, name: str, made: object) -> Any:
    """What is in a slot, or nothing; no ``__getattr__`` is asked."""
    if name == "__weakref__":
        return _NOTHING
    try:
        return vars(base)[name].__get__(made)
    except AttributeError:
        return _NOTHING


def _check(cls: type) -> None:
    init: Any = vars(cls).get("__init__")
    new: Any = cls.__new__
    names = [step.opname for step in dis.get_instructions(init)]
    if "__dataclass_params__" in vars(cls):  # not those of a base
        is_computed = hasattr(cls, "__post_init__")
    else:
        is_computed = any(part in name for name in names for part in _DECISIONS)
    if is_computed or cls.__dictoffset__ or new is not object.__new__:
        raise TypeError(f"{cls.__qualname__} is not plain: making it is more than to store")


def _default(cls: type, parameter: inspect.Parameter) -> Any:
    """The default of a parameter; a class for a new object of it each time."""
    fields: dict[str, Any] = getattr(cls, "__dataclass_fields__", {})
    field = fields.get(parameter.name)
    factory = dataclasses.MISSING if field is None else field.default_factory
    if factory is dataclasses.MISSING:
        return parameter.default
    if factory not in _NEW_EACH_TIME:
        raise TypeError(f"{cls.__qualname__}.{parameter.name} has a default that is computed")
    return factory
