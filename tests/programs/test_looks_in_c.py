"""Ways to look at a container that code in C goes through by itself."""

from __future__ import annotations

import collections
import copy
import itertools
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from .looking_twice import Looks, check_that_it_holds, check_that_it_is_found


def _values_of_a_dict() -> Looks:
    items = {"key": 1}
    return lambda: 2 in items.values(), lambda: items.update(key=2)


def _memory_through_a_view() -> Looks:
    view = memoryview(bytearray(2))
    return lambda: 2 in view, lambda: view.__setitem__(0, 2)


def _arguments_of_starmap() -> Looks:
    items = [1]

    def count(*arguments: int) -> int:
        return len(arguments)

    return lambda: list(itertools.starmap(count, [items])), lambda: items.append(2)


def _list_of_the_user() -> Looks:
    items = collections.UserList([1])
    return lambda: pickle.loads(pickle.dumps(items)), lambda: items.append(2)


def _copy_of_a_dict_with_defaults() -> Looks:
    items = collections.defaultdict(int, key=1)
    return lambda: copy.copy(items), lambda: items.update(key=2)


def _event_by_its_old_name() -> Looks:
    event: Any = threading.Event()

    def look() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return event.isSet()

    return look, event.set


ALL = [
    _values_of_a_dict,
    _memory_through_a_view,
    _arguments_of_starmap,
    _list_of_the_user,
    _copy_of_a_dict_with_defaults,
    _event_by_its_old_name,
]


@pytest.mark.parametrize("make", ALL)
def test_what_is_looked_at_is_seen(make: Callable[[], Looks]) -> None:
    check_that_it_is_found(make)


@pytest.mark.parametrize("make", ALL)
def test_with_a_lock_it_holds_without_a_condition(make: Callable[[], Looks]) -> None:
    check_that_it_holds(make)
