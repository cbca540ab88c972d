"""Correct programs: accesses to data."""

from __future__ import annotations

import collections
import contextlib
import functools
import heapq
import itertools
import threading
import types

from tests.programs.together import together


def locked_counter() -> None:
    """A counter under a lock."""
    lock = threading.Lock()
    state = types.SimpleNamespace(value=0)

    def count() -> None:
        with lock:
            state.value += 1

    together(count, count)
    assert state.value == 2


_cache: dict[int, object] = {}
_cache_lock = threading.Lock()


def _cached(number: int) -> object:
    with _cache_lock:
        if number not in _cache:
            _cache[number] = object()
        return _cache[number]


def cache_of_the_module() -> None:
    """A cache in a global, guarded by a lock; it is full from the first execution on."""
    seen: list[object] = []
    together(*[lambda: seen.append(_cached(1))] * 2)
    assert seen[0] is seen[1]


def double_checked_locking() -> None:
    """The value is published last: both threads get it."""
    lock = threading.Lock()
    state = types.SimpleNamespace(value=None)
    seen: list[object] = []

    def get() -> None:
        value = state.value
        if value is None:
            with lock:
                value = state.value
                if value is None:
                    value = state.value = object()
        seen.append(value)

    together(get, get)
    assert seen[0] is seen[1]


def list_append_is_atomic() -> None:
    """``append`` from two threads: nothing is lost."""
    items: list[int] = []
    together(lambda: items.append(1), lambda: items.append(2))
    assert sorted(items) == [1, 2]


def dict_store_is_atomic() -> None:
    """Stores of different keys: nothing is lost."""
    table: dict[str, int] = {}

    def store(key: str) -> None:
        table[key] = 1

    together(lambda: store("a"), lambda: store("b"))
    assert table == {"a": 1, "b": 1}


def setdefault_is_atomic() -> None:
    """``setdefault`` gives both threads the same list."""
    table: dict[str, list[int]] = {}
    together(
        lambda: table.setdefault("x", []).append(1), lambda: table.setdefault("x", []).append(2)
    )
    assert sorted(table["x"]) == [1, 2]


def pop_with_a_default_is_atomic() -> None:
    """``pop(key, None)``: one thread gets it."""
    table = {"x": 1}
    taken: list[int | None] = []
    together(*[lambda: taken.append(table.pop("x", None))] * 2)
    assert sorted(taken, key=str) == [1, None]


def deque_popleft_or_exception() -> None:
    """``popleft`` with IndexError handled."""
    items = collections.deque([1])
    taken: list[int] = []

    def take() -> None:
        with contextlib.suppress(IndexError):
            taken.append(items.popleft())

    together(take, take)
    assert taken == [1]


def next_is_atomic() -> None:
    """``next`` of an ``itertools.count`` gives each number once."""
    counter = itertools.count()
    taken: list[int] = []
    together(*[lambda: taken.append(next(counter))] * 2)
    assert sorted(taken) == [0, 1]


def heap_under_a_lock() -> None:
    """A heap under a lock."""
    lock = threading.Lock()
    heap = [1, 2]
    taken: list[int] = []

    def take() -> None:
        with lock:
            if heap:
                taken.append(heapq.heappop(heap))

    together(take, take)
    assert sorted(taken) == [1, 2]


def iteration_over_a_copy() -> None:
    """A list is copied before it is iterated over."""
    items = [1, 2]

    def read() -> None:
        for item in items.copy():
            assert item in (1, 2, 3)

    together(read, lambda: items.append(3))


def lru_cache_of_a_pure_function() -> None:
    """``lru_cache`` of a pure function: computed twice perhaps, but right."""

    @functools.lru_cache
    def square(number: int) -> int:
        return number * number

    results: list[int] = []
    together(*[lambda: results.append(square(3))] * 2)
    assert results == [9, 9]


def cached_property_under_a_lock() -> None:
    """A cached property with a lock of its own."""
    lock = threading.Lock()

    class Lazy:
        @functools.cached_property
        def _value(self) -> object:
            return object()

        @property
        def value(self) -> object:
            with lock:
                return self._value

    lazy = Lazy()
    seen: list[object] = []
    together(*[lambda: seen.append(lazy.value)] * 2)
    assert seen[0] is seen[1]


def handed_over_and_joined() -> None:
    """Data made by a thread is used after the join."""
    state = types.SimpleNamespace(value=0)

    def make() -> None:
        state.value = 1

    together(make)
    state.value += 1
    together(make)
    assert state.value == 1


def copy_on_write() -> None:
    """A tuple is replaced as a whole: readers see an old or a new one."""
    lock = threading.Lock()
    state = types.SimpleNamespace(pair=(0, 0))

    def write() -> None:
        with lock:
            first, second = state.pair
            state.pair = (first + 1, second + 1)

    def read() -> None:
        first, second = state.pair
        assert first == second

    together(write, write, read)


def objects_made_in_threads() -> None:
    """Many objects of one class, each in one thread only."""

    class Node:
        __slots__ = ("following", "value")

        def __init__(self, value: int, following: Node | None) -> None:
            self.value = value
            self.following = following

    def build() -> None:
        node = None
        for number in range(5):
            node = Node(number, node)
        total = 0
        while node:
            total += node.value
            node = node.following
        assert total == 10

    together(build, build)


def sixteen_threads() -> None:
    """Many threads that hardly share anything."""
    results = [0] * 16

    def work(number: int) -> None:
        results[number] = number

    together(*(functools.partial(work, number) for number in range(16)))
    assert results == list(range(16))


def errors_of_their_own() -> None:
    """Each task sees the cause and the context of its own exception."""

    def fail(number: int) -> None:
        try:
            try:
                raise ValueError(number)
            except ValueError as first:
                raise KeyError(number) from first
        except KeyError as second:
            assert second.__cause__ is second.__context__
            assert second.__cause__ is not None
            assert second.__cause__.args == (number,)

    together(lambda: fail(1), lambda: fail(2))
