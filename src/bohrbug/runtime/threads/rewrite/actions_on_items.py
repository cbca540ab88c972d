"""What calls of code in C do that operators and loops do, too: those actions of a call."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.rewrite import (
    builtins_table as table,
)
from bohrbug.runtime.threads.rewrite import (
    effects,
    families,
    hooks,
    iteration,
    meanings,
    operators,
    tell,
)
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.place import Place


def read_arguments(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """All items of each argument are read."""
    for argument in arguments:
        iteration.consume_in_any_order(argument, place)


def _read_parts(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_parts, owner, place)


def _tell_parts(owner: Any, place: Place) -> None:
    for part in (owner, *(each for each in gc.get_referents(owner) if type(each) is type(owner))):
        meanings.tell_whole(part, False, place)


def _contains(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        operators.contains(arguments[0], owner, place)
    else:
        iteration.consume_in_any_order(owner, place)


def _contains_by_name(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        family = families.CONTAINS_BY_NAME[type(owner)]
        operators.contains_in(family, arguments[0], owner, place)
    else:
        iteration.consume_in_any_order(owner, place)


def _next(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if table.ITERATORS[type(owner)]:
        iteration.advance(owner, place)
    else:
        meanings.tell_special_method(owner, "__next__", (), place)


def _ask_for_length(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if table.ITERATORS[type(owner)]:
        iteration.advance(owner, place)
    else:
        hooks.read_whole(owner, place)


def _iterate(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    iteration.iterate(owner, place)


def _consume_owner(owner: Any, arguments: tuple[Any, ...], place: Place) -> iteration.Tell | None:
    return iteration.consume_in_any_order(owner, place)


def _binary(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    operators.binary(owner, arguments[0] if arguments else None, place)


def _compare(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    operators.compare(owner, arguments[0] if arguments else None, place)


def _binary_in_place(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    operators.binary_in_place(owner, arguments[0] if arguments else None, place)


def _change_future(owner: Any, _: tuple[Any, ...], place: Place) -> None:
    Inspecting.use_future(owner, True, place)
    tell.whole(owner, True, place)


def _look_at_future(owner: Any, _: tuple[Any, ...], place: Place) -> None:
    Inspecting.use_future(owner, False, place)
    tell.whole(owner, False, place)


ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], iteration.Tell | None]] = {
    effects.CHANGE_FUTURE: _change_future,
    effects.LOOK_AT_FUTURE: _look_at_future,
    effects.CONTAINS_ITEM: _contains,
    effects.CONTAINS_ITEM_BY_NAME: _contains_by_name,
    effects.STEP: _next,
    effects.ASK_FOR_LENGTH: _ask_for_length,
    effects.ITERATE: _iterate,
    effects.CONSUME: _consume_owner,
    effects.BINARY: _binary,
    effects.COMPARE: _compare,
    effects.BINARY_IN_PLACE: _binary_in_place,
    effects.READ_ARGUMENTS: read_arguments,
    effects.READ_PARTS: _read_parts,
}
