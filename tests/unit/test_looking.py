"""What tasks see of primitives and of each other depends on when they look."""

from __future__ import annotations

import contextlib
import functools
import logging
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from tests.programs.together import together
from tests.unit.random_schedules import values


@pytest.mark.parametrize("count", [threading.active_count, lambda: len(threading.enumerate())])
def test_how_many_threads_are_alive_depends_on_the_schedule(count: Callable[[], int]) -> None:
    def attempt() -> int:
        before = count()
        thread = threading.Thread(target=lambda: None)
        thread.start()
        seen = count()
        thread.join()
        assert count() == before
        return seen - before

    assert values(attempt) == {0, 1}


def test_reduction_finds_that_a_third_starts_a_thread_before_or_after_the_look() -> None:
    seen: set[int] = set()

    def test() -> None:
        inner = threading.Thread(target=threading.Event().is_set)
        counts: list[int] = []
        before = threading.active_count()
        together(inner.start, lambda: counts.append(threading.active_count() - before))
        inner.join()
        seen.add(counts[0])

    result = bohrbug.explore(test, strategy="dpor", seconds=None)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert seen == {1, 2, 3}


def _unfinished() -> bool:
    line: queue.Queue[int] = queue.Queue()
    line.put(1)
    seen: list[int] = []
    together(line.task_done, lambda: seen.append(line.unfinished_tasks))
    return seen == [1]


def _queue_inside() -> bool:
    line: queue.Queue[int] = queue.Queue()
    seen: list[int] = []
    together(lambda: line.put(1), lambda: seen.append(len(line.queue)))
    return seen == [1]


def _in_subclass() -> bool:
    class Own(queue.LifoQueue):
        pass

    line: Own = Own()
    seen: list[Any] = []
    together(lambda: line.put(1), lambda: seen.append(getattr(line, "unfinished_tasks")))
    return seen == [1]


def _shut_down() -> bool:
    line: queue.Queue[int] = queue.Queue()
    seen: list[bool] = []
    together(line.shutdown, lambda: seen.append(line.is_shutdown))  # type: ignore[attr-defined]
    return seen[0]


def _barrier() -> bool:
    barrier = threading.Barrier(2)
    seen: list[int] = []
    together(barrier.wait, barrier.wait, lambda: seen.append(barrier.n_waiting))
    return seen[0] > 0


def _broken() -> bool:
    barrier = threading.Barrier(2)
    seen: list[bool] = []
    together(barrier.abort, lambda: seen.append(barrier.broken))
    return seen[0]


def _semaphore() -> bool:
    semaphore = threading.Semaphore(0)
    seen: list[int] = []
    together(semaphore.release, lambda: seen.append(semaphore._value))
    return seen == [1]


def _waiting() -> bool:
    condition = threading.Condition()
    seen: list[int] = []

    def wait() -> None:
        with condition:
            condition.wait(5)

    def wake() -> None:
        seen.append(len(condition._waiters))
        with condition:
            condition.notify()

    together(wait, wake)
    return seen == [1]


def _state_of_barrier() -> bool:
    barrier = threading.Barrier(2)
    seen: list[int] = []
    together(barrier.abort, lambda: seen.append(barrier._state))
    return seen == [0]


def _result() -> bool:
    future: Future[int] = Future()
    seen: list[Any] = []
    together(lambda: future.set_result(1), lambda: seen.append(future._result))
    return seen == [1]


def _shutdown() -> bool:
    executor = ThreadPoolExecutor(1)
    seen: list[bool] = []
    together(executor.shutdown, lambda: seen.append(executor._shutdown))
    return seen[0]


def _name() -> bool:
    thread = threading.Thread(target=lambda: seen.append(threading.current_thread().name))
    seen: list[str] = []
    thread.start()
    thread.name = "other"
    thread.join()
    return seen == ["other"]


def _exit_stack() -> bool:
    stack = contextlib.ExitStack()
    called: list[int] = []
    together(lambda: stack.callback(called.append, 1), stack.close)
    return called == [1]


def _moved_stack() -> bool:
    stack = contextlib.ExitStack()
    called: list[int] = []
    moved: list[contextlib.ExitStack] = []
    together(lambda: stack.callback(called.append, 1), lambda: moved.append(stack.pop_all()))
    moved[0].close()
    return called == [1]


def _leaving_a_stack() -> bool:
    called: list[int] = []
    seen: list[int] = []

    def leave() -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(called.append, 1)

    together(leave, lambda: seen.extend((len(called), len(called))))
    return seen != [0, 1]


@pytest.mark.parametrize(
    "look",
    [
        *(_unfinished, _queue_inside, _in_subclass, _barrier, _broken, _semaphore, _name),
        *(_waiting, _state_of_barrier, _result, _shutdown),
        *(_exit_stack, _moved_stack, _leaving_a_stack),
        pytest.param(
            _shut_down,
            marks=pytest.mark.skipif(sys.version_info < (3, 13), reason="new in Python 3.13"),
        ),
    ],
)
def test_what_is_seen_depends_on_the_schedule(look: Callable[[], bool]) -> None:
    """Both answers occur: neither is always true."""
    seen: set[bool] = set()
    result = bohrbug.explore(lambda: seen.add(look()), seconds=None, executions=200)
    assert not result.failures, result.failures[0].outcome.message
    assert seen == {False, True}


def test_each_thread_has_a_frame_and_stands_where_it_waits() -> None:
    seen: set[str] = set()

    def wait_here(event: threading.Event) -> None:
        event.wait()

    def test() -> None:
        event = threading.Event()
        thread = threading.Thread(target=wait_here, args=(event,))
        thread.start()
        frames = sys._current_frames()
        assert frames[threading.get_ident()].f_code is test.__code__
        assert thread.ident is not None
        seen.add(frames[thread.ident].f_code.co_name)
        event.set()
        thread.join()
        assert thread.ident not in sys._current_frames()

    result = bohrbug.explore(test, strategy="dfs")
    assert result.verdict.kind is VerdictKind.HOLDS
    assert {"_about_to_begin", "wait_here"} <= seen


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="handlers have to have a lock there")
def test_a_handler_without_a_lock_lets_tasks_in_at_the_same_time() -> None:
    class Counting(logging.Handler):
        count = 0

        def createLock(self) -> None:
            self.lock = None

        def emit(self, record: logging.LogRecord) -> None:
            known = self.count
            self.count = known + 1

    def test() -> None:
        logger, handler = logging.Logger("own"), Counting()
        logger.addHandler(handler)
        together(lambda: logger.warning("a"), lambda: logger.warning("b"))
        assert handler.count == 2

    assert bohrbug.explore(test, causes=0).verdict.kind is VerdictKind.FAILED


def test_calls_of_a_cache_are_ordered_and_no_race() -> None:
    """``functools`` says that its caches are threadsafe; who comes first still matters."""
    counts: set[int] = set()

    def test() -> None:
        made: list[int] = []

        @functools.lru_cache
        def make() -> int:
            made.append(1)
            return len(made)

        together(make, make)
        counts.add(len(made))

    result = bohrbug.explore(test, seconds=None)
    assert not [race for race in result.races if "lru_cache" in race.label]
    assert counts == {1, 2}
