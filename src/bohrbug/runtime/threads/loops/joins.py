"""Tasks that are waited for together: who waits goes on only once all of them have ended."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from bohrbug.runtime.threads.loops.counting import enclosed, is_of_gather, is_of_group


class Join(NamedTuple):
    """Futures that are waited for together.

    Parameters:
        target: the future that is done once they are.
        children: those of them that are not done.
        is_tolerant: it does not matter whether one fails; else that alone makes the target done.
    """

    target: Any
    children: tuple[Any, ...]
    is_tolerant: bool


def joined_by(callback: Any, known_joins: dict[int, Join]) -> Join | None:
    """The join that a callback of a future is part of, if it is one.

    Parameters:
        callback: of asyncio's, that is told of the end of the future.
        known_joins: those that were met at this moment, by the identities of their targets: each of
            a thousand tasks may be part of the same.
    """
    if type(callback) is not FunctionType and type(callback) is not MethodType:
        # Others could run code of the program when they are asked what they are.
        return None
    if is_of_gather(callback):
        known = enclosed(callback)
        outer = known["outer"]
        if outer is None or outer.done():
            return None
        is_tolerant = bool(known["return_exceptions"])
        return _join(outer, known["children"], is_tolerant, known_joins)
    if is_of_group(callback):
        group: Any = callback.__self__  # type: ignore[union-attr]
        waiter = group._on_completed_fut
        if (
            type(group) is not sys.modules["asyncio.taskgroups"].TaskGroup
            or waiter is None
            or waiter.done()
            or group._aborting
        ):
            return None
        return _join(waiter, group._tasks, False, known_joins)
    return None


def _join(target: Any, children: Any, is_tolerant: bool, known_joins: dict[int, Join]) -> Join:
    found = known_joins.get(id(target))
    if found is None:
        left = tuple(child for child in children if not child.done())
        found = known_joins[id(target)] = Join(target, left, is_tolerant)
    return found
