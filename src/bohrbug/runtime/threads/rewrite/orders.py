"""Loops over sets of objects that hash by identity: natively the order may be any.

An execution takes one order, the same each time (:mod:`bohrbug.runtime.threads.identities`), and a
verdict names that among its conditions. Sets in which things are only looked up don't matter.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from types import MethodType
from typing import Any

from bohrbug.model.site import site_of
from bohrbug.runtime.threads.rewrite.classes import look_up, remember_class
from bohrbug.runtime.threads.rewrite.place import Place

_real_basename = os.path.basename


SETS = frozenset({set, frozenset})
"""Classes whose iterators go by hash."""

_by_address = object.__hash__
_nested = frozenset({tuple, frozenset})
_met: dict[int, Place] = {}
_fresh: list[Place] = []


class _ByIdentity(dict[type, bool]):
    """Whether objects of a class hash by what tells them apart, which is an address."""

    def __missing__(self, class_: type) -> bool:
        hashing = look_up(class_, "__hash__")
        # What stands for it without the accelerator is wrapped around it.
        hashing = getattr(hashing, "__wrapped__", hashing)
        answer = hashing is _by_address and class_ is not type(None)
        self[class_] = answer
        remember_class(self, class_)
        return answer


_BY_IDENTITY = _ByIdentity()
_BY_IDENTITY[MethodType] = True


def note(owner: Iterable[Any], place: Place) -> None:
    """Code goes through a set.

    Parameters:
        owner: of a class in :data:`SETS`.
        place: where.
    """
    if id(place) not in _met and len(owner) > 1 and any(map(_is_by_identity, owner)):  # type: ignore[arg-type]
        _met[id(place)] = place
        _fresh.append(place)


def _is_by_identity(element: Any) -> bool:
    class_ = type(element)
    if class_ in _nested:
        return any(map(_is_by_identity, element))
    if issubclass(class_, weakref.ref):
        return _is_by_identity(element())
    return _BY_IDENTITY[class_]


def taken() -> list[str]:
    """What was noted since this was asked last, for people."""
    texts: list[str] = []
    if not _fresh:
        return texts
    for place in _fresh:
        site = site_of(place)
        where = "" if site is None else f" at {_real_basename(site.filename)}:{site.line}"
        texts.append(f"the order of the set{where} as it was")
    _fresh.clear()
    return texts


def forget() -> None:
    """At the beginning of an exploration."""
    _met.clear()
    _fresh.clear()
    _BY_IDENTITY.clear()
    _BY_IDENTITY[MethodType] = True
