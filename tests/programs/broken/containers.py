"""Broken programs: accesses to containers and iterators."""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import threading
import types
from collections.abc import Iterator

from tests.programs.together import together


def in_then_pop() -> None:
    """``in`` then ``pop``: KeyError."""
    table = {"x": 1}

    def take() -> None:
        if "x" in table:
            table.pop("x")

    together(take, take)


def in_then_delete() -> None:
    """``in`` then ``del``: KeyError."""
    table = {"x": 1}

    def drop() -> None:
        if "x" in table:
            del table["x"]  # noqa: RUF051  (that these are two operations is the bug)

    together(drop, drop)


def in_then_read() -> None:
    """``in`` then a read, while another thread clears: KeyError."""
    table = {"x": 1}

    def read() -> int | None:
        return table["x"] if "x" in table else None

    together(read, table.clear)


def get_then_store() -> None:
    """``dict.get`` then a store: one update is lost."""
    table: dict[str, int] = {}

    def count() -> None:
        table["x"] = table.get("x", 0) + 1

    together(count, count)
    assert table["x"] == 2


def setdefault_misused() -> None:
    """``setdefault`` makes the list, but an assignment replaces it: an entry is lost."""
    table: dict[str, list[int]] = {}

    def add(number: int) -> None:
        entries = table.setdefault("x", [])
        table["x"] = [*entries, number]

    together(lambda: add(1), lambda: add(2))
    assert sorted(table["x"]) == [1, 2]


def setdefault_makes_the_value_twice() -> None:
    """The default of ``setdefault`` is made by each thread."""
    table: dict[str, object] = {}
    made: list[int] = []

    def make() -> object:
        made.append(1)
        return object()

    def get() -> None:
        if "x" not in table:
            table.setdefault("x", make())

    together(get, get)
    assert len(made) == 1


def dict_update_loses() -> None:
    """A copy of a dict is changed and put back with ``update``: one change is lost."""
    table = {"x": 0}

    def change() -> None:
        copy = dict(table)
        copy["x"] += 1
        table.update(copy)

    together(change, change)
    assert table["x"] == 2


def item_augmented() -> None:
    """``table['x'] += 1``: one update is lost."""
    table = {"x": 0}

    def count() -> None:
        table["x"] += 1

    together(count, count)
    assert table["x"] == 2


def list_item_augmented() -> None:
    """``values[-1] += 1``: one update is lost."""
    values = [0, 0]

    def count() -> None:
        values[-1] += 1

    together(count, count)
    assert values == [0, 2]


def slice_augmented() -> None:
    """``values[:] = ...`` from a copy: one update is lost."""
    values = [0, 0]

    def count() -> None:
        values[:] = [value + 1 for value in values]

    together(count, count)
    assert values == [2, 2]


def attribute_string_built() -> None:
    """``self.text += part``: one part is lost."""
    thing = types.SimpleNamespace(text="")

    def add(part: str) -> None:
        thing.text += part

    together(lambda: add("a"), lambda: add("b"))
    assert len(thing.text) == 2


def truth_of_a_list_then_pop() -> None:
    """``if items: items.pop()``: IndexError."""
    items = [1]

    def take() -> None:
        if items:
            items.pop()

    together(take, take)


def truth_of_a_deque_then_popleft() -> None:
    """``while items: items.popleft()``: IndexError."""
    items = collections.deque([1])

    def take() -> None:
        while items:
            items.popleft()

    together(take, take)


def length_then_pop() -> None:
    """``if len(items) > 0: items.pop()``: IndexError."""
    items = [1]

    def take() -> None:
        if len(items) > 0:
            items.pop()

    together(take, take)


def length_then_append() -> None:
    """``if len(items) < limit: items.append()``: above the limit."""
    items: list[int] = []

    def add() -> None:
        if len(items) < 1:
            items.append(1)

    together(add, add)
    assert len(items) == 1


def last_item_is_somebody_elses() -> None:
    """``append`` then ``items[-1]``: the item of another thread."""
    items: list[int] = []
    wrong: list[int] = []

    def add(number: int) -> None:
        items.append(number)
        if items[-1] != number:
            wrong.append(number)

    together(lambda: add(1), lambda: add(2))
    assert not wrong


def list_index_then_delete() -> None:
    """``del items[items.index(x)]``: another item is deleted."""
    items = [1, 2, 3]

    def drop(number: int) -> None:
        del items[items.index(number)]

    together(lambda: drop(1), lambda: drop(2))
    assert items == [3]


def list_in_then_remove() -> None:
    """``if x in items: items.remove(x)``: ValueError."""
    items = [1]

    def drop() -> None:
        if 1 in items:
            items.remove(1)

    together(drop, drop)


def set_in_then_add() -> None:
    """``in`` then ``add`` of a set: done twice."""
    seen: set[str] = set()
    done: list[str] = []

    def once() -> None:
        if "x" not in seen:
            seen.add("x")
            done.append("x")

    together(once, once)
    assert len(done) == 1


def set_in_then_remove() -> None:
    """``in`` then ``remove`` of a set, which another thread discards from: KeyError."""
    names = {"x"}

    def remove() -> None:
        if "x" in names:
            names.remove("x")

    together(remove, lambda: names.discard("x"))


def set_truth_then_pop() -> None:
    """``if names: names.pop()``: KeyError."""
    names = {"x"}

    def take() -> None:
        if names:
            names.pop()

    together(take, take)


def deque_of_bounded_length_drops() -> None:
    """A full deque drops what nobody has read yet."""
    items: collections.deque[int] = collections.deque(maxlen=1)
    taken: list[int] = []

    def take() -> None:
        if items:
            taken.append(items.popleft())

    together(lambda: (items.append(1), items.append(2)), take)
    assert sorted([*taken, *items]) == [1, 2]


def deque_rotated() -> None:
    """Round robin with ``items[0]`` and ``rotate``: the same item twice."""
    items = collections.deque(["a", "b"])
    taken: list[str] = []

    def turn() -> None:
        item = items[0]
        items.rotate(-1)
        taken.append(item)

    together(turn, turn)
    assert sorted(taken) == ["a", "b"]


def deque_changed_during_iteration() -> None:
    """A deque grows while it is iterated over: RuntimeError."""
    items = collections.deque([1, 2])
    together(lambda: [item for item in items], lambda: items.append(3))  # noqa: C416


def dict_changed_during_iteration() -> None:
    """A dict grows while it is iterated over: RuntimeError."""
    table = {1: 1, 2: 2}

    def read() -> None:
        for _ in table:
            pass

    together(read, lambda: table.update({3: 3}))


def dict_changed_during_comprehension() -> None:
    """A dict grows during a comprehension over its items: RuntimeError."""
    table = {1: 1, 2: 2}

    def grow() -> None:
        table[3] = 3

    together(lambda: {value: key for key, value in table.items()}, grow)


def set_changed_during_generator() -> None:
    """A set grows while a generator expression goes over it: RuntimeError."""
    names = {"a", "b"}
    together(lambda: sum(len(name) for name in names), lambda: names.add("c"))


def list_changed_during_comprehension() -> None:
    """A list shrinks during a comprehension over it: an item is passed over."""
    items = [1, 2, 3]
    seen: list[list[int]] = []
    together(lambda: seen.append([item for item in items]), lambda: items.remove(1))  # noqa: C416
    assert 3 in seen[0]


def list_read_twice_in_a_comprehension() -> None:
    """Indices up to a length that has become too large: IndexError."""
    items = [1, 2]
    together(lambda: [items[index] for index in range(len(items))], items.clear)


def iterator_shared() -> None:
    """Two threads take two items each in a row from one iterator: not in a row."""
    iterator = iter([1, 2, 3, 4])
    pairs: list[tuple[int, int]] = []

    def take() -> None:
        first = next(iterator)
        pairs.append((first, next(iterator)))

    together(take, take)
    assert sorted(pairs) == [(1, 2), (3, 4)]


def generator_shared() -> None:
    """A generator is asked by two threads at once: ValueError, already executing."""
    lock = threading.Lock()

    def numbers() -> Iterator[int]:
        number = 0
        while True:
            with lock:
                number += 1
            yield number

    generator = numbers()
    together(lambda: next(generator), lambda: next(generator))


def generator_of_data_shared() -> None:
    """A generator that reads shared data is asked by two threads at once: ValueError."""
    state = types.SimpleNamespace(next=0)

    def numbers() -> Iterator[int]:
        while True:
            number = state.next
            state.next = number + 1
            yield number

    generator = numbers()

    def change() -> None:
        state.next = 10

    together(lambda: next(generator), lambda: next(generator), change)


def count_read_and_advanced() -> None:
    """The next value of ``itertools.count`` is looked at before it is taken."""
    counter = itertools.count()
    wrong: list[int] = []

    def take() -> None:
        expected = int(repr(counter)[6:-1])
        if next(counter) != expected:
            wrong.append(expected)

    together(take, take)
    assert not wrong


def count_twice_in_a_row() -> None:
    """Two numbers of an ``itertools.count`` are taken to be consecutive."""
    counter = itertools.count()
    ranges: list[tuple[int, int]] = []

    def take() -> None:
        start = next(counter)
        ranges.append((start, next(counter)))

    together(take, take)
    assert all(end == start + 1 for start, end in ranges)


def heap_looked_at_then_popped() -> None:
    """``heap[0]`` then ``heappop``: another item."""
    heap = [1, 2]
    wrong: list[int] = []

    def take() -> None:
        smallest = heap[0]
        if heapq.heappop(heap) != smallest:
            wrong.append(smallest)

    together(take, take)
    assert not wrong


def heap_truth_then_pop() -> None:
    """``if heap: heappop(heap)``: IndexError."""
    heap = [1]

    def take() -> None:
        if heap:
            heapq.heappop(heap)

    together(take, take)


def counter_update() -> None:
    """``Counter.update`` reads and writes each count: one update is lost."""
    counts: collections.Counter[str] = collections.Counter(x=1)
    together(lambda: counts.update({"x": 1}), lambda: counts.update({"x": 1}))
    assert counts["x"] == 3


def counter_item() -> None:
    """``counts[x] += 1``: one update is lost."""
    counts: collections.Counter[str] = collections.Counter()

    def count() -> None:
        counts["x"] += 1

    together(count, count)
    assert counts["x"] == 2


def defaultdict_factory() -> None:
    """The factory of a defaultdict written in Python: two lists, and one item is lost."""

    def factory() -> list[int]:
        made.append(1)
        return []

    made: list[int] = []
    table: collections.defaultdict[str, list[int]] = collections.defaultdict(factory)
    together(lambda: table["x"].append(1), lambda: table["x"].append(2))
    assert sorted(table["x"]) == [1, 2]


def defaultdict_factory_called_often() -> None:
    """The same, where the interpreter has specialised the instructions around the access."""

    def factory() -> list[int]:
        return []

    table: collections.defaultdict[str, list[int]] = collections.defaultdict(factory)

    def add(key: str, item: int) -> None:
        table[key].append(item)

    for number in range(20):
        add(str(number), number)
    together(lambda: add("x", 1), lambda: add("x", 2))
    assert sorted(table["x"]) == [1, 2]


def defaultdict_count() -> None:
    """``defaultdict(int)[x] += 1``: one update is lost."""
    table: collections.defaultdict[str, int] = collections.defaultdict(int)

    def count() -> None:
        table["x"] += 1

    together(count, count)
    assert table["x"] == 2


def missing_hook() -> None:
    """``__missing__`` computes and stores: computed twice."""
    computed: list[int] = []

    class Squares(dict[int, int]):
        def __missing__(self, key: int) -> int:
            computed.append(key)
            self[key] = key * key
            return self[key]

    squares = Squares()
    together(lambda: squares[3], lambda: squares[3])
    assert len(computed) == 1


def ordered_dict_as_cache() -> None:
    """``in`` then ``move_to_end``, while another thread evicts: KeyError."""
    cache: collections.OrderedDict[str, int] = collections.OrderedDict(x=1)

    def use() -> None:
        if "x" in cache:
            cache.move_to_end("x")

    together(use, lambda: cache.popitem(last=False))


def chain_map_of_shared_dicts() -> None:
    """``ChainMap`` looks twice at a dict that changes: KeyError."""
    inner = {"x": 1}
    chain = collections.ChainMap({}, inner)

    def read() -> None:
        if "x" in chain:
            chain["x"]

    together(read, inner.clear)


def lru_cache_computed_twice() -> None:
    """``lru_cache`` calls its function twice for the same argument."""
    calls: list[int] = []

    @functools.lru_cache
    def compute(number: int) -> int:
        calls.append(number)
        return number

    together(lambda: compute(1), lambda: compute(1))
    assert len(calls) == 1


def lru_cache_without_limit_computed_twice() -> None:
    """``functools.cache`` gives two threads two different objects."""

    @functools.cache
    def make() -> object:
        return object()

    made: list[object] = []
    together(*[lambda: made.append(make())] * 2)
    assert made[0] is made[1]


def cached_property_computed_twice() -> None:
    """``cached_property`` calls its function twice."""
    calls: list[int] = []

    class Lazy:
        @functools.cached_property
        def value(self) -> int:
            calls.append(1)
            return 1

    lazy = Lazy()
    together(lambda: lazy.value, lambda: lazy.value)
    assert len(calls) == 1


def cached_property_two_objects() -> None:
    """``cached_property`` gives two threads two different objects."""

    class Lazy:
        @functools.cached_property
        def value(self) -> object:
            return object()

    lazy = Lazy()
    seen: list[object] = []
    together(*[lambda: seen.append(lazy.value)] * 2)
    assert seen[0] is seen[1]
