"""Finding objects through the garbage collector.

Looking at all objects takes most of the time that it takes to enter an exploration: so it is done
in C, as seldom as possible, and once for all that is wanted.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
from collections.abc import Collection, Iterable
from types import CodeType, FunctionType
from typing import Any

from bohrbug.accelerator import native, with_fast_path


@with_fast_path
def objects_of_types(types: Collection[type]) -> list[Any]:
    """All tracked objects whose type is one of these, not one derived from it.

    Parameters:
        types: a set.
    """
    with _OwnLook():
        objects = gc.get_objects()
    return [found for found in objects if type(found) in types]


@with_fast_path
def referrers_of(target: Any) -> list[Any]:
    """What :func:`gc.get_referrers` gives of an object, but for what is frozen."""
    with _OwnLook():
        return gc.get_referrers(target)


class _OwnLook:
    """Within it, it is not the program that asks for objects."""

    depth = 0

    def __enter__(self) -> None:
        _OwnLook.depth += 1

    def __exit__(self, *exc_info: object) -> None:
        _OwnLook.depth -= 1


def _thaw_when_asked(event: str, _arguments: object) -> None:
    if not _OwnLook.depth and event in ("gc.get_objects", "gc.get_referrers"):
        gc.unfreeze()


@functools.cache
def _thaw_for_programs() -> None:
    """Let nothing be frozen any more once a program asks for objects: it would miss those.

    A hook for audit events sees that wherever it has the function from; it stays for good.
    """
    if native is not None:
        native.thaw_for_programs(gc.unfreeze, gc.get_referrers)
    else:
        sys.addaudithook(_thaw_when_asked)


@with_fast_path
def survey(
    originals: list[Any],
    primitives: Collection[type],
    others: Collection[type],
    passed_over: Collection[type],
    unchangeable: Collection[type],
) -> tuple[list[Any], list[Any], list[FunctionType]]:
    """Everything that entering an exploration has to know of all tracked objects, in one walk.

    Parameters:
        originals: objects that are to be exchanged.
        primitives: all objects of these types are to be exchanged, too.
        others: objects of these types are wanted, but not exchanged.
        passed_over: objects of these types count as nobody's holders.
        unchangeable: whoever holds an object of these types, in which something is to be
            exchanged, has to exchange it as a whole.

    Returns:
        The objects of the types in ``primitives`` and ``others``; the holders: those that refer to
        what is to be exchanged, directly or through one unchangeable object, where of a function
        only its default values count; and all functions, where :func:`freeze` can use them.
    """
    found = objects_of_types({*primitives, *others})
    wanted = [*originals, *(each for each in found if type(each) in primitives)]
    direct = _referrers(wanted, passed_over)
    within = [each for each in direct if type(each) in unchangeable]
    # Before anything else is made of the direct ones, which would be found here, hold itself, and
    # stay until the next garbage collection.
    further = _referrers(within, passed_over)
    holders = {id(each): each for each in itertools.chain(direct, further)}
    for own in (originals, found, wanted, direct, within):
        holders.pop(id(own), None)
    return found, [each for each in holders.values() if not _is_undefaulted(each)], []


def _referrers(objects: Iterable[Any], passed_over: Collection[type]) -> list[Any]:
    # From Python 3.13 on the arguments of the call are found, too.
    arguments = tuple(objects)
    with _OwnLook():
        holders = gc.get_referrers(*arguments)
    return [found for found in holders if type(found) not in passed_over and found is not arguments]


def _is_undefaulted(holder: Any) -> bool:
    return type(holder) is FunctionType and holder.__defaults__ is None


_CAN_WATCH = sys.version_info >= (3, 12)
"""The interpreter tells of functions that are made."""

_CAN_LOOK_AT_FROZEN = native is not None and not _CAN_WATCH
"""Frozen objects can be looked at where they are."""

Functions = list[FunctionType] | None
"""Functions to look for some among; ``None`` are all, known without looking at objects."""


class _Frozen:
    """The functions among frozen objects, if somebody has asked for them since these were frozen.

    They are kept alive for that time: an execution that lets go of one would do so only once.
    """

    functions: list[FunctionType] | None = None
    last = 0


def know_functions() -> None:
    """Know all functions from now on, where the interpreter tells when one is made."""
    if _CAN_WATCH and native is not None:
        native.watch_functions()


def freeze(functions: list[FunctionType] | None = None) -> None:
    """Let collections pass over all objects that there are now, the functions of which stay known.

    They are no longer frozen once the program asks the collector for objects.  Functions of which
    the interpreter does not tell have to be looked for among all objects.

    Parameters:
        functions: all that there are, if somebody has looked at all objects just now.
    """
    know_functions()
    is_told = knows_functions() or _CAN_LOOK_AT_FROZEN
    _Frozen.functions = functions if is_told else objects_of_types({FunctionType})
    _thaw_for_programs()
    gc.freeze()
    if _CAN_LOOK_AT_FROZEN:
        _Frozen.last = native.last_frozen()


def pass_over() -> None:
    """Let collections pass over all that there is now, until the first :func:`unfreeze`.

    What a session has loaded stays: to look at it takes longer than many a suite.  Nothing happens
    where functions are found only among objects that are not frozen.
    """
    know_functions()
    if knows_functions() or _CAN_LOOK_AT_FROZEN:
        _thaw_for_programs()
        gc.freeze()


COLLECTED_EVERY = 100
"""Explorations between two full garbage collections."""

_explored = itertools.count(1)


def collect_now_and_then() -> None:
    """Collect what older objects hold of explorations, after some of them.

    To look at all objects after each of them would cost too much.
    """
    if next(_explored) % COLLECTED_EVERY == 0:
        gc.collect()


def unfreeze() -> None:
    """Undo :func:`freeze`."""
    _Frozen.functions = None
    gc.unfreeze()


def all_functions() -> Functions:
    """All functions written in Python, those included that exist since before :func:`freeze`."""
    if knows_functions():
        return None
    return [*_frozen_functions(), *objects_of_types({FunctionType})]


def _frozen_functions() -> list[FunctionType]:
    if not _CAN_LOOK_AT_FROZEN:
        return _Frozen.functions or []
    # The program may have frozen some more.
    last = native.last_frozen()
    if _Frozen.functions is None or last != _Frozen.last:
        _Frozen.functions = native.frozen_objects_of_types({FunctionType}) if last else []
        _Frozen.last = last
    return _Frozen.functions


def knows_functions() -> bool:
    """Whether all functions are known from their making, frozen ones included.

    So it is from the first :func:`freeze` on, with the accelerator on Python 3.12 and newer.
    """
    return native is not None and native.functions_are_watched()


@with_fast_path
def functions_running(codes: Collection[CodeType], functions: Functions) -> list[FunctionType]:
    """Those of some functions that have one of these code objects."""
    wanted = {id(code) for code in codes}
    return [each for each in functions or () if id(each.__code__) in wanted]


@with_fast_path
def functions_in(
    namespaces: Collection[dict[str, Any]], functions: Functions
) -> list[FunctionType]:
    """Those of some functions that have one of these dicts as their globals."""
    wanted = {id(namespace) for namespace in namespaces}
    return [each for each in functions or () if id(each.__globals__) in wanted]
