"""What is told of values that functions give back to code in C: each user by itself."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite import by_value, given_back, hooks
from bohrbug.runtime.threads.rewrite.halfway import NOTHING, Called
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.value_users import (
    MOST_KEPT,
    Calling,
    CallingWithSeveral,
    Collecting,
    Folding,
    Looking,
    Spreading,
    Tell,
    Unpacking,
)

PLACE = Place((compile("", "program.py", "exec"), 0))

Told = list[tuple[Any, ...]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What users tell: lists that are read, and calls."""
    told: Told = []
    monkeypatch.setattr(by_value, "read", lambda things, place: told.append(("read", *things)))
    monkeypatch.setattr(hooks, "read_whole", lambda thing, place: told.append(("whole", thing)))
    monkeypatch.setattr(
        Called,
        "tell",
        staticmethod(lambda function, arguments, place: told.append((function, *arguments))),
    )
    return told


def _give(user: Callable[[Any], Tell | None], *values: Any) -> None:
    for value in values:
        tell = user(value)
        if tell is not None:
            tell(PLACE)


def test_one_value_is_looked_at_after_the_other(told: Told) -> None:
    _give(Looking(), [1], 2, [3], NOTHING)
    assert told == [("read", None, [1]), ("read", None, [3])]


def test_values_are_compared_with_those_before_and_once_more_at_the_end(told: Told) -> None:
    _give(Looking(keeps=True), [1], 2, [3], NOTHING)
    first, both = ("read", None, [1]), ("read", None, [1], [3])
    assert told == [first, first, both, both]


def test_not_all_values_are_kept(told: Told) -> None:
    _give(Looking(keeps=True), *([number] for number in range(2 * MOST_KEPT)))
    assert len(told[-1]) == 2 + MOST_KEPT


def test_what_is_looked_for_is_looked_at_with_each(told: Told) -> None:
    _give(Looking(besides=[0]), 1, [2])
    assert told == [("read", [0]), ("read", [0], [2])]


def test_a_function_is_called_with_each(told: Told) -> None:
    _give(Calling({}.get), "a", "b", NOTHING)
    assert [arguments for _, *arguments in told] == [["a"], ["b"]]


def test_what_only_looks_need_not_be_told_of_what_never_changes(told: Told) -> None:
    _give(Calling(len), "a", [1])
    _give(Calling(str), 1)
    assert told == [(len, [1])]


def test_a_function_of_several_iterators_is_called_with_one_item_of_each(told: Told) -> None:
    def numbers() -> Iterator[int]:
        yield 0

    several = CallingWithSeveral(operator.setitem, [numbers(), iter("ab"), numbers()])
    first, _, last = several.users
    _give(first, 1)
    assert not told
    _give(last, 2)
    _give(first, 3)
    _give(last, 4)
    assert told == [(operator.setitem, 1, "a", 2), (operator.setitem, 3, "b", 4)]


def test_of_a_call_with_what_only_code_in_c_knows_no_arguments_are_known(told: Told) -> None:
    def numbers() -> Iterator[int]:
        yield 0

    several = CallingWithSeveral(operator.setitem, [map(len, []), numbers()])
    _give(several.users[1], 1)
    assert told == [(operator.setitem,)]


def test_values_are_folded(told: Told) -> None:
    _give(Folding(operator.iadd), [1], [2], [3])
    assert told == [(operator.iadd, [1], [2]), (operator.iadd, [1], [3])]
    told.clear()
    _give(Folding(operator.add, [0]), [1], [2], NOTHING)
    assert told == [(operator.add, [0], [1]), (operator.add, None, [2])]


def test_what_is_gone_through_at_once_is_read(told: Told) -> None:
    _give(Unpacking([Calling(len)]), [[1], [2]], NOTHING)
    assert told == [("whole", [[1], [2]]), (len, [1]), (len, [2])]
    told.clear()
    _give(Spreading(operator.contains), ([1], 2), NOTHING)
    assert told == [("whole", ([1], 2)), (operator.contains, [1], 2)]


def test_values_are_used_together() -> None:
    together: list[tuple[Any, ...]] = []
    _give(Collecting(lambda values, place: together.append(values)), 1, 2, NOTHING)
    assert together == [(1,), (1, 2), (1, 2)]


def _lists() -> Iterator[list[int]]:
    yield []


class _Numbers:
    def __next__(self) -> int:
        raise StopIteration


@pytest.mark.parametrize(
    ("make", "is_followed"),
    [
        (_lists, True),
        (lambda: iter([1]), True),
        (lambda: itertools.islice(_lists(), 1), True),
        (lambda: map(lambda each: each, []), True),  # noqa: C417
        (lambda: map(functools.partial(_lists), []), True),
        (lambda: map(len, _lists()), False),
        (lambda: filter(None, map(len, _lists())), False),
        (lambda: zip(_lists(), map(len, []), strict=False), False),
        (_Numbers, True),
    ],
)
def test_it_is_known_what_of_an_iterator_is_followed(
    make: Callable[[], Any], is_followed: bool
) -> None:
    assert given_back.is_followed(make()) is is_followed


def test_code_of_what_is_called() -> None:
    def function() -> None:
        pass

    class Object:
        def __call__(self) -> None:
            pass

    assert given_back.code_of(function) is function.__code__
    assert given_back.code_of(functools.partial(function)) is function.__code__
    assert given_back.code_of(Object()) is Object.__call__.__code__
    assert given_back.code_of(Object().__call__) is Object.__call__.__code__
    assert given_back.code_of(len) is None
    assert given_back.code_of(Object) is None


def test_nothing_is_received_where_nothing_is_done() -> None:
    assert given_back.by_iterator(zip(_lists(), _lists(), strict=False)) is None
    assert given_back.by_call([_lists()], ()) is None
    assert given_back.by_call([[1]], [Looking()]) is None
    assert given_back.by_call([_lists()], [Looking()]) is not None
