"""The objects of the tested program that have variables, and how each of them is referred to."""

from __future__ import annotations

import dis
import os
import sys
import weakref
from types import FunctionType
from typing import Any, Protocol

from bohrbug.accelerator import with_fast_path
from bohrbug.model.operation import ResourceId
from bohrbug.model.site import site_of
from bohrbug.runtime.threads.data.expressions import accessed_name, holder_name
from bohrbug.runtime.threads.data.kinds import GLOBALS, Kind
from bohrbug.runtime.threads.data.places import Place
from bohrbug.runtime.threads.data.shadows import IdentityKey, Shadow, shown
from bohrbug.runtime.threads.rewrite.classes import name_of
from bohrbug.runtime.threads.stacks import is_own

_real_basename = os.path.basename


class Naming(Protocol):
    """Names the objects of one execution."""

    def next_name(self) -> ResourceId:
        """An id for an object that the running task is the first to ask for."""
        ...


_CACHE = "_lru_cache_wrapper"

# A class with slots of its own could not be a base beside ``weakref.ref``.
_IN_SUBCLASSES = ()
OWNER_SLOTS = (
    "attributes",
    "identity",
    "identity_key",
    "items",
    "kind",
    "label",
    "name",
    "place",
    "variables",
    "whole",
)


class Owner:
    """An object that has variables; its two subclasses differ in how they refer to it."""

    __slots__ = _IN_SUBCLASSES

    identity: int
    kind: Kind
    # Of a file, whose path is gone with it.
    label: str | None
    variables: Naming
    name: ResourceId | None
    # Where it was first touched.
    place: Place | None
    attributes: dict[str, Shadow]
    items: dict[object, Shadow]
    whole: Shadow | None
    identity_key: IdentityKey | None

    @property
    def resource_id(self) -> ResourceId:
        """Names the object; given when it is first asked for, see :attr:`Shadow.resource_id`."""
        if self.name is None:
            self.name = self.variables.next_name()
        return self.name

    def target(self) -> Any:
        """The object, or ``None`` if it is no more."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Drop the variables, which refer back here: nobody else would resolve the cycle."""
        self.attributes.clear()
        self.items.clear()
        self.whole = None

    def describe(self, shadow: Shadow) -> str:
        """The label of one of the owner's variables."""
        key = shadow.key
        if self.label is not None:
            return self.label
        if shadow.is_item:
            if self.kind is GLOBALS:
                return f"global {key}"
            holder = self._holder()
            if holder and isinstance(key, str):
                return f"{holder}.{key}"
            return f"{self._located()}[{shown(key, in_label=True)}]"
        if key is None:
            return self._cell() if self.kind.name == "cell" else self._located()
        target = self.target() if self.kind.is_type else None
        return f"{self.kind.name if target is None else name_of(target)}.{key}"

    def _holder(self) -> str:
        """Of the ``__dict__`` of an object, told of in its place: what the source calls that."""
        place = self.place
        return holder_name(place) if place is not None and self.kind.name == "dict" else ""

    def _located(self) -> str:
        if holder := self._holder():
            return f"{holder}.__dict__"
        if self.kind.is_container and self.place is not None:
            name = accessed_name(self.place)
            if name:
                return f"{self.kind.name} {name}"
        if self.kind.name == _CACHE:
            return self._cache()
        site = site_of(self.place)
        if site is None or is_own(site.filename):
            return self.kind.name
        return f"{self.kind.name} {_real_basename(site.filename)}:{site.line}"

    def _cache(self) -> str:
        """Of ``lru_cache``: by the function whose results it keeps."""
        target = self.target()
        function = None if target is None else target.__dict__.get("__wrapped__")
        return f"cache of {function.__name__}" if type(function) is FunctionType else "cache"

    def _cell(self) -> str:
        if self.place is None:
            return "cell"
        code, offset = self.place
        names = code.co_cellvars + code.co_freevars
        for instruction in dis.get_instructions(code):
            if instruction.offset == offset and instruction.argval in names:
                return f"cell {instruction.argval} in {code.co_name}"
        return f"cell in {code.co_name}"


class WeakOwner(Owner, weakref.ref[Any]):
    """An owner that can be referenced weakly; itself the weak reference."""

    __slots__ = OWNER_SLOTS

    def target(self) -> Any:
        """See :meth:`Owner.target`."""
        return self()


class HeldOwner(Owner):
    """An owner that can't: held until :meth:`Variables.sweep` finds that nobody else does."""

    __slots__ = (*OWNER_SLOTS, "object")

    def __init__(self, object: Any) -> None:
        self.object = object

    def target(self) -> Any:
        """See :meth:`Owner.target`."""
        return self.object


def _references_of_held() -> int:
    """What ``sys.getrefcount`` says of an object that only its owner record holds."""
    owner = HeldOwner([])
    return sys.getrefcount(owner.object)


_HELD_ONLY_BY_US = _references_of_held()


@with_fast_path
def held_only_by_us(held: dict[int, HeldOwner], /) -> list[HeldOwner]:
    """The owners whose objects nobody else refers to; asked at each write where deaths matter."""
    return [owner for owner in held.values() if sys.getrefcount(owner.object) <= _HELD_ONLY_BY_US]
