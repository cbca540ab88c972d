"""Dataclasses whose methods are made when somebody needs them.

To make them takes some tenths of a millisecond for each class, a third of the time that it takes to
begin a session of pytest; in one whose tests have one task hardly any of the classes is used.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

_MADE_LATER = (
    "__init__",
    "__match_args__",
    "__repr__",
    "__dataclass_fields__",
    "__dataclass_params__",
)
"""What every dataclass has; see also :func:`_names`."""

_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")
"""Words in annotations of what is no field, or no usual one."""

_OF_CLASS = ("__dict__", "__weakref__")
"""What a class gets by itself."""


class _Pending:
    """The classes whose methods are still to be made."""

    # With what is to be done for each, in order.
    classes: ClassVar[dict[type, list[Callable[[], None]]]] = {}
    is_over = False


class _Later:
    """Stands for an attribute of a class, and makes all of them when one is asked for."""

    __slots__ = ("_cls", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._cls: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._cls = owner

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        assert self._cls is not None
        _complete(self._cls)
        found = vars(self._cls)[self._name]
        return found.__get__(instance, owner) if isinstance(found, FunctionType) else found


def complete_dataclasses() -> None:
    """Make all that is still missing; what comes from now on is made at once.

    In an execution that is looked at, nothing of this is to happen in the midst of a step.
    """
    _Pending.is_over = True
    for cls in list(_Pending.classes):
        _complete(cls)


def when_complete(cls: type, act: Callable[[], None]) -> None:
    """Call a function once a class has all of its methods: at once, if it has them."""
    waiting = _Pending.classes.get(cls)
    if waiting is None:
        act()
    else:
        waiting.append(act)


def _complete(cls: type) -> None:
    for act in _Pending.classes.pop(cls, ()):
        act()


def _decorated(cls: type, frozen: bool, eq: bool) -> type:
    """A class with slots for the fields of another one, whose methods are made later.

    Parameters:
        cls: as it was written.
        frozen, eq: see :func:`dataclasses.dataclass`.
    """
    fields = tuple(inspect.get_annotations(cls))
    namespace = {
        name: value
        for name, value in vars(cls).items()
        if name not in fields and name not in _OF_CLASS
    }
    names = _names(frozen, eq)
    namespace.update((name, _Later(name)) for name in names)
    if eq and not frozen:
        namespace["__hash__"] = None
    namespace.update(__slots__=fields, __qualname__=cls.__qualname__)
    if frozen:
        # As the real one has it: no attribute can be set when it is unpickled.
        namespace.update(__getstate__=_get_state, __setstate__=_set_state)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)

    def complete() -> None:
        # The class as it was written still has the default values.
        dataclasses.dataclass(frozen=frozen, eq=eq)(cls)
        for name in names:
            setattr(made, name, vars(cls)[name])
        if frozen:
            made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete  # type: ignore[assignment, method-assign]

    _Pending.classes[made] = [complete]
    return made


def _names(frozen: bool, eq: bool) -> tuple[str, ...]:
    """The attributes that are made later."""
    compared = ("__eq__", "__hash__") if frozen else ("__eq__",)
    return (*_MADE_LATER, *compared) if eq else _MADE_LATER


def _refuse_to_set(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _is_usual(cls: type) -> bool:
    """Whether a class has fields and methods, and nothing that needs more care."""
    own = vars(cls)
    annotations = inspect.get_annotations(cls)
    # The real one writes documentation where there is none.
    if not (annotations and cls.__doc__) or "__slots__" in own or cls.__bases__ != (object,):
        return False
    if any(not isinstance(each, str) for each in annotations.values()):
        return False
    if any(word in each for each in annotations.values() for word in _SPECIAL):
        return False
    written = (*_names(frozen=True, eq=True), "__setattr__", "__delattr__", "__getstate__")
    return not any(name in own for name in written) and not any(
        isinstance(each, FunctionType) and "__class__" in each.__code__.co_freevars
        for each in own.values()
    )


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        slots: bool = False,
        **others: Any,
    ) -> Any:
        """The decorator of :mod:`dataclasses`, with the same parameters."""

        def decorate(cls: type) -> type:
            if _Pending.is_over or others or not slots or not _is_usual(cls):
                return dataclasses.dataclass(frozen=frozen, eq=eq, slots=slots, **others)(cls)
            return _decorated(cls, frozen, eq)

        return decorate if cls is None else decorate(cls)
