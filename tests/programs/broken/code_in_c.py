"""Broken programs: accesses by code in C, and code that it calls back."""

from __future__ import annotations

import array
import asyncio
import ctypes
import functools
import heapq
import threading
import types
import weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

from tests.programs.counter import Counter
from tests.programs.together import together


class _Key:
    """A key whose comparison and hash count how often they are called, without a lock."""

    compared = 0
    hashed = 0

    def __eq__(self, other: object) -> bool:
        _Key.compared += 1
        return isinstance(other, _Key)

    def __hash__(self) -> int:
        _Key.hashed += 1
        return 1


def equality_callback() -> None:
    """``__eq__`` called by ``list.index`` counts: one update is lost."""
    _Key.compared = 0
    keys = [_Key()]
    together(lambda: keys.index(_Key()), lambda: keys.index(_Key()))
    assert _Key.compared == 2


def hash_callback() -> None:
    """``__hash__`` called by a dict counts: one update is lost."""
    _Key.hashed = 0
    together(lambda: {_Key(): 1}, lambda: {_Key(): 1})
    assert _Key.hashed == 2


def finaliser_callback() -> None:
    """``__del__`` counts: one update is lost."""
    alive = types.SimpleNamespace(count=2)

    class Resource:
        def __del__(self) -> None:
            alive.count -= 1

    def use() -> None:
        Resource()

    together(use, use)
    assert alive.count == 0


def sort_key_callback() -> None:
    """The key function of ``sort`` counts: one update is lost."""
    counter = Counter()

    def key(number: int) -> int:
        counter.increment()
        return number

    together(lambda: [1].sort(key=key), lambda: sorted([1], key=key))
    assert counter.value == 2


def list_sorted_while_it_grows() -> None:
    """``list.sort`` with a key function, while another thread appends: ValueError."""
    items = [2, 1]
    state = types.SimpleNamespace(looked=0)

    def key(number: int) -> int:
        state.looked += 1
        return number

    def add() -> None:
        state.looked = 0
        items.append(3)

    together(lambda: items.sort(key=key), add)


def less_than_callback() -> None:
    """``__lt__`` called by ``heapq`` counts: one update is lost."""
    counter = Counter()

    class Item:
        def __lt__(self, other: object) -> bool:
            counter.increment()
            return True

    def push() -> None:
        heap = [Item()]
        heapq.heappush(heap, Item())

    together(push, push)
    assert counter.value == 2


def ctypes_field() -> None:
    """A field of a ctypes structure: one update is lost."""

    class Point(ctypes.Structure):
        _fields_ = (("x", ctypes.c_int),)

    point = Point(0)

    def move() -> None:
        point.x += 1

    together(move, move)
    assert point.x == 2


def ctypes_value() -> None:
    """``c_int.value += 1``: one update is lost."""
    number = ctypes.c_int(0)

    def count() -> None:
        number.value += 1

    together(count, count)
    assert number.value == 2


def ctypes_array_item() -> None:
    """An item of a ctypes array: one update is lost."""
    numbers = (ctypes.c_int * 2)()

    def count() -> None:
        numbers[1] += 1

    together(count, count)
    assert numbers[1] == 2


def array_item() -> None:
    """An item of an ``array.array``: one update is lost."""
    numbers = array.array("i", [0])

    def count() -> None:
        numbers[0] += 1

    together(count, count)
    assert numbers[0] == 2


def bytearray_item() -> None:
    """An item of a bytearray: one update is lost."""
    data = bytearray(1)

    def count() -> None:
        data[0] += 1

    together(count, count)
    assert data[0] == 2


def bytearray_grown() -> None:
    """The length of a bytearray is taken for the place of what is appended."""
    data = bytearray()
    starts: list[int] = []

    def add() -> None:
        starts.append(len(data))
        data.extend(b"ab")

    together(add, add)
    assert sorted(starts) == [0, 2]


def memoryview_item() -> None:
    """An item of a memoryview, and of what it shows: one update is lost."""
    data = bytearray(1)
    view = memoryview(data)

    def with_view() -> None:
        view[0] += 1

    def with_data() -> None:
        data[0] += 1

    together(with_view, with_data)
    assert data[0] == 2


def partial_as_target() -> None:
    """``functools.partial`` of a bound method as the target: one update is lost."""
    counter = Counter()
    together(functools.partial(counter.increment), functools.partial(counter.increment))
    assert counter.value == 2


def partial_of_a_method_of_c() -> None:
    """``partial(dict.pop)`` after a look at the dict: KeyError."""
    table = {"x": 1}
    pop = functools.partial(table.pop, "x")

    def take() -> None:
        if "x" in table:
            pop()

    together(take, take)


def bound_method_kept() -> None:
    """``pop = items.pop`` is kept and called after a look: IndexError."""
    items = [1]
    pop = items.pop

    def take() -> None:
        if items:
            pop()

    together(take, take)


def weakref_callback() -> None:
    """The callback of a weak reference counts: one update is lost."""
    counter = Counter()

    class Thing:
        pass

    def use() -> None:
        thing = Thing()
        reference = weakref.ref(thing, lambda _: counter.increment())
        del thing
        assert reference() is None

    together(use, use)
    assert counter.value == 2


def weak_value_dictionary() -> None:
    """``in`` then a read of a WeakValueDictionary, whose value dies in between: KeyError."""

    class Thing:
        pass

    holder = [Thing()]
    table: weakref.WeakValueDictionary[str, Thing] = weakref.WeakValueDictionary()
    table["x"] = holder[0]

    def read() -> None:
        if "x" in table:
            table["x"]

    together(read, holder.clear)


def set_up_by_an_initializer() -> None:
    """A worker's initializer, written in C, runs in between."""
    numbers: list[int] = []
    with ThreadPoolExecutor(1, initializer=numbers.append, initargs=(1,)) as executor:
        executor.submit(int)
        assert len(numbers) == len(numbers)


def applied_in_a_pool() -> None:
    """A function in C that a pool was given runs in between."""
    numbers: list[int] = []
    with ThreadPool(1) as pool:
        done = pool.apply_async(numbers.append, (1,))
        same = len(numbers) == len(numbers)
        done.get()
    assert same


def mapped_in_a_pool() -> None:
    """A function in C that a pool was given runs in between."""
    numbers: list[int] = []
    with ThreadPool(1) as pool:
        done = pool.map_async(numbers.append, [1])
        same = len(numbers) == len(numbers)
        done.get()
    assert same


def action_of_a_barrier() -> None:
    """The action, written in C, runs in between."""
    numbers: list[int] = []
    barrier = threading.Barrier(2, action=functools.partial(numbers.append, 1))
    same: list[bool] = []
    together(barrier.wait, barrier.wait, lambda: same.append(len(numbers) == len(numbers)))
    assert same == [True]


def called_soon_by_a_loop() -> None:
    """A callback in C runs in between."""
    numbers: list[int] = []
    same: list[bool] = []

    async def call() -> None:
        asyncio.get_running_loop().call_soon(numbers.append, 1)
        await asyncio.sleep(0)

    together(lambda: asyncio.run(call()), lambda: same.append(len(numbers) == len(numbers)))
    assert same == [True]
