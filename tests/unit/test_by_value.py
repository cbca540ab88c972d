"""What C code looks at by value is read down to the last container, and in one step."""

from __future__ import annotations

import collections
import functools
import io
import itertools
import operator
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from tests.programs.together import together
from tests.unit.rewriting import told

pytestmark = pytest.mark.usefixtures("restored_code")

BY_VALUE: dict[str, Callable[[Any, Any], object]] = {
    "equal": lambda outer, inner: outer == [[0]],
    "unequal": lambda outer, inner: outer != [[0]],
    "less": lambda outer, inner: outer < [[0, 0]],
    "equal tuples": lambda outer, inner: (1, inner) == (1, [0]),
    "equal dicts": lambda outer, inner: {"a": inner} == {"a": [0]},
    "equal views": lambda outer, inner: {1: inner}.items() == {1: [0]}.items(),
    "equal namespaces": lambda outer, inner: SimpleNamespace(a=inner) == SimpleNamespace(a=[0]),
    "special method": lambda outer, inner: outer.__eq__([[0]]),
    "operator": lambda outer, inner: operator.eq(outer, [[0]]),
    "in": lambda outer, inner: [0] in outer,
    "in a tuple": lambda outer, inner: [0] in (inner,),
    "in values": lambda outer, inner: [0] in {1: inner}.values(),
    "index": lambda outer, inner: outer.index(inner),
    "count": lambda outer, inner: outer.count([0]),
    "remove": lambda outer, inner: outer.copy().remove([0]),
    "deque": lambda outer, inner: collections.deque(outer).count([0]),
    "sorted": lambda outer, inner: sorted([inner, [1]]),
    "sort": lambda outer, inner: [inner, [1]].sort(),
    "max": lambda outer, inner: max(outer, default=None),
    "sum": lambda outer, inner: sum(outer, []),  # noqa: RUF017
    "all": lambda outer, inner: all(outer),
    "repr": lambda outer, inner: repr(outer),
    "str": lambda outer, inner: str(outer),
    "format": lambda outer, inner: format(outer),
    "f-string": lambda outer, inner: f"{outer}",
    "f-string with repr": lambda outer, inner: f"{outer!r}",
    "percent": lambda outer, inner: "%s" % (outer,),
    "percent with names": lambda outer, inner: "%(a)s" % {"a": outer},
    "str.format": lambda outer, inner: "{}".format(outer),
    "str.format by name": lambda outer, inner: "{a}".format(a=outer),
    "str.format_map": lambda outer, inner: "{a}".format_map({"a": outer}),
    "print": lambda outer, inner: print(outer, file=io.StringIO()),
    "text of an exception": lambda outer, inner: str(ValueError(outer)),
    "map": lambda outer, inner: list(map(len, outer)),
    "filter": lambda outer, inner: list(filter(None, outer)),
    "chain": lambda outer, inner: list(itertools.chain.from_iterable(outer)),
    "chain of arguments": lambda outer, inner: list(itertools.chain(*outer)),
    "partial": lambda outer, inner: functools.partial(repr, outer)(),
}


@pytest.mark.parametrize("name", BY_VALUE)
def test_containers_inside_are_read(name: str) -> None:
    inner = [0]
    accesses = told(BY_VALUE[name], outer=[inner], inner=inner)
    assert "read inner" in accesses
    assert "write inner" not in accesses


def one(each: object) -> int:
    return 1


SHALLOW: dict[str, Callable[[Any, Any], object]] = {
    "in, a number": lambda outer, inner: 5 in outer,
    "len": lambda outer, inner: len(outer),
    "sum of lists": lambda outer, inner: outer + outer,
    "copy": lambda outer, inner: (outer.copy(), list(outer), [*outer]),
    "append": lambda outer, inner: outer.append(inner),
    "equal to a number": lambda outer, inner: outer == 5,
    "truth": lambda outer, inner: not outer,
    "map with a function": lambda outer, inner: list(map(one, outer)),
    "zip": lambda outer, inner: list(zip(outer, "a", strict=True)),
    "function": lambda outer, inner: one(outer),
}


@pytest.mark.parametrize("name", SHALLOW)
def test_containers_that_are_only_handed_on_are_not_read(name: str) -> None:
    inner = [0]
    assert "read inner" not in told(SHALLOW[name], outer=[inner], inner=inner)


def test_items_of_a_slice_and_of_keys_are_read() -> None:
    def body(items: Any) -> None:
        other: list[int] = []
        other[:] = items
        dict.fromkeys(items)
        int.from_bytes(items, "big")
        itertools.product(items)

    assert [each for each in told(body, items=[0]) if "items" in each] == ["read items"] * 4


def test_pairs_that_make_a_dict_are_read() -> None:
    pair = [1, 2]
    assert "read pair" in told(lambda pair, pairs: dict(pairs), pair=pair, pairs=[pair])


class Knows:
    """An object with methods written in Python; others may run where they begin."""

    def __init__(self, good: bool) -> None:
        self.good = good

    def __eq__(self, other: object) -> bool:
        return self.good

    def __repr__(self) -> str:
        return "good" if self.good else "bad"

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    "look",
    [
        lambda items: items == [1, 1],
        lambda items: items.count(1) == 2,
        lambda items: str(items) == "[good, good]",
        lambda items: f"{items}" == "[good, good]",
        lambda items: "%s" % (items,) == "[good, good]",
    ],
)
def test_a_list_can_change_while_its_items_are_asked(look: Callable[[Any], bool]) -> None:
    """At no time are both good; the first was when it was asked, and the second is then."""

    def program() -> None:
        items: list[Any] = [Knows(True), Knows(False)]
        found: list[bool] = []

        def change() -> None:
            items[0] = Knows(False)
            items[1] = Knows(True)

        together(lambda: found.append(look(items)), change)
        assert found == [False]

    result = bohrbug.explore(program, causes=0, minimise=False)
    assert result.failures


class Default:
    """Its instances have the value of the class until they get one."""

    value = 0


def two_lists() -> Any:
    return [1], [2]


def an_instance() -> Any:
    class Fresh(Default):
        value = 0

    return Fresh, Fresh()


Change = Callable[[Any, Any], object]
AT_ONCE: dict[str, tuple[Callable[[], Any], Change, list[Change]]] = {
    "both operands": (two_lists, lambda a, b: a + b, [lambda a, b: b.pop(), lambda a, b: a.pop()]),
    "zip": (
        two_lists,
        lambda a, b: dict(zip(a, b, strict=False)),
        [lambda a, b: b.append(3), lambda a, b: a.append(4), lambda a, b: b.clear()],
    ),
    "equal": (
        two_lists,
        lambda a, b: [[a], b] == [[[1]], [2]],
        [lambda a, b: b.append(3), lambda a, b: a.append(4), lambda a, b: b.pop()],
    ),
    "slice": (
        two_lists,
        lambda a, b: operator.setitem(b, slice(0, 0), a) or tuple(b),
        [lambda a, b: b.append(3), lambda a, b: a.append(4)],
    ),
    "value of the class": (
        an_instance,
        lambda class_, instance: instance.value,
        [
            lambda class_, instance: setattr(class_, "value", 2),
            lambda class_, instance: setattr(instance, "value", 1),
        ],
    ),
}


@pytest.mark.parametrize("strategy", ["dpor", "dfs", "auto"])
@pytest.mark.parametrize("name", AT_ONCE)
def test_accesses_of_one_operation_happen_at_once(name: str, strategy: str) -> None:
    """What is read is what was there after some of the changes, and all of that is reached."""
    make, read, changes = AT_ONCE[name]
    expected = set()
    for count in range(len(changes) + 1):
        made = make()
        for change in changes[:count]:
            change(*made)
        expected.add(str(read(*made)))
    seen = set()

    def program() -> None:
        made = make()
        found: list[object] = []

        def change() -> None:
            for each in changes:
                each(*made)

        together(lambda: found.append(read(*made)), change)
        seen.add(str(found[0]))

    result = bohrbug.explore(program, strategy=strategy, causes=0)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert seen == expected


def test_accesses_happen_at_once_where_weak_references_are_read() -> None:
    """Another sink is told there; were they steps of their own, no replay would follow."""

    def program() -> None:
        class Owner:
            value = 0

        owner = Owner()
        weak = weakref.ref(owner)

        def use() -> None:
            found = weak()
            assert found is not None
            found.value += 1

        together(use, use)
        assert owner.value == 2

    result = bohrbug.explore(program, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.failures[0].confirmed
