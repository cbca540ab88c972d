"""Weak references to what asyncio has: those of the program, and ours, which are told from them."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ProxyTypes, getweakrefs, ref

from bohrbug.runtime.threads.data.owners import Owner


class OwnReference(ref[Any]):
    """A weak reference that the program does not have."""

    __slots__ = ()


def references_to(value: Any) -> list[Any]:
    """The weak references and proxies to an object that the program has."""
    # By its type: a proxy says that it is an instance of the class of its object.
    return [
        each for each in getweakrefs(value) if not issubclass(type(each), (OwnReference, Owner))
    ]


def callback_of(reference: Any) -> Any:
    """What is called when the object of a weak reference or proxy dies; ``None``: nothing."""
    if type(reference) in ProxyTypes:
        # All attributes are those of its object.
        return next(iter(gc.get_referents(reference)), None)
    return reference.__callback__
