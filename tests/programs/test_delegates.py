"""Functions in C that stand for special methods of a class written in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found


def _with(**methods: Any) -> Any:
    """An object of a class that has these methods."""
    return type("View", (), methods)()


def _length() -> Looks:
    items: list[int] = []
    view = _with(__len__=items.__len__)
    return lambda: len(view), lambda: items.append(1)


def _truth() -> Looks:
    items: list[int] = []
    view = _with(__len__=items.__len__)
    return lambda: not view, lambda: items.append(1)


def _contains() -> Looks:
    members: set[int] = set()
    view = _with(__contains__=members.__contains__)
    return lambda: 1 in view, lambda: members.add(1)


def _gets_item() -> Looks:
    mapping: dict[str, int] = {}
    view = _with(__getitem__=staticmethod(mapping.get))
    return lambda: view["a"], lambda: mapping.update(a=1)


def _sets_item() -> Looks:
    mapping: dict[str, int] = {}
    view = _with(__setitem__=mapping.__setitem__)
    return lambda: mapping.get("a"), lambda: view.__class__.__setitem__("a", 1)


def _stores_item() -> Looks:
    mapping: dict[str, int] = {}
    view = _with(__setitem__=mapping.__setitem__)

    def store() -> None:
        view["a"] = 1

    return lambda: mapping.get("a"), store


def _deletes_item() -> Looks:
    mapping = {"a": 1}
    view = _with(__delitem__=mapping.__delitem__)

    def delete() -> None:
        del view["a"]

    return lambda: mapping.get("a"), delete


def _is_called() -> Looks:
    items = [1, 2]
    return lambda: len(items), _with(__call__=staticmethod(items.pop))


def _goes_through() -> Looks:
    items = [1, 2]
    view = _with(__iter__=items.__iter__)
    return lambda: list(view), lambda: items.append(3)


def _goes_on() -> Looks:
    items = [1, 2]
    view = _with(__iter__=lambda self: self, __next__=items.pop)
    return lambda: len(items), lambda: next(view)


def _goes_on_in_a_loop() -> Looks:
    items = [1, 2]
    view = _with(__iter__=lambda self: self, __next__=items.pop)

    def take() -> None:
        for _ in view:
            break

    return lambda: len(items), take


def _by_function(special: str, look: Callable[[Any], object]) -> Callable[[], Looks]:
    """Whether an operation tells of ``mapping.get``, where that stands for a special method."""

    def make() -> Looks:
        mapping: dict[str, int] = {}
        view = _with(**{special: staticmethod(mapping.get)})
        return lambda: look(view), lambda: mapping.update(a=1)

    return make


def _hash() -> Looks:
    items: list[int] = []
    view = _with(__hash__=staticmethod(items.__len__))
    return lambda: hash(view), lambda: items.append(1)


def _text() -> Looks:
    items: list[int] = []
    view = _with(__repr__=staticmethod(items.__repr__))
    return lambda: f"{view!r}", lambda: items.append(1)


def _enters() -> Looks:
    items: list[int] = []
    view = _with(__enter__=staticmethod(items.__len__), __exit__=lambda *_: None)

    def enter() -> object:
        with view as entered:
            return entered

    return enter, lambda: items.append(1)


def _adds_in_place() -> Looks:
    items: list[int] = []
    view = _with(__iadd__=staticmethod(items.append))
    return lambda: len(items), lambda: operator.iadd(view, 1)


OPERATORS = [
    _by_function("__eq__", lambda view: view == "a"),
    _by_function("__ne__", lambda view: view != "a"),
    _by_function("__add__", lambda view: view + "a"),
    _by_function("__radd__", lambda view: "a" + view),
    _by_function("__matmul__", lambda view: view @ "a"),
    *(_hash, _text, _enters, _adds_in_place),
]

ALL = [
    *OPERATORS,
    *(_length, _truth, _contains, _gets_item, _sets_item, _stores_item, _deletes_item),
    *(_is_called, _goes_through, _goes_on, _goes_on_in_a_loop),
]


@pytest.mark.parametrize("make", ALL)
def test_what_they_access_is_seen(make: Callable[[], Looks]) -> None:
    check_that_it_is_found(make)


@pytest.mark.parametrize("make", ALL)
def test_with_a_lock_it_holds_without_a_condition(make: Callable[[], Looks]) -> None:
    check_that_it_holds(make)
