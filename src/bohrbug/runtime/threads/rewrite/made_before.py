"""Generators and coroutines that were made before the exploration: they keep their code unchanged.

Nothing tells of their accesses. So where such a one goes on, that is a condition of the verdict.
"""

from __future__ import annotations

from types import CoroutineType, GeneratorType
from typing import Any
from weakref import ref

from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.place import Place

TYPES = frozenset({GeneratorType, CoroutineType})

_KINDS = {GeneratorType: "generator", CoroutineType: "coroutine"}

_names: dict[type, Any] = {each: vars(each)["__qualname__"].__get__ for each in TYPES}

_made_before: dict[int, ref[Any]] = {}
"""By ``id``. A weak dictionary would be looked into by functions that tell of that themselves."""


def note(found: Any) -> None:
    """An object of these types was there as the exploration began."""
    if (found.gi_frame if type(found) is GeneratorType else found.cr_frame) is not None:
        _made_before[id(found)] = ref(found)


def forget() -> None:
    """Before an exploration begins."""
    _made_before.clear()


def go_on(iterator: Any, place: Place) -> None:
    """A generator or coroutine is about to go on; or another iterator."""
    known = _made_before.get(id(iterator))
    if known is not None and known() is iterator:
        kind = _KINDS[type(iterator)]
        name: str = _names[type(iterator)](iterator)
        Inspecting.ask(f"the {kind} {name}, which was made before the exploration,", place)
