"""Programs around what mocks keep and what futures and queues call, each with a lock or a stand-in.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import queue
import types
from collections.abc import Callable
from concurrent.futures import Future
from unittest import mock

from tests.programs.guarding import Guard, counted
from tests.programs.together import together


def _alike_twice(guard: Guard, get: Callable[[], object], change: Callable[[], object]) -> None:
    """One task gets something twice, the other one changes it."""
    got: list[object] = []

    def look() -> None:
        with guard:
            got.append(get())
            got.append(get())

    def work() -> None:
        with guard:
            change()

    together(look, work)
    assert got[0] == got[1]


def calls_of_a_mock(guard: Guard) -> None:
    """A call is not counted."""
    called = mock.Mock()
    counted(guard, called, lambda: int(called.call_count))


def what_a_mock_returns(guard: Guard) -> None:
    """Another value is returned the second time."""
    called = mock.Mock(return_value=1)
    _alike_twice(guard, called, lambda: called.configure_mock(return_value=2))


def what_a_mock_returns_by_default(guard: Guard) -> None:
    """Both make it."""
    called = mock.Mock()
    got: list[object] = []

    def work() -> None:
        with guard:
            value = called.return_value
        got.append(value)

    together(work, work)
    assert got[0] is got[1]


def side_effect_of_a_mock(guard: Guard) -> None:
    """Another function is called the second time."""
    called = mock.Mock(return_value=1)

    def change() -> None:
        called.side_effect = lambda: 2

    _alike_twice(guard, called, change)


def attribute_of_a_mock(guard: Guard) -> None:
    """One of two increments is lost."""
    holder = mock.Mock()
    holder.n = 0

    def add() -> None:
        holder.n += 1

    counted(guard, add, lambda: int(holder.n))


def mock_that_is_reset(guard: Guard) -> None:
    """The call is forgotten before it is looked for."""
    called = mock.Mock()
    seen: list[bool] = []

    def call() -> None:
        with guard:
            called()
            seen.append(called.called)

    def reset() -> None:
        with guard:
            called.reset_mock()

    together(call, reset)
    assert seen == [True]


def number_of_calls_of_a_mock(guard: Guard) -> None:
    """There is one more the second time."""
    called = mock.Mock()
    _alike_twice(guard, lambda: called.call_count, called)


def mock_reset_while_it_gets_a_child(guard: Guard) -> None:
    """RuntimeError: dictionary changed size during iteration."""
    holder = mock.Mock()
    assert holder.there

    def reset() -> None:
        with guard:
            holder.reset_mock()

    def use() -> None:
        with guard:
            assert holder.new

    together(reset, use)


def values_of_a_mock_in_turn(guard: Guard) -> None:
    """The other task takes a turn in between."""
    called = mock.Mock(side_effect="abab")
    pairs: list[set[str]] = []

    def work() -> None:
        with guard:
            pair = {called(), called()}
        pairs.append(pair)

    together(work, work)
    assert pairs == [{"a", "b"}] * 2


def side_effect_in_c_of_a_mock(guard: Guard) -> None:
    """What the mock is called with is in between."""
    kept: list[object] = []
    called = mock.Mock(side_effect=kept.append)

    def call() -> None:
        with guard:
            called(0)

    def add() -> None:
        with guard:
            kept.append(1)
            kept.append(1)

    together(call, add)
    assert kept.index(0) != 1


def callback_that_comes_late(guard: Guard) -> None:
    """One of two increments is lost: a future that is done calls back at once."""
    future: Future[int] = Future()
    future.set_result(1)
    state = types.SimpleNamespace(n=0)

    def add(_: object) -> None:
        state.n += 1

    counted(guard, lambda: future.add_done_callback(add), lambda: state.n)


def callback_in_c_that_comes_late(guard: Guard) -> None:
    """The future is in between."""
    future: Future[int] = Future()
    future.set_result(1)
    kept: list[object] = []

    def call_back() -> None:
        with guard:
            future.add_done_callback(kept.append)

    def add() -> None:
        with guard:
            kept.append(1)
            kept.append(1)

    together(call_back, add)
    assert kept.index(future) != 1


class _Compared:
    """Counts how often objects of it are compared."""

    count = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __lt__(self, other: _Compared) -> bool:
        _Compared.count += 1
        return self.number < other.number


def comparisons_of_two_queues(guard: Guard) -> None:
    """A comparison is not counted: each queue has a mutex of its own."""
    _Compared.count = 0
    queues: list[queue.PriorityQueue[_Compared]] = [queue.PriorityQueue() for _ in range(2)]
    for one in queues:
        one.put(_Compared(0))

    def work(one: queue.PriorityQueue[_Compared]) -> None:
        with guard:
            one.put(_Compared(1))

    together(lambda: work(queues[0]), lambda: work(queues[1]))
    assert _Compared.count == 2


def puts_of_two_queues(guard: Guard) -> None:
    """A put is not counted: each queue has a mutex of its own."""
    state = types.SimpleNamespace(n=0)

    class Counting(queue.Queue[int]):
        def _put(self, item: int) -> None:
            state.n += 1
            super()._put(item)

    queues = [Counting(), Counting()]

    def work(one: Counting) -> None:
        with guard:
            one.put(1)

    together(lambda: work(queues[0]), lambda: work(queues[1]))
    assert state.n == 2


def queue_under_its_mutex(guard: Guard) -> None:
    """The other task puts something in between two looks that each take the mutex."""
    items: queue.Queue[int] = queue.Queue()
    seen: list[int] = []

    def look() -> None:
        with guard:
            for _ in range(2):
                with items.mutex:
                    seen.append(len(items.queue))

    def put() -> None:
        with guard:
            items.put(1)

    together(look, put)
    assert seen[0] == seen[1]
