"""What rewritten functions tell of their accesses: subscripts, operators and iteration."""

from __future__ import annotations

import array
import collections
import io
import itertools
from typing import Any

import pytest

from tests.unit.rewriting import REWRITER, told

pytestmark = pytest.mark.usefixtures("restored_code")


# --- Subscripts and operators


def test_list() -> None:
    def body(items: Any) -> None:
        items[0] = items[1]
        items[-1]
        items[0:1]
        items[0:1] = [5]
        del items[0]
        items.append(3)
        items.pop()
        len(items)
        3 in items
        items.sort()

    assert told(body, items=[1, 2, 3]) == [
        "read items[1]",
        "write items[0]",
        "read items[2]",
        "read items",
        "read list",
        "write items",
        "write items",
        "write items",
        "write items",
        "read items",
        "read items",
        "write items",
    ]


def test_dict() -> None:
    def body(table: Any) -> None:
        table["a"] = 1
        table["a"]
        table.get("b")
        table.setdefault("b", 2)
        "a" in table
        table.pop("a")
        del table["b"]
        table.update({"c": 1})
        table.clear()
        dict(table)
        {**table}

    accesses = told(body, table={})
    # The dict display in the call of update is local; nothing hides that from a recorder.
    accesses.remove("read dict")
    assert accesses == [
        "write table['a']",
        "read table['a']",
        "read table['b']",
        "write table['b']",
        "read table['a']",
        "write table['a']",
        "write table['b']",
        "write table",
        "write table",
        "read table",
        "read table",
    ]


def test_reading_a_missing_key_of_a_defaultdict_writes() -> None:
    def body(table: Any) -> None:
        table["a"]
        table["a"]
        table.get("b")

    expected = ["write table['a']", "read table['a']", "read table['b']"]
    assert told(body, table=collections.defaultdict(int)) == expected


def test_keys_with_python_code_are_not_touched() -> None:
    class Key:
        hashed = 0

        def __hash__(self) -> int:
            type(self).hashed += 1
            return 1

        def __eq__(self, other: object) -> bool:
            return self is other

    def body(table: Any, key: Any) -> None:
        table[key] = 1

    assert told(body, table={}, key=Key()) == ["write table"]
    assert Key.hashed == 1


def test_dict_views() -> None:
    def body(table: Any) -> None:
        for _ in table.keys():
            pass
        list(table.items())

    assert set(told(body, table={"a": 1})) == {"read table"}


def test_set() -> None:
    def body(members: Any) -> None:
        members.add(1)
        1 in members
        members.discard(1)
        members |= {2}

    accesses = told(body, members=set())
    assert [access for access in accesses if "members" in access] == [
        "write members[1]",
        "read members[1]",
        "write members[1]",
        "write members",
    ]


def test_deque_ordered_dict_bytearray_array_memoryview() -> None:
    def body(queue: Any, ordered: Any, octets: Any, numbers: Any) -> None:
        queue.append(1)
        queue.popleft()
        ordered["a"] = 1
        ordered.move_to_end("a")
        octets[0] = 1
        octets.extend(b"x")
        numbers[0] += 1
        memoryview(octets)[0]

    accesses = told(
        body,
        queue=collections.deque(),
        ordered=collections.OrderedDict(),
        octets=bytearray(1),
        numbers=array.array("i", [1]),
    )
    assert accesses == [
        "write queue",
        "write queue",
        "write ordered['a']",
        "write ordered",
        "write octets[0]",
        "write octets",
        "read numbers[0]",
        "write numbers[0]",
        "read octets",
        "read octets",
    ]


def test_containers_derived_from_builtin_ones() -> None:
    class Stack(list[int]):
        def push(self, value: int) -> None:
            super().append(value)

    def body(stack: Any) -> None:
        stack.push(1)
        stack[0]
        list.append(stack, 2)

    REWRITER.install_function(Stack.push)
    expected = ["write stack", "read stack[0]", "write stack"]
    assert told(body, stack=Stack()) == expected


@pytest.mark.parametrize("items", [[1], {1: 2}, {1}, collections.deque([1]), bytearray(1)])
def test_truth(items: Any) -> None:
    def body(items: Any) -> None:
        if items:
            pass
        while not items:
            pass
        bool(items)
        items and None
        None if items else 1

    assert told(body, items=items) == ["read items"] * 5


def test_comparison_operators_and_text() -> None:
    def body(left: Any, right: Any) -> None:
        left == right
        left + right
        left += right
        f"{left}"
        str(right)

    assert told(body, left=[1], right=[2]) == [
        "read left",
        "read right",
        "read left",
        "read right",
        "read right",
        "write left",
        "read left",
        "read right",
    ]


# --- Iteration


def test_each_step_of_a_loop_reads_the_container() -> None:
    def body(items: Any) -> None:
        for _ in items:
            pass

    assert told(body, items=[1, 2]) == ["read items"] * 3


def test_loops_through_other_iterators() -> None:
    def body(items: Any) -> None:
        for _ in enumerate(items):
            pass
        for _ in zip(items, map(str, items)):
            pass

    accesses = told(body, items=[1])
    # Two steps of enumerate; two of zip, each with one step of map.
    assert accesses == ["read items"] * 6


def test_unpacking_and_stars() -> None:
    def body(items: Any, table: Any) -> None:
        _one, _two = items
        _first, *_rest = items
        [*items]
        print(*items, end="", file=io.StringIO())
        dict(**table)

    accesses = told(body, items=[1, 2], table={"a": 1})
    assert [access for access in accesses if "items" in access] == ["read items"] * 4
    assert [access for access in accesses if "table" in access] == ["read table"]


def test_shared_iterators_and_generators() -> None:
    class Holder:
        pass

    def body(ticket: Any, numbers: Any, iterator: Any) -> None:
        next(ticket)
        for _ in numbers:
            pass
        iterator.__next__()

    accesses = told(
        body,
        ticket=itertools.count(),
        numbers=(number for number in (1,)),
        iterator=iter([1]),
    )
    assert accesses == [
        "write ticket",
        "write numbers",
        "write numbers",
        "read list",
        "write iterator",
    ]


def test_fresh_iterators_are_nobody_elses() -> None:
    def body() -> None:
        for _ in range(2):
            pass
        [number for number in range(2)]  # noqa: C416
        list(number for number in range(2))  # noqa: C400

    assert [access for access in told(body) if "range" in access] == []


def test_a_zip_longest_with_exhausted_parts_is_looked_into() -> None:
    def body(items: Any) -> None:
        for _ in itertools.zip_longest(items, [1, 2, 3]):
            pass

    assert told(body, items=[]).count("read items") == 1
