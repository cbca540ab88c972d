"""Whose ``__dict__`` the program got hold of, so that its items are known as attributes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from bohrbug.runtime.threads.rewrite.attributes import has_dict_apart
from bohrbug.runtime.threads.rewrite.classes import instance_dict, namespace_of

# A test may put something else in the place of the builtin.
_length = len


class _Kept:
    """Stands for a reference to an object that can't be referenced weakly, and is kept.

    Such as a ``types.SimpleNamespace``, or an exception.
    """

    __slots__ = ("_owner",)

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __call__(self) -> Any:
        return self._owner


KNOWN_DICTS: dict[int, Callable[[], Any]] = {}
"""The owners of dicts, by ``id(dict)``; most programs never have one."""

_kept: set[int] = set()
"""The keys of those that are kept: what is let go of after each execution is not looked for."""

_MOST = 4096


def remember_dict(owner: Any) -> None:
    """Note whose ``__dict__`` it is that the program is about to get hold of."""
    if issubclass(type(owner), ModuleType):
        return
    namespace = _namespace(owner)
    if namespace is None:
        return
    key = id(namespace)
    try:
        reference: Callable[[], Any] = weakref.ref(owner)
        _kept.discard(key)
    except TypeError:
        reference = _Kept(owner)
        _kept.add(key)
    if _length(KNOWN_DICTS) >= _MOST:
        del KNOWN_DICTS[next(iter(KNOWN_DICTS))]
    KNOWN_DICTS[key] = reference


def let_owners_go() -> None:
    """At the end of an execution: let go of objects that can't be referenced weakly."""
    for key in _kept:
        KNOWN_DICTS.pop(key, None)
    _kept.clear()


def _namespace(owner: Any) -> Any:
    """The ``__dict__`` of an object; of a class what lies under the proxy that it shows."""
    if issubclass(type(owner), type):
        return gc.get_referents(namespace_of(owner))[0]
    return instance_dict(owner)


def owner_of_dict(namespace: dict[Any, Any]) -> Any:
    """The object whose ``__dict__`` this is, or ``None``."""
    reference = KNOWN_DICTS.get(id(namespace))
    if reference is None:
        return None
    owner = reference()
    if owner is not None and _namespace(owner) is namespace:
        # One that may be exchanged, or be several objects', stands for itself.
        is_class = issubclass(type(owner), type)
        return owner if is_class or not has_dict_apart(type(owner)) else None
    del KNOWN_DICTS[id(namespace)]
    return None
