"""Queues, threads, time and executors: all and only the expected outcomes occur."""

from __future__ import annotations

import concurrent.futures
import contextvars
import logging
import queue
import sched
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from tests.programs.together import together
from tests.unit.random_schedules import DEADLOCK, EXCEPTION, PASSED, kinds, values

LOGGER = logging.getLogger("bohrbug.test_primitives")


# -- queues ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [queue.Queue, queue.LifoQueue, queue.PriorityQueue])
def test_empty_then_get_nowait(make: Callable[[], Any]) -> None:
    def program() -> None:
        shared = make()
        shared.put(1)

        def take() -> None:
            if not shared.empty():
                shared.get_nowait()

        together(take, take)

    assert kinds(program) == {PASSED, EXCEPTION}


def test_queue_of_one_place_passes_items_in_order() -> None:
    def program() -> tuple[int, ...]:
        shared: queue.Queue[int] = queue.Queue(1)
        got: list[int] = []

        def put() -> None:
            for item in range(3):
                shared.put(item)

        def take() -> None:
            for _ in range(3):
                got.append(shared.get())
                shared.task_done()

        together(put, take)
        shared.join()
        return tuple(got)

    assert values(program) == {(0, 1, 2)}


def test_queue_get_with_a_timeout() -> None:
    def program() -> str:
        shared: queue.Queue[str] = queue.Queue()
        seen = []

        def take() -> None:
            try:
                seen.append(shared.get(timeout=1))
            except queue.Empty:
                seen.append("empty")

        together(take, lambda: shared.put("item"))
        return seen[0]

    assert values(program) == {"item", "empty"}
    assert values(program, late_timeouts=True) == {"item"}


def test_simple_queue_orders_two_producers_both_ways() -> None:
    def program() -> tuple[int, ...]:
        shared: queue.SimpleQueue[int] = queue.SimpleQueue()
        together(lambda: shared.put(1), lambda: shared.put(2))
        return shared.get(), shared.get()

    assert values(program) == {(1, 2), (2, 1)}


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Queue.shutdown is new in Python 3.13")
def test_queue_shutdown_wakes_who_waits() -> None:
    def program() -> None:
        shared: Any = queue.Queue()

        def take() -> None:
            with pytest.raises(queue.ShutDown):  # type: ignore[attr-defined]
                shared.get()

        together(take, shared.shutdown)

    assert kinds(program) == {PASSED}


# -- threads -----------------------------------------------------------------------------------


def test_timer_fires_or_is_cancelled() -> None:
    def program() -> bool:
        fired: list[bool] = []
        timer = threading.Timer(10, lambda: fired.append(True))
        timer.start()
        timer.cancel()
        timer.join()
        return bool(fired)

    assert values(program) == {True, False}
    assert values(program, late_timeouts=True) == {False}


def test_threads_started_by_threads() -> None:
    def program() -> tuple[int, ...]:
        order: list[int] = []

        def outer() -> None:
            together(lambda: order.append(1), lambda: order.append(2))
            order.append(3)

        together(outer)
        return tuple(order)

    assert values(program) == {(1, 2, 3), (2, 1, 3)}


def test_a_subclass_of_thread_overrides_run() -> None:
    class Worker(threading.Thread):
        def __init__(self, results: list[str]) -> None:
            super().__init__(name="worker", daemon=False)
            self.results = results

        def run(self) -> None:
            self.results.append(threading.current_thread().name)

    def program() -> tuple[str, ...]:
        results: list[str] = []
        workers = [Worker(results), Worker(results)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not any(worker.is_alive() for worker in workers)
        return tuple(results)

    assert values(program, 20) == {("worker", "worker")}


def test_identity_inside_tasks() -> None:
    def program() -> None:
        seen: dict[int, str] = {}
        # Others may be alive that no test has started.
        before = threading.active_count()

        def note() -> None:
            thread = threading.current_thread()
            assert thread.ident == threading.get_ident()
            assert thread in threading.enumerate()
            assert thread is not threading.main_thread()
            seen[threading.get_ident()] = thread.name

        together(note, note)
        assert sorted(seen.values())[0].endswith("(note)")
        assert len(seen) == 2
        assert threading.active_count() == before
        assert threading.current_thread() is threading.main_thread()

    assert kinds(program, 20) == {PASSED}


def description(thread: threading.Thread) -> dict[str, Any]:
    """What is in a thread, in order, without what differs from one thread to the next."""
    parts = {name: part for name, part in vars(thread).items() if not name.startswith("_bohrbug")}
    return (
        parts
        | {
            "_started": (type(thread._started), thread._started.is_set()),  # type: ignore[attr-defined]
            "_invoke_excepthook": callable(parts["_invoke_excepthook"]),
        }
        | {name: True for name in ("_handle", "_os_thread_handle") if name in parts}
    )


def some_threads() -> list[threading.Thread]:
    def named() -> None:
        pass

    return [
        threading.Thread(target=named, args=(1,), kwargs={"b": 2}),
        threading.Thread(None, named, "a name", [1], daemon=True),
        threading.Thread(target=print, name="another"),
        threading.Thread(daemon=False),
    ]


def test_threads_are_made_as_usual() -> None:
    made: list[threading.Thread] = []

    def program() -> None:
        made[:] = some_threads()
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            threading.Thread(targets=None)  # type: ignore[call-arg]
        with pytest.raises(AssertionError, match="group argument must be None"):
            threading.Thread(1)  # type: ignore[arg-type]

        def inherits() -> None:
            assert threading.Thread().daemon

        daemon = threading.Thread(target=inherits, daemon=True)
        daemon.start()
        daemon.join()

    assert kinds(program, 2) == {PASSED}
    assert made[0].name == "Thread-1 (named)"
    assert made[3].name == "Thread-2"
    usual = some_threads()
    for thread, other in zip(made, usual, strict=True):
        thread.name = other.name
        first, second = description(thread), description(other)
        assert list(first) == list(second)
        assert first.pop("_target") is not None or second["_target"] is None
        second.pop("_target")
        assert first == second


def test_a_thread_that_was_made_in_an_execution_can_be_started_after_it() -> None:
    made: list[threading.Thread] = []
    ran: list[int] = []

    def program() -> None:
        def told(number: int) -> None:
            ran.append(number)

        made[:] = [threading.Thread(target=told, args=(1,))]
        # Waiting for the start of a thread takes its whole event.
        assert made[0]._started.wait(0.5) is False  # type: ignore[attr-defined]
        made.append(threading.Thread(target=told, args=(2,)))

    assert kinds(program, 2) == {PASSED}
    for thread in made:
        thread.start()
        thread.join()
    assert ran == [1, 2]


class HandShaking(threading.Thread):
    """Starts in the long way, as it overrides a part of it."""

    def _bootstrap(self) -> None:
        super()._bootstrap()  # type: ignore[misc]


@pytest.mark.parametrize("kind", [threading.Thread, HandShaking])
def test_a_thread_that_was_made_before_can_be_started_in_an_execution(
    kind: type[threading.Thread],
) -> None:
    ran: list[int] = []
    thread = kind(target=ran.append, args=(1,))

    def program() -> None:
        thread.start()
        assert thread.is_alive()
        thread.join()
        assert not thread.is_alive()

    assert kinds(program, 1) == {PASSED}
    assert ran == [1]
    assert not thread.is_alive()
    thread.join()


def test_a_program_may_be_told_of_ends_by_a_function_in_place_of_get_ident() -> None:
    """A thread that ends asks for its ident, on which pebble's ``waitforthreads`` relies."""

    def attempt() -> bool:
        told = threading.Event()
        real = threading.get_ident

        def telling() -> int:
            told.set()
            return real()

        thread = threading.Thread(target=time.sleep, args=(1,))
        thread.start()
        threading.get_ident = telling
        try:
            return told.wait()
        finally:
            threading.get_ident = real
            thread.join()

    assert values(attempt, 20) == {True}


def test_daemon_threads_alone_blocked_are_no_deadlock() -> None:
    def program() -> None:
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    assert kinds(program, 20) == {PASSED}


def test_another_thread_left_blocked_is_a_leak() -> None:
    def program() -> None:
        threading.Thread(target=threading.Event().wait).start()

    assert kinds(program, 20) == {"leak"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_sys_exit_ends_only_its_thread() -> None:
    def program() -> int:
        done: list[int] = []

        def leave() -> None:
            done.append(1)
            sys.exit(3)

        together(leave)
        return len(done)

    assert values(program, 10) == {1}


def test_an_exception_in_a_thread_is_a_failure() -> None:
    def program() -> None:
        together(lambda: [].pop())

    assert kinds(program, 10) == {EXCEPTION}


def test_an_exception_hook_of_the_program_takes_it() -> None:
    def program() -> None:
        caught: list[Any] = []
        before = threading.excepthook
        threading.excepthook = lambda args: caught.append(args.exc_type)
        try:
            together(lambda: [].pop())
        finally:
            threading.excepthook = before
        assert caught == [IndexError]

    assert kinds(program, 10) == {PASSED}


def test_another_task_may_exchange_the_hook_before_an_exception_leaves_a_thread() -> None:
    """Which hook there is, is looked up: else these two tasks would have nothing in common."""
    takes: set[int] = set()

    def program() -> None:
        caught: list[Any] = []
        before = threading.excepthook
        threading.excepthook = lambda args: caught.append(args.exc_type)

        def ignore() -> None:
            threading.excepthook = lambda args: None

        try:
            together(lambda: [].pop(), ignore)
        finally:
            threading.excepthook = before
        takes.add(len(caught))

    assert bohrbug.explore(program, strategy="dpor").verdict.kind is VerdictKind.HOLDS
    assert takes == {0, 1}


def test_recursion_error_in_a_task() -> None:
    def program() -> None:
        def endless() -> None:
            endless()

        def recurse() -> None:
            with pytest.raises(RecursionError):
                endless()

        together(recurse, recurse)

    assert kinds(program, 5) == {PASSED}


def test_many_threads_that_begin_one_after_the_other() -> None:
    """None of them takes the recursion of the one before it for its own."""

    def attempt() -> int:
        ended: list[int] = []

        def wait() -> None:
            time.sleep(1)
            ended.append(1)

        together(*[wait] * 300)
        return len(ended)

    assert values(attempt, 1, late_timeouts=True) == {300}


def test_fifty_threads() -> None:
    def program() -> int:
        lock = threading.Lock()
        total = 0

        def add() -> None:
            nonlocal total
            with lock:
                total += 1

        together(*[add] * 50)
        return total

    assert values(program, 5) == {50}


def test_thread_locals_are_per_task() -> None:
    class Mine(threading.local):
        def __init__(self, start: int) -> None:
            self.value = start

    def program() -> tuple[int, ...]:
        mine = Mine(5)
        plain = threading.local()
        plain.value = 0
        seen = []

        def change() -> None:
            assert not hasattr(plain, "value")
            mine.value += 1
            seen.append(mine.value)

        together(change, change)
        assert mine.value == 5
        return tuple(seen)

    assert values(program, 20) == {(6, 6)}


def test_context_variables_are_per_thread() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    def program() -> None:
        seen: list[str] = []

        def change(name: str) -> None:
            seen.append(variable.get())
            variable.set(name)
            time.sleep(0)
            assert variable.get() == name

        together(lambda: change("a"), lambda: change("b"))
        assert seen == ["none", "none"]
        assert variable.get() == "none"

    assert kinds(program, 30) == {PASSED}


def test_logging_in_threads(caplog: pytest.LogCaptureFixture) -> None:
    def program() -> None:
        caplog.clear()
        together(*[lambda: LOGGER.warning("message")] * 3)
        assert [record.message for record in caplog.records] == ["message"] * 3

    assert kinds(program, 30) == {PASSED}


# -- time --------------------------------------------------------------------------------------


def test_sleep_takes_virtual_time_only() -> None:
    def program() -> None:
        before = time.monotonic()
        time.sleep(100_000)
        assert time.monotonic() - before >= 100_000

    assert kinds(program, 5, late_timeouts=True) == {PASSED}


def test_sleeps_do_not_order_tasks() -> None:
    def program() -> tuple[int, ...]:
        order: list[int] = []

        def after(seconds: int) -> None:
            time.sleep(seconds)
            order.append(seconds)

        together(lambda: after(1), lambda: after(2))
        return tuple(order)

    assert values(program) == {(1, 2), (2, 1)}
    assert values(program, late_timeouts=True) == {(1, 2)}


def test_scheduler_of_the_standard_library() -> None:
    def program() -> tuple[str, ...]:
        order: list[str] = []
        scheduler = sched.scheduler()
        scheduler.enter(20, 1, order.append, ("later",))
        scheduler.enter(10, 1, order.append, ("sooner",))
        together(scheduler.run)
        return tuple(order)

    assert values(program, 20, late_timeouts=True) == {("sooner", "later")}


# -- executors ---------------------------------------------------------------------------------


def test_a_future_of_the_own_pool_of_one_worker_is_a_deadlock() -> None:
    def program() -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            inner = executor.submit(lambda: executor.submit(int).result())
            inner.result()

    assert kinds(program, 20) == {DEADLOCK}


def test_executor_runs_everything_in_any_order() -> None:
    def program() -> tuple[int, ...]:
        order: list[int] = []
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            assert list(executor.map(lambda x: order.append(x) or x, [1, 2])) == [1, 2]  # type: ignore[func-returns-value]
        return tuple(order)

    assert values(program) == {(1, 2), (2, 1)}


def test_wait_for_futures_of_which_one_has_failed() -> None:
    def program() -> None:
        failed: concurrent.futures.Future[None] = concurrent.futures.Future()
        failed.set_exception(ValueError())
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            other = executor.submit(time.sleep, 1)
            done, _ = concurrent.futures.wait(
                [failed, other], return_when=concurrent.futures.FIRST_EXCEPTION
            )
            assert failed in done

    assert kinds(program) == {PASSED}


def test_future_result_with_a_timeout() -> None:
    def program() -> str:
        future: concurrent.futures.Future[str] = concurrent.futures.Future()
        seen = []

        def wait() -> None:
            try:
                seen.append(future.result(timeout=1))
            except TimeoutError:
                seen.append("late")

        together(wait, lambda: future.set_result("done"))
        return seen[0]

    assert values(program) == {"done", "late"}


def test_an_executor_that_is_not_shut_down_is_no_leak() -> None:
    def program() -> None:
        executor = concurrent.futures.ThreadPoolExecutor(2)
        executor.submit(int)

    assert kinds(program, 30) == {PASSED}


def test_thread_pool_of_multiprocessing() -> None:
    def program() -> tuple[int, ...]:
        with ThreadPool(2) as pool:
            return tuple(pool.map(lambda x: x * x, range(4)))

    assert values(program, 15, late_timeouts=True) == {(0, 1, 4, 9)}
