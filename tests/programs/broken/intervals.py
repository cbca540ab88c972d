"""Broken programs: accesses that take a while, because code in C calls Python code meanwhile."""

from __future__ import annotations

import bisect
import collections
import contextvars
import csv
import functools
import heapq
import itertools
import pickle
import threading
import types
from collections.abc import Callable, Iterator

from tests.programs.together import together


class _Ordered:
    """Compares in Python code."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: _Ordered) -> bool:
        return self.value < other.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ordered) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def _numbers() -> Iterator[int]:
    for number in range(3):
        len(str(number))
        yield number


def shared_generator() -> None:
    """ValueError: generator already executing."""
    numbers = _numbers()
    together(lambda: next(numbers), lambda: next(numbers))


def shared_generator_expression() -> None:
    """ValueError: generator already executing, in loops."""
    numbers = (abs(number) for number in _numbers())

    def use() -> None:
        for _ in numbers:
            pass

    together(use, use)


def shared_map_over_a_generator() -> None:
    """ValueError: generator already executing, below a ``map``."""
    numbers = map(abs, _numbers())
    together(lambda: next(numbers, None), lambda: next(numbers, None))


def entered_context() -> None:
    """RuntimeError: the context is entered already."""
    context = contextvars.copy_context()
    first, second = threading.Lock(), threading.Lock()

    def body(lock: threading.Lock) -> None:
        with lock:
            pass

    together(lambda: context.run(body, first), lambda: context.run(body, second))


_VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("_VARIABLE")


def _in_a_context(read: Callable[[contextvars.Context], object], without: object) -> None:
    """Somebody may look at a context before another has run in it."""
    context = contextvars.Context()
    seen: list[object] = []
    together(lambda: context.run(_VARIABLE.set, 1), lambda: seen.append(read(context)))
    assert seen != [without]


def variable_of_a_context_that_another_runs_in() -> None:
    """It is not set yet."""
    _in_a_context(lambda context: context.get(_VARIABLE), None)


def subscript_of_a_context_that_another_runs_in() -> None:
    """KeyError: it is not set yet."""
    _in_a_context(lambda context: context[_VARIABLE], None)


def what_is_in_a_context_that_another_runs_in() -> None:
    """Nothing yet."""
    _in_a_context(lambda context: _VARIABLE in context, False)


def items_of_a_context_that_another_runs_in() -> None:
    """There are none yet."""
    _in_a_context(lambda context: [*context.items(), len(context)], [0])


def copy_of_a_context_that_another_runs_in() -> None:
    """It is copied before."""
    _in_a_context(lambda context: list(context.copy()), [])


def _set_and_set_back() -> None:
    token = _VARIABLE.set(1)
    _VARIABLE.reset(token)


def context_between_set_and_reset() -> None:
    """The one who looks comes in between two changes by code that runs in the context."""
    context = contextvars.Context()
    seen: list[int | None] = []
    together(lambda: context.run(_set_and_set_back), lambda: seen.append(context.get(_VARIABLE)))
    assert seen == [None]


def sorting_with_a_key() -> None:
    """The list is empty while it is sorted."""
    numbers = [3, 1, 2]
    seen: list[int] = []
    together(lambda: numbers.sort(key=_negative), lambda: seen.append(len(numbers)))
    assert seen == [3]


def _negative(number: int) -> int:
    return -number


def insertion_of_what_compares_itself() -> None:
    """The place is found before the other inserts: the list is not sorted."""
    ordered = [_Ordered(5)]
    together(
        lambda: bisect.insort(ordered, _Ordered(1)), lambda: bisect.insort(ordered, _Ordered(2))
    )
    assert [each.value for each in ordered] == [1, 2, 5]


def heap_of_what_compares_itself() -> None:
    """IndexError: list changed size during iteration, or a heap that is none."""
    heap = [_Ordered(value) for value in (1, 2, 3)]
    heapq.heapify(heap)
    together(lambda: heapq.heappop(heap), lambda: heapq.heappop(heap))
    assert [each.value for each in heap] == [3]


def removal_of_what_compares_itself() -> None:
    """The item that is found has another index by then: the wrong one is removed."""
    items = [_Ordered(1), _Ordered(2), _Ordered(3)]
    together(lambda: items.remove(_Ordered(2)), lambda: items.pop(0))
    assert [each.value for each in items] == [3]


def growing_while_it_is_filled() -> None:
    """The items of a generator do not come one behind the other."""
    items: list[int] = []
    together(lambda: items.extend(_numbers()), lambda: items.append(7))
    assert items in ([0, 1, 2, 7], [7, 0, 1, 2])


def keys_that_compare_themselves() -> None:
    """Both look before either stores: ``setdefault`` in two steps."""
    table: dict[_Ordered, int] = {_Ordered(1): 1}

    def raise_it() -> None:
        table[_Ordered(1)] = table[_Ordered(1)] + 1

    together(raise_it, raise_it)
    assert table[_Ordered(1)] == 3


def reduced_while_it_changes() -> None:
    """An item is put in front while they are added up: one is counted twice."""
    numbers = [1, 2]
    sums: list[int] = []

    def add(one: int, other: int) -> int:
        return one + other

    together(
        lambda: sums.append(functools.reduce(add, numbers)),
        lambda: numbers.insert(0, 10),
    )
    assert sums[0] in (3, 13)


def largest_by_a_key() -> None:
    """An item is put in front while the largest is looked for: it is not seen, or one is twice."""
    numbers = [1, 2]
    seen: list[int] = []

    def key(number: int) -> int:
        seen.append(number)
        return number

    together(lambda: max(numbers, key=key), lambda: numbers.insert(0, 10))
    assert seen in ([1, 2], [10, 1, 2])


def exchanged_method() -> None:
    """A method of the class is exchanged between two calls."""

    class Service:
        def answer(self) -> int:
            return 1

    service = Service()
    answers: list[int] = []

    def ask() -> None:
        answers.append(service.answer())
        answers.append(service.answer())

    def exchange() -> None:
        Service.answer = lambda self: 2  # type: ignore[method-assign, assignment]

    together(ask, exchange)
    assert answers[0] == answers[1]


def method_stored_on_the_object() -> None:
    """Both put a stand-in on the object, and one takes it away while the other uses it."""

    class Client:
        def get(self) -> str:
            return "real"

        def send(self) -> str:
            return self.get()

    client = Client()
    got: list[str] = []

    def fetch() -> None:
        setattr(client, "get", lambda: "fake")
        try:
            got.append(client.send())
        finally:
            setattr(client, "get", types.MethodType(Client.get, client))

    together(fetch, fetch)
    assert got == ["fake", "fake"]


class _Counting:
    """An iterator written in Python, which counts under a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number = 0

    def __iter__(self) -> _Counting:
        return self

    def __next__(self) -> int:
        with self.lock:
            self.number += 1
            return self.number - 1


def shared_enumerate() -> None:
    """[(0, 1), (1, 0)]: the number is given when the item has come."""
    numbered = enumerate(_Counting())
    pairs: list[tuple[int, int]] = []
    together(lambda: pairs.append(next(numbered)), lambda: pairs.append(next(numbered)))
    assert all(number == item for number, item in pairs), pairs


def two_iterators_of_a_tee() -> None:
    """RuntimeError: cannot re-enter the tee iterator."""
    first, second = itertools.tee(_Counting())
    together(lambda: next(first), lambda: next(second))


def shared_csv_reader() -> None:
    """ValueError: generator already executing."""
    rows = csv.reader(f"{number}" for number in _numbers())
    together(lambda: next(rows), lambda: next(rows))


class _Items:
    """A sequence of three items, of which iter() makes an iterator in C."""

    def __getitem__(self, number: int) -> int:
        if number > 2:
            raise IndexError(number)
        return len(str(number)) - 1 + number


def shared_iterator_over_a_sequence() -> None:
    """The first item twice: the iterator goes on when it has the item."""
    items = iter(_Items())
    seen: list[int] = []
    together(lambda: seen.append(next(items)), lambda: seen.append(next(items)))
    assert sorted(seen) == [0, 1], seen


class _Reduced:
    """Says in Python code how it is written."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return _Reduced, ()


def pickled_dict_that_grows() -> None:
    """RuntimeError: dictionary changed size during iteration."""
    table: dict[str, object] = {"a": _Reduced(), "b": _Reduced()}
    together(lambda: pickle.dumps(table), lambda: table.update(c=1))


class _Hashed:
    """Hashes in Python code, and is equal to all others."""

    def __hash__(self) -> int:
        return len(str(self.__class__))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed)


def counter_of_objects() -> None:
    """A lost update: the count is read and written with code of the key in between."""
    counter = collections.Counter([_Hashed()])
    together(lambda: counter.update([_Hashed()]), lambda: counter.update([_Hashed()]))
    assert sum(counter.values()) == 3


def cached_object_is_another() -> None:
    """The cache is cleared between two calls."""
    cached = functools.lru_cache(list)
    same: list[bool] = []
    together(lambda: same.append(cached() is cached()), cached.cache_clear)
    assert same == [True]


def shared_coroutine() -> None:
    """ValueError: coroutine already executing."""

    @types.coroutine
    def wait() -> Iterator[int]:
        for number in range(3):
            len(str(number))
            yield number

    async def run() -> None:
        await wait()

    coroutine = run()
    together(lambda: coroutine.send(None), lambda: coroutine.send(None))
