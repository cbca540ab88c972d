"""Functions in C that stand for special methods of a class written in Python."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind

from .guarding import Guard
from .together import together

Looks = tuple[Callable[[], object], Callable[[], object]]
"""What looks at something, and what changes it."""


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


ALL = [
    *(_length, _truth, _contains, _gets_item, _sets_item, _stores_item, _deletes_item),
    *(_is_called, _goes_through, _goes_on, _goes_on_in_a_loop),
]


def _seen_twice(guard: Guard, make: Callable[[], Looks]) -> None:
    look, change = make()

    def look_twice() -> None:
        with guard:
            first, second = look(), look()
        assert first == second

    def change_once() -> None:
        with guard:
            change()

    together(look_twice, change_once)


@pytest.mark.parametrize("make", ALL)
def test_what_they_access_is_seen(make: Callable[[], Looks]) -> None:
    result = bohrbug.explore(
        lambda: _seen_twice(contextlib.nullcontext(), make),
        strategy="dpor",
        executions=100,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("make", ALL)
def test_with_a_lock_it_holds_without_a_condition(make: Callable[[], Looks]) -> None:
    result = bohrbug.explore(
        lambda: _seen_twice(threading.Lock(), make), strategy="dpor", executions=100
    )
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking
