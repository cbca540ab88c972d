"""Objects that are looked at by value: compared, or made into text.

``==`` of two lists looks into the lists inside, and so do ``in``, ``sorted``, ``str`` and
f-strings. What is of a class written in Python tells its accesses itself, as its methods are
called; what holds other objects and is written in C is gone through here.
"""

from __future__ import annotations

import collections
import datetime
import fractions
import gc
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bohrbug.runtime.threads.rewrite import families, halfway, meanings, tell
from bohrbug.runtime.threads.rewrite.attributes import is_stored
from bohrbug.runtime.threads.rewrite.classes import instance_dict, order_of, remember_class
from bohrbug.runtime.threads.rewrite.place import Place

MOST_REACHED = 1_000
"""Containers that are looked at for one operation; what lies behind them is not seen."""

LEAVES = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented)}
    | {type, range, slice, datetime.date, datetime.time, datetime.datetime, datetime.timedelta}
    | {datetime.timezone, fractions.Fraction, types.ModuleType, types.CodeType}
    | {types.FunctionType, types.BuiltinFunctionType, types.MethodType}
)
"""Classes whose objects lead to nothing that changes, and call nothing of the program."""

_PLAIN = frozenset({list, dict, set, tuple, frozenset, collections.deque})
_TRANSPARENT = families.UNCHANGING
_HOLDING = (list, dict, set, collections.deque, types.SimpleNamespace, *families.VIEWS)


_SHOWN_BY = {
    OSError: ("errno", "strerror", "filename", "filename2"),
    SyntaxError: ("msg", "filename", "lineno"),
    ImportError: ("msg",),
    UnicodeEncodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeDecodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeTranslateError: ("object", "start", "end", "reason"),
}
"""By classes of exceptions whose texts don't show their arguments alone: what these show."""


class _Shown(dict[type, tuple[str, ...]]):
    """The attributes that a text of an exception of a class may show."""

    def __missing__(self, class_: type) -> tuple[str, ...]:
        further = next((_SHOWN_BY[base] for base in order_of(class_) if base in _SHOWN_BY), ())
        self[class_] = answer = ("args", *further)
        remember_class(self, class_)
        return answer


_SHOWN = _Shown()


class _Holding(dict[type, bool]):
    """Whether objects of a class hold others that an operation by value looks at."""

    def __missing__(self, class_: type) -> bool:
        self[class_] = answer = issubclass(class_, (*_TRANSPARENT, *_HOLDING, BaseException))
        remember_class(self, class_)
        return answer


HOLDING = _Holding()


def read(things: Iterable[Any], place: Place, told: Iterable[Any] = ()) -> None:
    """Some objects are about to be looked at by value, in one step.

    Methods written in Python may be called meanwhile; where they begin the first container is told
    once more.

    Parameters:
        things: the objects.
        place: where.
        told: those of them of which it is told already that they are accessed.
    """
    tell.in_one_step(place, _tell, things, place, [id(thing) for thing in told])


def _tell(things: Iterable[Any], place: Place, told: Sequence[int]) -> None:
    first: Any = None
    calls_back = False
    depends_on_classes = is_stored("__class__") or is_stored("__bases__")
    for thing in _reached(things):
        if depends_on_classes:
            meanings.read_class(thing, place)
        if issubclass(type(thing), BaseException):
            for name in _SHOWN[type(thing)]:
                tell.attribute(thing, name, False, place)
        elif families.CONTAINER[type(thing)] or HOLDING[type(thing)]:
            if id(thing) not in told:
                meanings.tell_whole(thing, False, place)
            if first is None:
                first = thing
        else:
            calls_back = True
    if calls_back and first is not None:
        halfway.begin(meanings.telling_again(first, False))


def read_one(thing: Any, place: Place) -> None:
    """One object is about to be looked at by value."""
    read((thing,), place)


def _reached(things: Iterable[Any]) -> Iterator[Any]:
    """The containers among some objects and in them, and the objects that are none.

    Each is gone through only after it was given out, as another task may run there.
    """
    seen: dict[int, Any] = {}
    waiting = list(things)
    for thing in waiting:
        class_ = type(thing)
        if class_ in LEAVES or id(thing) in seen:
            continue
        if len(seen) >= MOST_REACHED:
            return
        seen[id(thing)] = thing
        if not issubclass(class_, _TRANSPARENT):
            yield thing
        if HOLDING[class_]:
            waiting.extend(_held_by(thing))


def _held_by(thing: Any) -> Iterable[Any]:
    """What is in a container; not the attributes that it has besides."""
    class_ = type(thing)
    if issubclass(class_, BaseException):
        arguments: Iterable[Any] = vars(BaseException)["args"].__get__(thing)
        return arguments
    if class_ in families.VIEWS:
        return [held for inner in gc.get_referents(thing) for held in gc.get_referents(inner)]
    held = gc.get_referents(thing)
    if class_ is types.SimpleNamespace:
        return [each for namespace in held for each in gc.get_referents(namespace)]
    if class_ in _PLAIN:
        return held
    namespace = instance_dict(thing)
    return [each for each in held if each is not namespace and each is not class_]
