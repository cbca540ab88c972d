"""Each primitive in a small program: all and only the expected outcomes occur."""

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

from bohrbug.exploration.subject import threads_subject
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.site import site_of
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Level, Settings
from tests.programs.together import together

MODULE_LOCK = threading.Lock()
MODULE_CONDITION = threading.Condition()
LOGGER = logging.getLogger("bohrbug.test_primitives")

PASSED = "passed"
DEADLOCK = "deadlock"
EXCEPTION = "exception"


def outcomes(
    function: Callable[[], object], executions: int = 150, late_timeouts: bool = False
) -> list[Outcome]:
    """The outcomes of ``function`` under random schedules."""
    settings = Settings(late_timeouts=late_timeouts, max_steps=20_000)
    with threads_subject(function, settings, Level.SYNC, Scope()) as runtime:
        return [
            runtime.execute(Plan((), UniformRandom(seed))).trace.outcome
            for seed in range(executions)
        ]


def kinds(
    function: Callable[[], object], executions: int = 150, late_timeouts: bool = False
) -> set[str]:
    """What kinds of outcomes occur."""
    return {outcome.kind.value for outcome in outcomes(function, executions, late_timeouts)}


def values(
    function: Callable[[], Any], executions: int = 150, late_timeouts: bool = False
) -> set[Any]:
    """What ``function`` returns under random schedules; it must always pass."""
    seen: list[Any] = []
    found = kinds(lambda: seen.append(function()), executions, late_timeouts)
    assert found == {PASSED}
    return set(seen)


# -- locks ---------------------------------------------------------------------------------


def test_lost_update_between_two_critical_sections() -> None:
    def program() -> int:
        lock = threading.Lock()
        value = 0

        def add() -> None:
            nonlocal value
            with lock:
                seen = value
            with lock:
                value = seen + 1

        together(add, add)
        return value

    assert values(program) == {1, 2}


def test_try_lock_succeeds_or_not() -> None:
    def program() -> bool:
        lock = threading.Lock()
        got = []

        def hold() -> None:
            with lock:
                pass

        def attempt() -> None:
            got.append(lock.acquire(blocking=False))
            if got[0]:
                lock.release()

        together(hold, attempt)
        return got[0]

    assert values(program) == {True, False}


def test_locked_is_seen_both_ways() -> None:
    def program() -> bool:
        lock = threading.Lock()
        seen = []

        def hold() -> None:
            with lock:
                pass

        together(hold, lambda: seen.append(lock.locked()))
        return seen[0]

    assert values(program) == {True, False}


def test_timed_lock_times_out_although_its_holder_could_run() -> None:
    def program() -> bool:
        lock = threading.Lock()
        got = []

        def hold() -> None:
            with lock:
                pass

        def attempt() -> None:
            got.append(lock.acquire(timeout=1))
            if got[0]:
                lock.release()

        together(hold, attempt)
        return got[0]

    assert values(program) == {True, False}
    assert values(program, late_timeouts=True) == {True}


def test_locks_in_opposite_order_deadlock_with_a_cycle() -> None:
    def program() -> None:
        a, b = threading.Lock(), threading.Lock()

        def one() -> None:
            with a, b:
                pass

        def other() -> None:
            with b, a:
                pass

        together(one, other)

    found = outcomes(program)
    assert {outcome.kind.value for outcome in found} == {PASSED, DEADLOCK}
    assert all(len(o.cycle) == 2 for o in found if o.kind.value == DEADLOCK)


def test_locks_made_at_import_time_are_controlled() -> None:
    def program() -> bool:
        got = []

        def hold() -> None:
            with MODULE_LOCK:
                pass

        def attempt() -> None:
            got.append(MODULE_LOCK.acquire(blocking=False))
            if got[0]:
                MODULE_LOCK.release()

        together(hold, attempt)
        return got[0]

    assert values(program) == {True, False}


def test_a_lock_left_held_by_one_execution_is_free_in_the_next() -> None:
    def program() -> None:
        def hold() -> None:
            MODULE_LOCK.acquire()
            MODULE_LOCK.acquire()

        together(hold)

    assert kinds(program, 5) == {DEADLOCK}
    assert not MODULE_LOCK.locked()


def test_rlock_is_entered_again_only_by_its_owner() -> None:
    def program() -> bool:
        lock = threading.RLock()
        got = []
        with lock, lock:
            together(lambda: got.append(lock.acquire(blocking=False)))
        return got[0]

    assert values(program, 20) == {False}


# -- conditions, events, semaphores, barriers ------------------------------------------------


def test_lost_notify() -> None:
    def program() -> None:
        condition = threading.Condition()

        def wait() -> None:
            with condition:
                condition.wait()

        def notify() -> None:
            with condition:
                condition.notify()

        together(wait, notify)

    assert kinds(program) == {PASSED, DEADLOCK}


def test_wait_for_with_a_predicate_does_not_lose_the_notify() -> None:
    def program() -> None:
        ready = False

        def wait() -> None:
            with MODULE_CONDITION:
                assert MODULE_CONDITION.wait_for(lambda: ready)

        def notify() -> None:
            nonlocal ready
            with MODULE_CONDITION:
                ready = True
                MODULE_CONDITION.notify_all()

        together(wait, notify)

    assert kinds(program) == {PASSED}


def test_wait_for_with_a_timeout_may_give_up() -> None:
    def program() -> bool:
        condition = threading.Condition()
        ready = False
        seen = []

        def wait() -> None:
            with condition:
                seen.append(condition.wait_for(lambda: ready, timeout=1))

        def notify() -> None:
            nonlocal ready
            with condition:
                ready = True
                condition.notify()

        together(wait, notify)
        return seen[0]

    assert values(program) == {True, False}
    assert values(program, late_timeouts=True) == {True}


@pytest.mark.parametrize(("loop", "expected"), [(False, {PASSED, EXCEPTION}), (True, {PASSED})])
def test_bounded_buffer_with_if_for_while(loop: bool, expected: set[str]) -> None:
    def program() -> None:
        condition = threading.Condition()
        items: list[int] = []

        def get() -> None:
            with condition:
                if loop:
                    while not items:
                        condition.wait()
                elif not items:
                    condition.wait()
                items.pop()

        def put() -> None:
            for item in range(2):
                with condition:
                    items.append(item)
                    condition.notify_all()

        together(get, get, put)

    assert kinds(program, 400) == expected


def test_event_cleared_between_set_and_wait() -> None:
    def program() -> None:
        event = threading.Event()

        def pulse() -> None:
            event.set()
            event.clear()

        together(event.wait, pulse)

    assert kinds(program) == {PASSED, DEADLOCK}


def test_event_wait_with_a_timeout() -> None:
    def program() -> bool:
        event = threading.Event()
        seen = []
        together(lambda: seen.append(event.wait(1)), event.set)
        return seen[0]

    assert values(program) == {True, False}
    assert values(program, late_timeouts=True) == {True}


def test_try_semaphore() -> None:
    def program() -> tuple[bool, ...]:
        semaphore = threading.Semaphore(1)
        got = []

        def attempt() -> None:
            if semaphore.acquire(blocking=False):
                got.append(True)
                semaphore.release()
            else:
                got.append(False)

        together(attempt, attempt)
        return tuple(sorted(got))

    assert values(program) == {(True, True), (False, True)}


def test_semaphore_released_several_times_at_once() -> None:
    def program() -> None:
        semaphore = threading.Semaphore(0)
        together(semaphore.acquire, semaphore.acquire, lambda: semaphore.release(2))
        with pytest.raises(ValueError, match="Semaphore released too many times"):
            threading.BoundedSemaphore(1).release()

    assert kinds(program) == {PASSED}


def test_barrier_with_all_parties_and_its_action() -> None:
    def program() -> tuple[int, ...]:
        done: list[int] = []
        barrier = threading.Barrier(2, action=lambda: done.append(-1))
        together(*[lambda: done.append(barrier.wait())] * 2)
        assert not barrier.broken
        return tuple(done)

    assert {tuple(sorted(done[1:])) for done in values(program)} == {(0, 1)}
    assert {done[0] for done in values(program)} == {-1}


def test_barrier_is_broken_by_abort_or_timeout() -> None:
    def program() -> tuple[str, str]:
        barrier = threading.Barrier(2)
        seen = {}

        def wait(name: str, timeout: float | None) -> None:
            try:
                barrier.wait(timeout)
                seen[name] = "passed"
            except threading.BrokenBarrierError:
                seen[name] = "broken"

        together(lambda: wait("a", 1), lambda: wait("b", None))
        return seen["a"], seen["b"]

    assert values(program) == {("passed", "passed"), ("broken", "broken")}
    assert values(program, late_timeouts=True) == {("passed", "passed")}


def test_barrier_without_enough_parties_is_named_after_itself() -> None:
    def program() -> None:
        barrier = threading.Barrier(3)
        together(barrier.wait, barrier.wait)

    with threads_subject(program, Settings(), Level.SYNC, Scope()) as runtime:
        trace = runtime.execute(Plan((), UniformRandom(1))).trace
    assert trace.outcome.kind.value == DEADLOCK
    blocked = [b.operation for b in trace.outcome.blocked if b.task != "0"]
    assert [trace.resources[operation.resource].type for operation in blocked] == ["Barrier"] * 2


def test_who_waits_within_the_standard_library_is_shown_where_the_program_called() -> None:
    def program() -> None:
        condition = threading.Condition()

        def wait() -> None:
            with condition:
                condition.wait_for(lambda: False)

        together(wait)

    (outcome,) = outcomes(program, 1)
    (site,) = [site_of(b.operation.place) for b in outcome.blocked if b.task == "0.1"]
    assert site is not None
    assert site.filename == __file__


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

        def note() -> None:
            thread = threading.current_thread()
            assert thread.ident == threading.get_ident()
            assert thread in threading.enumerate()
            assert thread is not threading.main_thread()
            seen[threading.get_ident()] = thread.name

        together(note, note)
        assert sorted(seen.values())[0].endswith("(note)")
        assert len(seen) == 2
        assert threading.active_count() == 1
        assert threading.current_thread() is threading.main_thread()

    assert kinds(program, 20) == {PASSED}


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


def test_recursion_error_in_a_task() -> None:
    def program() -> None:
        def endless() -> None:
            endless()

        def recurse() -> None:
            with pytest.raises(RecursionError):
                endless()

        together(recurse, recurse)

    assert kinds(program, 5) == {PASSED}


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
