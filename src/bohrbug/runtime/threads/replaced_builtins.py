"""Builtins that a program replaces: what tells of its failures works with those there were.

They are put back when an execution is over. Our own modules have builtins of their own, but the
library that they use has those of the program.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from bohrbug.accelerator import with_fast_path


@with_fast_path
def has_values(namespace: dict[str, Any], values: list[Any], /) -> bool:
    """Whether the values of a dict are these objects, in this order; asked twice per execution."""
    found = [*namespace.values()]
    return len(found) == len(values) and all(map(operator.is_, found, values))


_NAMESPACE = vars(builtins)
_before: dict[str, Any] = dict(_NAMESPACE)
_values: list[Any] = [*_NAMESPACE.values()]


def begin() -> None:
    """An execution begins: remember the builtins that there are."""
    global _before, _values
    if not _are_as_before():
        _before = _NAMESPACE.copy()
        _values = [*_before.values()]


def put_back() -> None:
    """An execution is over."""
    if not _are_as_before():
        _exchange(_before)


def _are_as_before() -> bool:
    # A builtin that is replaced keeps its place, one more or less changes the length.
    return has_values(_NAMESPACE, _values)


def _exchange(wanted: dict[str, Any]) -> None:
    # What was added may be there for good, as what ``gettext.install`` adds.
    for name, value in wanted.items():
        if _NAMESPACE.get(name) is not value:
            _NAMESPACE[name] = value


@contextmanager
def as_before() -> Generator[None]:
    """Within it there are the builtins that there were when the execution began."""
    theirs = _NAMESPACE.copy()
    put_back()
    try:
        yield
    finally:
        _exchange(theirs)
