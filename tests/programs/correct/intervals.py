"""Correct programs: accesses that take a while, guarded or each on an object of its own."""

from __future__ import annotations

import bisect
import contextvars
import heapq
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator

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


def guarded_generator() -> None:
    """One at a time."""
    numbers = _numbers()
    lock = threading.Lock()

    def use() -> None:
        with lock:
            next(numbers)

    together(use, use)


def generators_of_their_own() -> None:
    """Each task has its own."""
    together(lambda: list(_numbers()), lambda: list(_numbers()))


def contexts_of_their_own() -> None:
    """Each task runs in a copy."""
    together(
        lambda: contextvars.copy_context().run(len, "a"),
        lambda: contextvars.copy_context().run(len, "b"),
    )


_VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("_VARIABLE")


def _set_twice() -> None:
    _VARIABLE.set(1)
    assert _VARIABLE.get() == 1
    _VARIABLE.set(2)


def variables_of_their_own() -> None:
    """Each thread has a context of its own."""
    together(_set_twice, _set_twice)


def guarded_context() -> None:
    """Run in and looked at under one lock."""
    context = contextvars.Context()
    lock = threading.Lock()
    seen: list[int | None] = []

    def run() -> None:
        with lock:
            context.run(_set_twice)

    def look() -> None:
        with lock:
            seen.append(context.get(_VARIABLE))

    together(run, look)
    assert seen[0] in (None, 2)


def guarded_sort() -> None:
    """Sorted and measured under one lock."""
    numbers = [3, 1, 2]
    seen: list[int] = []
    lock = threading.Lock()

    def sort() -> None:
        with lock:
            numbers.sort(key=lambda number: -number)

    def measure() -> None:
        with lock:
            seen.append(len(numbers))

    together(sort, measure)
    assert seen == [3]


def guarded_heap() -> None:
    """What compares itself, popped and inserted under a lock."""
    heap = [_Ordered(1), _Ordered(2)]
    ordered: list[_Ordered] = []
    lock = threading.Lock()

    def move() -> None:
        with lock:
            bisect.insort(ordered, heapq.heappop(heap))

    together(move, move)
    assert [each.value for each in ordered] == [1, 2]


def lists_of_their_own() -> None:
    """Each task sorts, extends and removes in its own."""

    def use() -> None:
        items = [_Ordered(2), _Ordered(1)]
        items.extend(_Ordered(number) for number in _numbers())
        items.sort(key=lambda each: -each.value)
        items.remove(_Ordered(1))
        assert [each.value for each in items] == [2, 2, 1, 0]

    together(use, use)


def calls_of_a_method_that_nobody_exchanges() -> None:
    """The name of the method is stored on objects of another class."""

    class Service:
        def answer(self) -> int:
            return 1

    class Note:
        def __init__(self, answer: int) -> None:
            self.answer = answer

    service = Service()
    notes: list[Note] = []

    def ask() -> None:
        notes.append(Note(service.answer()))

    together(ask, ask)
    assert [note.answer for note in notes] == [1, 1]


def guarded_file() -> None:
    """``seek`` and ``read`` under a lock."""
    lock = threading.Lock()
    letters: list[str] = []
    with tempfile.TemporaryFile("w+") as file:
        file.write("ab")
        file.flush()

        def read_first() -> None:
            with lock:
                file.seek(0)
                letters.append(file.read(1))

        together(read_first, read_first)
    assert letters == ["a", "a"]


def reads_at_offsets() -> None:
    """``pread`` moves nothing."""
    descriptor = os.open(__file__, os.O_RDONLY)
    got: list[bytes] = []
    try:
        together(*[lambda: got.append(os.pread(descriptor, 3, 0))] * 2)
    finally:
        os.close(descriptor)
    assert got == [b'"""', b'"""']


def guarded_mapped_file() -> None:
    """Incremented under a lock."""
    lock = threading.Lock()
    with mmap.mmap(-1, 16) as memory:

        def count() -> None:
            with lock:
                memory[0] = memory[0] + 1

        together(count, count)
        assert memory[0] == 2


def guarded_enumerate() -> None:
    """One at a time."""
    lock = threading.Lock()
    numbered = enumerate(_numbers())
    pairs: list[tuple[int, int]] = []

    def use() -> None:
        with lock:
            pairs.append(next(numbered))

    together(use, use)
    assert pairs == [(0, 0), (1, 1)]


def texts_of_lists_of_their_own() -> None:
    """Each task makes text of lists in a list that only it has."""
    texts: list[str] = []

    def use() -> None:
        lists = [[1], [2]]
        lists[0].append(3)
        texts.append(f"{lists}")

    together(use, use)
    assert texts == ["[[1, 3], [2]]"] * 2
