"""Classes in Python that derive from classes in C: what these do is seen all the same."""

from __future__ import annotations

import abc
import array
import collections
import functools
import io
import itertools
import operator
import os
import queue
import threading
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.rewrite.delegates import may_be_exchanged
from bohrbug.runtime.threads.rewrite.functions_table import reads_items
from tests.programs.together import together


def derived(base: Any) -> Any:
    """As a class statement without anything of its own makes it."""
    return type(f"Derived{base.__name__.title()}", (base,), {})


# Classes of a module are what calls by name tell nothing of, if they are found to be harmless.
List, Tuple, Deque, Map = derived(list), derived(tuple), derived(collections.deque), derived(map)


class Counted(list[int], metaclass=abc.ABCMeta):
    """Its class is no plain ``type``."""


class Kept(tuple[int, ...]):
    """Made by a function in Python, which calls that of its base."""

    def __new__(cls, items: Iterable[int]) -> Kept:
        return super().__new__(cls, items)


class Offset(map):  # type: ignore[type-arg]
    """A class that has a function in Python for one of the two that make an iterator."""

    def __iter__(self) -> Any:
        return iter(())


class Prefixed(io.StringIO):
    """Its lines come from a function in Python."""

    def __next__(self) -> str:  # type: ignore[override]
        return "> " + super().__next__()


ITERATORS: dict[str, Callable[[], Any]] = {
    "map": lambda: Map(str, "ab"),
    "zip": lambda: derived(zip)("ab"),
    "filter": lambda: derived(filter)(None, "ab"),
    "enumerate": lambda: derived(enumerate)("ab"),
    "reversed": lambda: derived(reversed)("ab"),
    "chain": lambda: derived(itertools.chain)("a", "b"),
    "cycle": lambda: derived(itertools.cycle)("ab"),
    "islice": lambda: derived(itertools.islice)("ab", 2),
    "count": lambda: derived(itertools.count)(),
    "accumulate": lambda: derived(itertools.accumulate)((1, 2)),
    "StringIO": lambda: derived(io.StringIO)("a\nb\n"),
    "BytesIO": lambda: derived(io.BytesIO)(b"a\nb\n"),
    "TextIOWrapper": lambda: derived(io.TextIOWrapper)(io.BytesIO(b"a\nb\n")),
    "lines from Python": lambda: Prefixed("a\nb\n"),
}


def fails(test: Callable[[], object]) -> bool:
    return bool(bohrbug.explore(test, causes=0, minimise=False).failures)


def in_both_orders(one: Callable[[], Any], other: Callable[[], Any]) -> dict[str, Any]:
    """What each gave, where the second may come first."""
    given: dict[str, Any] = {}
    together(lambda: given.update(one=one()), lambda: given.update(other=other()))
    return given


@pytest.mark.parametrize("kind", ITERATORS)
def test_tasks_draw_from_an_iterator_in_any_order(kind: str) -> None:
    def test() -> None:
        iterator = ITERATORS[kind]()
        given = in_both_orders(lambda: next(iterator), lambda: next(iterator))
        if given["one"] != next(ITERATORS[kind]()):
            raise LookupError

    assert fails(test)


@pytest.mark.parametrize(
    "make",
    [List, Tuple, Deque, Counted, Kept, derived(set), derived(bytearray), "".join, sum, max],
    ids=[
        "list",
        "tuple",
        "deque",
        "metaclass",
        "__new__",
        "set",
        "bytearray",
        "join",
        "sum",
        "max",
    ],
)
def test_what_is_made_of_an_iterator_takes_its_items(make: Callable[[Any], Any]) -> None:
    items: Any = "ab" if make == "".join else (1, 2)

    first = next(iter(items))

    def drawn() -> None:
        iterator = Map(lambda item: item, items)
        if in_both_orders(lambda: make(iterator), lambda: next(iterator, None))["other"] == first:
            raise LookupError

    assert fails(drawn)


CALLS: dict[str, Callable[[Any], Any]] = {
    "alias": lambda iterator: list[int](iterator),
    "operator.call": lambda iterator: operator.call(list, iterator),
    "map": lambda iterator: next(map(list, [iterator])),
    "partial": lambda iterator: functools.partial(list, iterator)(),
    "typing": lambda iterator: typing.List[int](iterator),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_list_is_made_by_whoever_calls_its_class(call: str) -> None:
    def test() -> None:
        iterator = iter((1, 2))
        given = in_both_orders(lambda: CALLS[call](iterator), lambda: next(iterator, 0))
        if given["other"]:
            raise LookupError

    assert fails(test)


def test_what_a_derived_text_formats_is_read() -> None:
    text = derived(str)("%s")

    def test() -> None:
        items = [1]
        if in_both_orders(lambda: text % (items,), lambda: items.append(2))["one"] != "[1]":
            raise LookupError

    assert fails(test)


def test_a_list_by_name_is_made_of_what_a_container_has_then() -> None:
    def test() -> None:
        items = [1]
        if in_both_orders(lambda: items.append(2), lambda: List(items))["other"] == [1]:
            raise LookupError

    assert fails(test)


def test_an_iterator_that_only_one_task_has_is_no_reason_for_other_orders() -> None:
    def test() -> None:
        together(*[lambda: List(Map(str, (1, 2)))] * 2)

    result = bohrbug.explore(test, strategy="dpor")
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.executions <= 4


def test_tasks_that_draw_under_a_lock_hold() -> None:
    def test() -> None:
        lock, numbers, drawn = threading.Lock(), derived(itertools.count)(), []

        def draw() -> None:
            with lock:
                drawn.append(next(numbers))

        together(draw, draw)
        assert sorted(drawn) == [0, 1]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_a_class_with_another_way_to_begin_is_left_to_its_function() -> None:
    def test() -> None:
        together(*[lambda: List(Offset(int, (1, 2)))] * 2)

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


@pytest.mark.parametrize("kind", [functools.partial, staticmethod])
def test_what_stands_for_a_call_calls_its_function(kind: Any) -> None:
    def test() -> None:
        items: list[int] = []
        add = derived(kind)(items.append)
        together(lambda: add(1), lambda: add(2))
        if items != [1, 2]:
            raise LookupError

    assert fails(test)


def test_a_file_is_one_position(tmp_path: Path) -> None:
    def test() -> None:
        with derived(io.FileIO)(tmp_path / "file", "w+") as file:
            # By its number another task may use it, too.
            together(lambda: file.write(b"a"), lambda: os.write(file.fileno(), b"b"))
        if (tmp_path / "file").read_bytes() != b"ab":
            raise LookupError

    assert fails(test)


def test_special_methods_that_others_get_hide_nothing() -> None:
    def equip(class_: Any) -> None:
        for name in ("__eq__", "__repr__", "__len__", "__next__"):
            setattr(class_, name, lambda *_: True)

    def test() -> None:
        equip(type("Equipped", (), {}))
        calls: list[int] = []

        @functools.lru_cache
        def cached(number: int) -> None:
            calls.append(number)

        together(lambda: cached(1), lambda: cached(1))
        if len(calls) > 1:
            raise LookupError

    assert fails(test)


def test_a_class_with_a_function_of_its_own_is_not_taken_for_one_in_c() -> None:
    class Lazy(list[int]):
        def __init__(self, items: list[int]) -> None:
            self.items = items

    assert reads_items(List)
    assert not reads_items(Lazy)


def test_what_a_class_has_stays_where_nothing_can_be_set_on_it() -> None:
    assert may_be_exchanged(List)
    assert not may_be_exchanged(functools._lru_cache_wrapper)


def test_an_array_takes_what_it_is_given() -> None:
    def test() -> None:
        iterator = Map(int, "12")
        make = derived(array.array)
        given = in_both_orders(lambda: make("i", iterator), lambda: next(iterator, 0))
        if given["other"]:
            raise LookupError

    assert fails(test)


class Jobs(queue.SimpleQueue):  # type: ignore[type-arg]
    """Made before the exploration: the class in C that it has is not replaced."""


def test_a_queue_that_was_not_replaced_is_a_condition() -> None:
    def test() -> None:
        jobs = Jobs()
        together(lambda: jobs.put(1), lambda: jobs.put(2))

    conditions = bohrbug.explore(test).verdict.conditions
    assert conditions is not None
    assert any("queue.SimpleQueue" in each for each in conditions.taking)
