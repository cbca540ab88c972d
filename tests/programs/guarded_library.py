"""Programs around the library, each with a lock that it takes or a stand-in that guards nothing.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import collections
import collections.abc
import configparser
import copy
import csv
import dataclasses
import graphlib
import io
import itertools
import json
import pickle
import random
import re
import string
import types
import weakref
from collections.abc import Callable, Iterator

from tests.programs.guarding import Guard, counted, made_once, once
from tests.programs.together import together


class _Table(collections.abc.MutableMapping[str, int]):
    """Has the methods that ``MutableMapping`` makes of these five."""

    def __init__(self) -> None:
        self.items_: dict[str, int] = {}

    def __getitem__(self, key: str) -> int:
        return self.items_[key]

    def __setitem__(self, key: str, value: int) -> None:
        self.items_[key] = value

    def __delitem__(self, key: str) -> None:
        del self.items_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)


def default_popped_from_a_mapping(guard: Guard) -> None:
    """What was there is gone before it is deleted."""
    table = _Table()
    table["a"] = 1
    once(guard, lambda: True, lambda: table.pop("a", None))


def default_set_in_a_user_dict(guard: Guard) -> None:
    """Both find that the key is missing."""
    table: collections.UserDict[str, object] = collections.UserDict()
    made_once(guard, lambda: table.setdefault("a", object()))


def user_list_augmented(guard: Guard) -> None:
    """One of two increments is lost."""
    numbers = collections.UserList([0])

    def add() -> None:
        numbers[0] += 1

    counted(guard, add, lambda: numbers[0])


def counter_added_in_place(guard: Guard) -> None:
    """One of two additions is lost."""
    state = types.SimpleNamespace(count=collections.Counter())

    def add() -> None:
        state.count += collections.Counter(a=1)

    counted(guard, add, lambda: state.count["a"])


def key_moved_to_the_end(guard: Guard) -> None:
    """The key is gone."""
    table = collections.OrderedDict.fromkeys("ab")

    def use() -> None:
        with guard:
            if "a" in table:
                table.move_to_end("a")

    def evict() -> None:
        with guard:
            table.popitem(last=False)

    together(use, evict)


def weak_value_made_when_missing(guard: Guard) -> None:
    """Both find that it is missing."""

    class Node:
        pass

    known: weakref.WeakValueDictionary[str, Node] = weakref.WeakValueDictionary()

    def get() -> Node:
        node = known.get("a")
        if node is None:
            node = known["a"] = Node()
        return node

    made_once(guard, get)


def weak_set_changed_during_iteration(guard: Guard) -> None:
    """The set changes size during iteration."""

    @dataclasses.dataclass(frozen=True)
    class Node:
        number: int

    nodes = [Node(number) for number in range(3)]
    members = weakref.WeakSet(nodes[:2])

    def look() -> None:
        with guard:
            for _ in members:
                pass

    def add() -> None:
        with guard:
            members.add(nodes[2])

    together(look, add)


def groups_of_one_iterator(guard: Guard) -> None:
    """The group is over as soon as another one is asked for."""
    groups = itertools.groupby("aabb")
    sizes: list[int] = []

    def work() -> None:
        with guard:
            _, group = next(groups)
            size = len(list(group))
        sizes.append(size)

    together(work, work)
    assert sizes == [2, 2]


def turns_of_a_cycle(guard: Guard) -> None:
    """The other task takes a turn in between."""
    turns = itertools.cycle("ab")
    pairs: list[set[str]] = []

    def work() -> None:
        with guard:
            pair = {next(turns), next(turns)}
        pairs.append(pair)

    together(work, work)
    assert pairs == [{"a", "b"}] * 2


def bytes_in_memory_read_from_the_start(guard: Guard) -> None:
    """The other task has read on in between."""
    stream = io.BytesIO(b"one\ntwo\n")
    lines: list[bytes] = []

    def work() -> None:
        with guard:
            stream.seek(0)
            line = stream.readline()
        lines.append(line)

    together(work, work)
    assert lines == [b"one\n"] * 2


def bytes_in_memory_replaced(guard: Guard) -> None:
    """Both write after both have truncated."""
    stream = io.BytesIO()

    def work(text: bytes) -> None:
        with guard:
            stream.seek(0)
            stream.truncate()
            stream.write(text)

    together(lambda: work(b"a"), lambda: work(b"b"))
    assert stream.getvalue() in (b"a", b"b")


def names_of_the_fields_of_a_reader(guard: Guard) -> None:
    """Both take a row for the names of the fields."""
    reader = csv.DictReader(["a,b", "1,2", "3,4"])
    rows: list[dict[str, str]] = []

    def work() -> None:
        with guard:
            row = next(reader)
        rows.append(row)

    together(work, work)
    assert sorted(row["a"] for row in rows) == ["1", "3"]


def json_by_a_function(guard: Guard) -> None:
    """Two objects get one number."""
    state = types.SimpleNamespace(n=0)

    def number(_: object) -> int:
        state.n += 1
        return int(state.n)

    counted(guard, lambda: json.dumps([object()], default=number), lambda: state.n)


def objects_made_from_json(guard: Guard) -> None:
    """An object is not counted."""
    state = types.SimpleNamespace(n=0)

    def count(pairs: dict[str, object]) -> dict[str, object]:
        state.n += 1
        return pairs

    counted(guard, lambda: json.loads("{}", object_hook=count), lambda: state.n)


class _Torn:
    """Pickles and copies its two fields one after the other."""

    def __init__(self) -> None:
        self.x = self.y = 0

    def __getstate__(self) -> tuple[int, int]:
        return self.x, self.y

    def __setstate__(self, state: tuple[int, int]) -> None:
        self.x, self.y = state


def _copied(guard: Guard, duplicate: Callable[[_Torn], _Torn]) -> None:
    shared = _Torn()
    copies: list[_Torn] = []

    def change() -> None:
        with guard:
            shared.x = 1
            shared.y = 1

    def look() -> None:
        with guard:
            got = duplicate(shared)
        copies.append(got)

    together(change, look)
    assert copies[0].x == copies[0].y


def state_that_is_pickled(guard: Guard) -> None:
    """One field is new, the other one is not."""
    _copied(guard, lambda shared: pickle.loads(pickle.dumps(shared)))


def state_that_is_copied(guard: Guard) -> None:
    """One field is new, the other one is not."""
    _copied(guard, copy.copy)


def matches_numbered_by_a_function(guard: Guard) -> None:
    """Two matches get one number."""
    state = types.SimpleNamespace(n=0)

    def number(_: re.Match[str]) -> str:
        state.n += 1
        return str(state.n)

    counted(guard, lambda: re.sub("x", number, "x"), lambda: state.n)


def template_with_one_name_twice(guard: Guard) -> None:
    """Another value is taken the second time."""
    values = {"a": "1"}
    template = string.Template("$a $a")
    texts: list[str] = []

    def fill() -> None:
        with guard:
            text = template.substitute(values)
        texts.append(text)

    def change() -> None:
        with guard:
            values["a"] = "2"

    together(fill, change)
    assert texts[0] in ("1 1", "2 2")


def option_of_a_configuration(guard: Guard) -> None:
    """The option is gone."""
    options = configparser.ConfigParser()
    options.read_dict({"a": {"x": "1"}})

    def look() -> None:
        with guard:
            if options.has_option("a", "x"):
                options.get("a", "x")

    def remove() -> None:
        with guard:
            options.remove_option("a", "x")

    together(look, remove)


def list_shuffled_while_it_is_copied(guard: Guard) -> None:
    """One item is there twice."""
    numbers = [1, 2, 3]
    draws = random.Random(1)
    seen: list[list[int]] = []

    def shuffle() -> None:
        with guard:
            draws.shuffle(numbers)

    def look() -> None:
        with guard:
            copied = list(numbers)
        seen.append(copied)

    together(shuffle, look)
    assert sorted(seen[0]) == [1, 2, 3]


def nodes_that_are_done(guard: Guard) -> None:
    """Both look whether there is more, and a node is done twice."""
    graph = graphlib.TopologicalSorter({"b": "a"})
    graph.prepare()
    ready = list(graph.get_ready())
    once(guard, lambda: ready[-1:], lambda: graph.done(ready.pop()))


def two_lists_zipped(guard: Guard) -> None:
    """One list is new, the other one is not."""
    left, right = [0, 0], [0, 0]
    seen: list[list[tuple[int, int]]] = []

    def change() -> None:
        with guard:
            left[1] = 1
            right[1] = 1

    def look() -> None:
        with guard:
            pairs = list(zip(left, right, strict=True))
        seen.append(pairs)

    together(change, look)
    assert seen[0][1] in ((0, 0), (1, 1))


def view_counted_twice(guard: Guard) -> None:
    """There is one more the second time."""
    table = {"a": 1}
    items = table.items()

    def look() -> None:
        with guard:
            assert len(items) == len(list(items))

    def add() -> None:
        with guard:
            table["b"] = 2

    together(look, add)


def item_of_a_chain_of_maps(guard: Guard) -> None:
    """One of two increments is lost."""
    chain = collections.ChainMap({}, {"n": 0})

    def add() -> None:
        chain["n"] += 1

    counted(guard, add, lambda: chain["n"])


def tuple_augmented(guard: Guard) -> None:
    """One of two items is lost."""
    state = types.SimpleNamespace(items=())

    def add() -> None:
        state.items += (1,)

    counted(guard, add, lambda: len(state.items))
