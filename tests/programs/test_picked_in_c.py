"""Functions in C that are called with what others have picked out of a container."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest

from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found


def _of_lists(look: Callable[[dict[str, Any]], object]) -> Callable[[], Looks]:
    def make() -> Looks:
        lists: dict[str, list[int]] = {"a": [0], "b": []}
        return lambda: look(lists), lambda: lists["b"].extend([1, 2])

    return make


ALL = [
    _of_lists(lambda lists: list(map(len, map(lists.get, "ab")))),
    _of_lists(lambda lists: sum(map(sum, map(lists.__getitem__, "ab")))),
    _of_lists(lambda lists: len(max(map(lists.get, "ab"), key=len))),
    _of_lists(lambda lists: all(map(lists.get, "ab"))),
    _of_lists(lambda lists: len(list(filter(None, map(lists.get, "ab"))))),
    _of_lists(lambda lists: list(map(len, itertools.islice(map(lists.get, "ab"), 2)))),
    _of_lists(lambda lists: functools.reduce(operator.add, map(lists.get, "ab"), [])),
    _of_lists(lambda lists: list(itertools.chain.from_iterable(map(lists.get, "ab")))),
    _of_lists(lambda lists: ",".join(map(str, map(lists.get, "ab")))),
    _of_lists(lambda lists: sorted(map(lists.get, "ab"))[0] is lists["b"]),
    _of_lists(lambda lists: list(map(len, map(operator.itemgetter("b"), [lists])))),
]


@pytest.mark.parametrize("make", ALL)
def test_what_they_do_to_it_is_seen(make: Callable[[], Looks]) -> None:
    check_that_it_is_found(make)


@pytest.mark.parametrize("make", ALL)
def test_with_a_lock_it_holds_without_a_condition(make: Callable[[], Looks]) -> None:
    check_that_it_holds(make)
