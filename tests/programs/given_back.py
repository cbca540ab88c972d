"""What code in C does with values that functions in Python give back to it.

Each entry of :data:`SEES_BOTH_ALIKE` looks at two lists, to both of which another task appends one
item, and says whether it has seen the same of both. Functions written in Python run in the middle,
and the other task may come in there.
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.programs.guarding import Guard
from tests.programs.together import together

Lists = list[list[int]]


def each(lists: Lists) -> Iterator[list[int]]:
    """A generator that is a function of its own."""
    yield lists[0]
    yield lists[1]


def _outer(lists: Lists) -> Iterator[list[int]]:
    yield from each(lists)


def _nested(lists: Lists) -> Iterator[list[list[int]]]:
    yield [lists[0]]
    yield [lists[1]]


def _ones() -> Iterator[int]:
    yield 1
    yield 1


class _Each:
    """An iterator written in Python."""

    def __init__(self, lists: Lists) -> None:
        self.left = list(lists)

    def __iter__(self) -> _Each:
        return self

    def __next__(self) -> list[int]:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)


class _Tree:
    """It makes a generator of itself."""

    def __init__(self, lists: Lists) -> None:
        self.lists = lists

    def __iter__(self) -> Iterator[list[int]]:
        yield from [self.lists[0]]
        yield from [self.lists[1]]


class _Sequence:
    """It only has items."""

    def __init__(self, lists: Lists) -> None:
        self.lists = lists

    def __getitem__(self, number: int) -> list[int]:
        return self.lists[number]


class _Getter:
    """An object that is called."""

    def __init__(self, lists: Lists) -> None:
        self.lists = lists

    def __call__(self, number: int) -> list[int]:
        return self.lists[number]

    def get(self, number: int) -> list[int]:
        return self.lists[number]


class _Other:
    """What json can't write by itself."""

    def __init__(self, number: int) -> None:
        self.number = number


def _same(numbers: Iterable[object]) -> bool:
    first, second = numbers
    return first == second


def _one_by_one(numbers: Iterator[object]) -> bool:
    return next(numbers) == next(numbers)


def _in_a_loop(numbers: Iterator[int]) -> bool:
    seen = []
    for number in numbers:
        seen.append(number)
    return seen[0] == seen[1]


def _row(items: Iterable[object]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerow(items)
    return stream.getvalue().strip()


def _sorted_in_place(key: Callable[[int], Any]) -> list[int]:
    numbers = [0, 1]
    numbers.sort(key=key)
    return numbers


def _extended(items: Iterable[Any]) -> list[Any]:
    extended: list[Any] = []
    extended.extend(items)
    return extended


_ALIKE = ("[],[]", "[0],[0]")

SEES_BOTH_ALIKE: dict[str, Callable[[Lists], bool]] = {
    "len": lambda lists: _same(list(map(len, each(lists)))),
    "len, of what a generator expression gives": lambda lists: _same(
        list(map(len, (lists[number] for number in range(2))))
    ),
    "len, of what yield from gives": lambda lists: _same(list(map(len, _outer(lists)))),
    "len, of an iterator in Python": lambda lists: _same(list(map(len, _Each(lists)))),
    "len, of a tree": lambda lists: _same(list(map(len, _Tree(lists)))),
    "len, of a sequence": lambda lists: _same(list(map(len, _Sequence(lists)))),
    "len, of what a lambda returns": lambda lists: _same(
        list(map(len, map(lambda number: lists[number], range(2))))  # noqa: C417
    ),
    "len, of what a method returns": lambda lists: _same(
        list(map(len, map(_Getter(lists).get, range(2))))
    ),
    "len, of what an object returns": lambda lists: _same(
        list(map(len, map(_Getter(lists), range(2))))
    ),
    "len, of what a partial returns": lambda lists: _same(
        list(map(len, map(functools.partial(_Getter(lists).get), range(2))))
    ),
    "len, behind filter": lambda lists: _same(list(map(len, filter(lambda _: True, each(lists))))),
    "len, behind islice": lambda lists: _same(list(map(len, itertools.islice(each(lists), 2)))),
    "len, behind chain": lambda lists: _same(
        list(map(len, itertools.chain(each(lists[:1] * 2), each(lists[1:] * 2))))[1:3]
    ),
    "len, behind chain.from_iterable": lambda lists: _same(
        list(map(len, itertools.chain.from_iterable(_nested(lists))))
    ),
    "len, in a loop": lambda lists: _in_a_loop(map(len, each(lists))),
    "len, one by one": lambda lists: _one_by_one(map(len, each(lists))),
    "len, behind a star": lambda lists: _same([*map(len, each(lists))]),
    "len, unpacked": lambda lists: _same(map(len, each(lists))),
    "len, into a deque": lambda lists: _same(deque(map(len, each(lists)), 2)),
    "len, into a list": lambda lists: _same(_extended(map(len, each(lists)))),
    "tuple": lambda lists: _same(list(map(tuple, each(lists)))),
    "list of list": lambda lists: _same(list(map(len, map(list, each(lists))))),
    "sorted of each": lambda lists: _same(list(map(sorted, each(lists)))),
    "text": lambda lists: ",".join(map(str, each(lists))) in _ALIKE,
    "truth": lambda lists: _same(list(map(bool, each(lists)))),
    "copy": lambda lists: _same(list(map(list.copy, each(lists)))),
    "methodcaller": lambda lists: _same(list(map(operator.methodcaller("__len__"), each(lists)))),
    "itemgetter": lambda lists: _same(list(map(operator.itemgetter(slice(None)), each(lists)))),
    "contains, with a container": lambda lists: _same(
        list(map(operator.contains, each(lists), (0, 0)))
    ),
    "contains, with a generator": lambda lists: _same(
        list(map(operator.contains, each(lists), (n - 1 for n in _ones())))
    ),
    "starmap": lambda lists: _same(
        list(itertools.starmap(operator.contains, ((each_, 0) for each_ in each(lists))))
    ),
    "filter without a function": lambda lists: len(list(filter(None, each(lists)))) != 1,
    "filter by a function in C": lambda lists: len(list(filter(len, each(lists)))) != 1,
    "filter by a lambda": lambda lists: (
        len(list(filter(lambda number: lists[number], range(2)))) != 1
    ),
    "filter by a method": lambda lists: len(list(filter(_Getter(lists).get, range(2)))) != 1,
    "takewhile": lambda lists: len(list(itertools.takewhile(bool, each(lists)))) != 1,
    "compress": lambda lists: len(list(itertools.compress("ab", each(lists)))) != 1,
    "groupby": lambda lists: len(list(itertools.groupby(each(lists)))) == 1,
    "groupby with a key": lambda lists: len(list(itertools.groupby(each(lists), len))) == 1,
    "groupby with a lambda": lambda lists: (
        len(list(itertools.groupby(range(2), lambda number: lists[number]))) == 1
    ),
    "accumulate": lambda lists: len(list(itertools.accumulate(each(lists)))[-1]) != 1,
    "iter with a sentinel": lambda lists: (
        next(iter(lambda: lists[0], [0]), 5) == next(iter(lambda: lists[1], [0]), 5)
    ),
    "any and all": lambda lists: any(each(lists)) == all(each(lists)),
    "any and all of a tree": lambda lists: any(_Tree(lists)) == all(_Tree(lists)),
    "any of what a method returns": lambda lists: _same(
        [any(map(_Getter(lists).get, (number,))) for number in range(2)]
    ),
    "sum of lists": lambda lists: len(sum(each(lists), [])) != 1,  # noqa: RUF017
    "reduce": lambda lists: len(functools.reduce(operator.add, each(lists))) != 1,
    "reduce from a first": lambda lists: len(functools.reduce(operator.add, each(lists), [])) != 1,
    "max and min": lambda lists: max(each(lists)) == min(each(lists)),
    "max and min behind a star": lambda lists: max(*each(lists)) == min(*each(lists)),
    "sorted": lambda lists: sorted(each(lists))[0] is lists[0],
    "sorted by a function in C": lambda lists: sorted(each(lists), key=len)[0] is lists[0],
    "sorted by a lambda": lambda lists: sorted(range(2), key=lambda n: lists[n]) == [0, 1],
    "sorted by a method": lambda lists: sorted(range(2), key=_Getter(lists).get) == [0, 1],
    "sort by an object": lambda lists: _sorted_in_place(_Getter(lists)) == [0, 1],
    "min by a lambda": lambda lists: min(range(2), key=lambda n: lists[n]) == 0,
    "in": lambda lists: ([0] in each(lists)) == ([0] in each(lists[::-1])),
    "in a tree": lambda lists: ([0] in _Tree(lists)) == ([0] in lists[1:]),
    "dict of pairs": lambda lists: _same(
        [len(value) for value in dict(zip("ab", each(lists), strict=True)).values()]
    ),
    "union": lambda lists: 2 * len(set().union(*each(lists))) == len(lists[0]) + len(lists[1]),
    "csv": lambda lists: _row(each(lists)) in ("[],[]", "[0],[0]"),
    "json": lambda lists: (
        json.dumps([_Other(0), _Other(1)], default=lambda other: lists[other.number])
        in ("[[], []]", "[[0], [0]]")
    ),
    "bytes": lambda lists: len(b"".join(map(bytearray, each(lists)))) != 1,
}


class View:
    """It gives an iterator over what it has."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class _Mapping(View):
    """It is gone through by its keys."""

    def keys(self) -> list[Any]:
        return self.items

    def __getitem__(self, key: Any) -> Any:
        return key


def _tail(items: Iterable[Any]) -> list[Any]:
    _, *tail = items
    return tail


def _count(*items: Any) -> int:
    return len(items)


GOES_THROUGH: dict[str, Callable[[list[Any]], object]] = {
    "list": lambda items: list(View(items)),
    "tuple": lambda items: tuple(View(items)),
    "set": lambda items: set(View(items)),
    "deque": lambda items: deque(View(items), 9),
    "dict": lambda items: dict(_Mapping(items)),
    "dict of pairs": lambda items: dict(View([(each, 0) for each in View(items)])),
    "sum": lambda items: sum(View(items)),
    "sorted": lambda items: sorted(View(items)),
    "max": lambda items: max(View(items)),
    "in": lambda items: 3 in View(items),
    "star": lambda items: [*View(items)],
    "star of a call": lambda items: _count(*View(items)),
    "double star": lambda items: {**_Mapping(items)},
    "unpacking": lambda items: _tail(View(items)),
    "extend": lambda items: _extended(View(items)),
    "join": lambda items: b"".join(View([bytes(each) for each in View(items)])),
    "what gives another one": lambda items: list(View(View(items))),  # type: ignore[arg-type]
    "an iterator with a function": lambda items: sum(View(map(abs, items))),  # type: ignore[arg-type]
    "of lists": lambda items: sum(View([items, items]), []),  # noqa: RUF017
}
"""What goes through some items, by an object written in Python."""


def gone_through_twice(guard: Guard, go_through: Callable[[list[Any]], object]) -> None:
    """Some items are the same each time, for who holds the guard."""
    items = [1, 2]

    def change() -> None:
        with guard:
            items.append(3)

    def go() -> None:
        with guard:
            first, second = go_through(items), go_through(items)
        assert first == second

    together(change, go)


def looked_at(guard: Guard, is_alike: Callable[[Lists], bool]) -> None:
    """Two lists have the same contents, whenever one looks."""
    lists: Lists = [[], []]

    def change() -> None:
        with guard:
            lists[0].append(0)
            lists[1].append(0)

    def look() -> None:
        with guard:
            seen = is_alike(lists)
        assert seen

    together(change, look)
