"""Functions in C that code in C calls, and what is said where it is not known with what."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import Verdict, VerdictKind
from bohrbug.runtime.threads.rewrite.item_functions import folded, items_of
from tests.programs.together import together


def _of_two(work: Callable[[], object], other: Callable[[], object]) -> Verdict:
    return bohrbug.explore(lambda: together(work, other)).verdict


def _taking(verdict: Verdict) -> tuple[str, ...]:
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None
    return tuple(verdict.conditions.taking)


def _given(thing: Any) -> Iterator[Any]:
    yield thing


def test_a_getter_of_what_code_in_c_gives_is_a_condition() -> None:
    nodes = {"a": SimpleNamespace(value=0)}
    look = operator.attrgetter("value")
    verdict = _of_two(lambda: list(map(look, map(nodes.setdefault, "a"))), lambda: None)
    assert _taking(verdict) == ("what operator.attrgetter, which code in C calls, gave as it was",)


def test_a_change_of_what_code_in_c_gives_is_a_condition() -> None:
    lists: dict[str, list[int]] = {"a": []}
    verdict = _of_two(lambda: list(map(list.append, map(lists.setdefault, "a"), [1])), lambda: None)
    assert _taking(verdict) == ("what list.append, which code in C calls, gave as it was",)


def test_a_getter_of_what_a_generator_gives_is_none() -> None:
    node = SimpleNamespace(value=0)
    verdict = _of_two(lambda: list(map(operator.attrgetter("value"), _given(node))), lambda: None)
    assert _taking(verdict) == ()


def test_a_change_of_what_a_generator_gives_is_none() -> None:
    verdict = _of_two(lambda: list(map(list.append, _given([]), [1])), lambda: None)
    assert _taking(verdict) == ()


def test_a_callback_in_c_is_a_condition() -> None:
    class Node:
        pass

    def work() -> None:
        node = Node()
        weakref.ref(node, [].append)

    assert len(_taking(_of_two(work, lambda: None))) == 1


def test_what_only_looks_at_values_is_none() -> None:
    def work() -> None:
        assert list(map(str.upper, _given("a"))) == ["A"]
        assert list(map(str, _given(1))) == ["1"]
        assert sorted("ba", key=str.lower) == ["a", "b"]

    assert _taking(_of_two(work, work)) == ()


def test_an_expression_that_gives_items_as_they_are_is_none() -> None:
    nodes = [SimpleNamespace(value=0)]
    look = operator.attrgetter("value")
    assert _taking(_of_two(lambda: list(map(look, (n for n in nodes))), lambda: None)) == ()


@pytest.mark.parametrize(
    ("thing", "items"),
    [
        ([1, 2], [1, 2]),
        (iter([1, 2]), [1, 2]),
        (range(2), [0, 1]),
        ({"a": 1}.items(), [("a", 1)]),
        (iter({"a": 1}), ["a"]),
        ((each for each in "ab"), ["a", "b"]),
        ((each.upper() for each in "ab"), None),
        (_given(1), None),
        (map(str, [1]), None),
        (map({"a": 1}.get, "ab"), [1, None]),
        (map({"a": 1}.get, "ab", [2, 3]), [1, 3]),
        (map([1, 2].__getitem__, [1, 0]), [2, 1]),
        (map(operator.itemgetter(0), map({"a": [1]}.__getitem__, "a")), [1]),
        (map(operator.attrgetter("value"), [SimpleNamespace(value=1)]), [1]),
        (map(getattr, [SimpleNamespace(value=1)], ["value"]), [1]),
    ],
)
def test_items_that_are_known(thing: Any, items: list[Any] | None) -> None:
    assert items_of(thing) == items
    if hasattr(thing, "__next__"):
        # Nothing was taken of it.
        assert next(thing) is not None


def test_items_that_an_iterator_has_come_past_are_not_known() -> None:
    iterator = iter([1, 2, 3])
    next(iterator)
    assert items_of(iterator) == [2, 3]


def test_values_in_between_are_known_of_what_looks_up() -> None:
    table = {"a": {"b": 1}}
    calls = [given for _, given in folded(operator.getitem, ["a", "b"], table)]
    assert calls == [(table, "a"), (table["a"], "b")]
    calls = [given for _, given in folded(operator.add, [1, 2, 3])]
    assert calls == [(1, 2), (None, 3)]
