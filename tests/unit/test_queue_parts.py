"""The mutex and the conditions of a queue are the queue: what is done to them depends on it."""

from __future__ import annotations

import contextlib
import queue
import threading
import types
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug import Result, VerdictKind
from bohrbug.report.text import failure_text
from tests.programs.together import together


class _Number:
    """Has code of the program run while a queue compares."""

    def __init__(self, number: int, within: contextlib.AbstractContextManager[object]) -> None:
        self.number = number
        self.within = within

    def __lt__(self, other: _Number) -> bool:
        with self.within:
            return self.number < other.number


def _held(program: Callable[[], None]) -> Result:
    result = bohrbug.explore(program, executions=100)
    assert not result.failures, failure_text(result.failures[0])
    assert not result.verdict.caveats
    assert result.verdict.kind is VerdictKind.HOLDS
    return result


def _failed(program: Callable[[], None]) -> str:
    result = bohrbug.explore(program, executions=100)
    assert result.verdict.kind is VerdictKind.FAILED
    return failure_text(result.failures[0])


@pytest.mark.parametrize("twice", [True, False])
def test_a_put_comes_in_between_two_sections_but_not_into_one(twice: bool) -> None:
    def program() -> None:
        items: queue.Queue[int] = queue.Queue()

        def look() -> None:
            with items.mutex:
                size = len(items.queue)
                if not twice:
                    assert size == len(items.queue)
            with items.mutex:
                if twice:
                    assert size == len(items.queue)

        together(look, lambda: items.put(1))

    if twice:
        assert "AssertionError" in _failed(program)
    else:
        _held(program)


QUEUE = queue.Queue[int]()
"""It is older than the executions."""


def test_a_task_may_wait_with_the_condition_of_a_queue() -> None:
    def program() -> None:
        own: queue.Queue[int] = queue.Queue()
        for items in (own, QUEUE):
            items.put(1)

            def wait(items: queue.Queue[int] = items) -> None:
                with items.not_full:
                    while items.queue:
                        items.not_full.wait()

            together(wait, items.get)

    _held(program)


class _Counting(queue.Queue[int]):
    """Counts what is put into it."""

    puts = 0

    def _put(self, item: int) -> None:
        self.puts += 1
        super()._put(item)


COUNTING = _Counting(1)
"""It is older than the executions."""
MUTEXES = [COUNTING.mutex]
"""The program refers to its mutex, too."""


def test_nothing_comes_between_an_operation_and_the_mutex_of_an_older_queue() -> None:
    def program() -> None:
        COUNTING.puts = 0
        together(
            lambda: COUNTING.put(1),
            lambda: COUNTING.put(2),
            lambda: [COUNTING.get() for _ in range(2)],
        )
        assert COUNTING.puts == 2

    assert _held(program).races == []


def test_what_a_queue_calls_does_not_race_with_what_holds_its_mutex() -> None:
    def program() -> None:
        items = _Counting()

        def count() -> None:
            with items.mutex:
                items.puts += 1

        together(lambda: items.put(1), count)
        assert items.puts == 2

    assert _held(program).races == []


def test_what_a_comparison_did_before_it_raised_does_not_race() -> None:
    def program() -> None:
        state = types.SimpleNamespace(n=0)

        class Incomparable:
            def __lt__(self, other: object) -> bool:
                state.n += 1
                raise TypeError

        items: queue.PriorityQueue[object] = queue.PriorityQueue()
        items.put(Incomparable())

        def put() -> None:
            with contextlib.suppress(TypeError):
                items.put(Incomparable())

        together(put, put)
        assert state.n == 2

    assert _held(program).races == []


def test_a_comparison_that_waits_holds_the_queue() -> None:
    def program() -> None:
        lock = threading.Lock()
        items: queue.PriorityQueue[_Number] = queue.PriorityQueue()
        items.put(_Number(0, contextlib.nullcontext()))

        def look() -> None:
            with lock:
                items.empty()

        together(lambda: items.put(_Number(1, lock)), look)

    assert "2 tasks wait for each other" in _failed(program)


def test_a_comparison_that_asks_its_own_queue_waits_for_itself() -> None:
    def program() -> None:
        items: queue.PriorityQueue[_Number] = queue.PriorityQueue()

        class Asking(contextlib.nullcontext[None]):
            def __enter__(self) -> None:
                items.qsize()

        items.put(_Number(0, Asking()))
        items.put(_Number(1, Asking()))

    assert "task 0 waits for itself" in _failed(program)


def test_the_last_step_within_a_method_lets_the_mutex_go() -> None:
    """Who asks whether the mutex is held may see it held first, and then free."""

    def program() -> None:
        lock = threading.Lock()
        items: queue.PriorityQueue[_Number] = queue.PriorityQueue()
        items.put(_Number(0, contextlib.nullcontext()))
        seen: list[bool] = []

        def look() -> None:
            seen.append(items.mutex.locked())
            seen.append(items.mutex.locked())

        together(lambda: items.put(_Number(1, lock)), look)
        assert seen != [True, False]

    _failed(program)


@pytest.mark.parametrize("ask", [True, False])
def test_trying_for_a_mutex_takes_methods_for_one_step(ask: bool) -> None:
    def program() -> None:
        items: queue.Queue[int] = queue.Queue()

        def attempt() -> None:
            if ask:
                items.mutex.locked()
            elif items.mutex.acquire(blocking=False):
                items.mutex.release()

        together(lambda: items.put(1), attempt)

    conditions = _held(program).verdict.conditions
    assert conditions is not None
    assert conditions.taking == ("methods of Queue as one step",)


# -- ways of waiting -----------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("name", ["not_full", "not_empty"])
def test_a_program_may_replace_how_one_waits_for_a_queue(name: str, timeout: float | None) -> None:
    """As tests do to see that a task waits; watchdog's do."""

    def test() -> None:
        items: queue.Queue[int] = queue.Queue(1)
        condition = getattr(items, name)
        wait, waits = condition.wait, threading.Event()

        def noticed(timeout: float | None = None) -> bool:
            waits.set()
            return bool(wait(timeout))

        condition.wait = noticed
        if name == "not_full":
            items.put(1)
            thread = threading.Thread(target=items.put, args=(2, True, timeout))
        else:
            thread = threading.Thread(target=items.get, args=(True, timeout))
        thread.start()
        waits.wait()
        if name == "not_full":
            assert items.get_nowait() == 1
        else:
            items.put_nowait(1)
        thread.join()
        assert items.qsize() == (name == "not_full")

    verdict = bohrbug.explore(test, timeouts="late").verdict
    assert verdict.kind is VerdictKind.HOLDS


def test_a_condition_of_the_programs_own_waits_for_a_queue() -> None:
    class Noticed(threading.Condition):
        waits: threading.Event

        def wait(self, timeout: float | None = None) -> bool:
            self.waits.set()
            return super().wait(timeout)

    def test() -> None:
        items: queue.Queue[int] = queue.Queue()
        items.not_empty = noticed = Noticed(items.mutex)
        noticed.waits = threading.Event()
        thread = threading.Thread(target=items.get)
        thread.start()
        noticed.waits.wait()
        items.put(1)
        thread.join()

    assert not bohrbug.explore(test, timeouts="late").failures
