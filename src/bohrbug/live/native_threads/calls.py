"""Calls of synchronisation as cue points: methods of the standard library, by the one table.

The functions of :mod:`bohrbug.runtime.interposed` that are written in Python are wrapped. Locks and
queues in C stay as they are: what is in front of them is a cue point mostly all the same, as the
attribute or variable they are got from is read there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType
from typing import Any

from bohrbug.runtime.interposed import CONTROL, ROWS, owner_named
from bohrbug.runtime.threads.patches import Patches

_MODULES = ("threading", "queue", "concurrent.futures._base", "concurrent.futures.thread")
"""Whose methods are wrapped."""

_NO_CALLS = frozenset({"__init__", "__hash__", "__repr__", "name", "daemon", "ident", "native_id"})
"""What is in the table for other reasons."""


def wrapped_methods() -> Iterator[tuple[Any, str]]:
    """The classes, with the names of those of their methods that synchronise."""
    for row in ROWS:
        module, _, cls = row.owner.partition(":")
        if module not in _MODULES or not cls or module not in sys.modules:
            continue
        owner = owner_named(row.owner)
        for name in row.names(CONTROL):
            is_internal = name.startswith("_") and not name.endswith("__")
            is_call = name not in _NO_CALLS and not is_internal
            if is_call and type(vars(owner).get(name)) is FunctionType:
                yield owner, name


def patches_for(cue: Callable[[], object]) -> Patches:
    """Wrappers that call ``cue`` before each of these methods."""
    patches = Patches()
    for owner, name in wrapped_methods():
        patches.add(owner, name, _telling(vars(owner)[name], cue))
    return patches


def _telling(method: Callable[..., Any], cue: Callable[[], object]) -> Callable[..., Any]:
    @wraps(method)
    def tell_and_call(*args: Any, **kwargs: Any) -> Any:
        cue()
        return method(*args, **kwargs)

    return tell_and_call
