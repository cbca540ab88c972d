"""What ``case class_(...)`` reads of a subject, and of the class."""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.rewrite import hooks, meanings, tell
from bohrbug.runtime.threads.rewrite.attributes import read_kinds
from bohrbug.runtime.threads.rewrite.classes import look_up, order_of
from bohrbug.runtime.threads.rewrite.place import Place


def match_class(subject: Any, class_: Any, names: Any, count: int, place: Place) -> None:
    """``case class_(...)`` is about to be tried: the attributes it names are read.

    Parameters:
        subject: what is matched.
        class_: of the pattern.
        names: of the attributes that the pattern names itself.
        count: of the positions, whose attributes ``__match_args__`` of the class names.
        place: of the pattern.
    """
    if tell.active and issubclass(type(class_), type):
        tell.in_one_step(place, _match_class, subject, class_, names, count, place)


def _match_class(subject: Any, class_: Any, names: Any, count: int, place: Place) -> None:
    meanings.read_class(subject, place)
    if count:
        hooks.read_attribute(class_, "__match_args__", read_kinds("__match_args__"), place)
    # A metaclass may decide in code of its own, which must not run twice.
    if type(class_) is type and class_ not in order_of(type(subject)):
        return
    positions = look_up(class_, "__match_args__")
    if type(positions) is tuple:
        names = positions[:count] + names
    for name in names:
        if type(name) is str:
            hooks.read_attribute(subject, name, read_kinds(name), place)
