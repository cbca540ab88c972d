"""Locks, conditions, events, semaphores and barriers: all and only the expected outcomes occur."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import pytest

from bohrbug.model.conditions import Level
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.site import site_of
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.broken.primitives import lost_notify
from tests.programs.together import together
from tests.unit.random_schedules import DEADLOCK, EXCEPTION, PASSED, kinds, outcomes, values

MODULE_LOCK = threading.Lock()
MODULE_CONDITION = threading.Condition()


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


def try_while_held(lock: threading.Lock) -> bool:
    """Whether a task gets a lock that another holds for a while."""
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


def test_try_lock_succeeds_or_not() -> None:
    assert values(lambda: try_while_held(threading.Lock())) == {True, False}


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

    _assert_two_wait_for_each_other(program)


def _assert_two_wait_for_each_other(program: Callable[[], object]) -> None:
    found = outcomes(program)
    assert {outcome.kind.value for outcome in found} == {PASSED, DEADLOCK}
    assert all(len(o.cycle) == 2 for o in found if o.kind.value == DEADLOCK)


@pytest.mark.parametrize("takes_it_itself", [True, False])
def test_a_deadlock_says_who_holds_the_mutex_of_a_queue(takes_it_itself: bool) -> None:
    """The program itself, or a method of the program that the queue calls."""

    def program() -> None:
        lock = threading.Lock()

        class Telling(queue.Queue[str]):
            def _put(self, item: str) -> None:
                super()._put(item)
                with lock:
                    pass

        items = Telling()

        def put() -> None:
            if takes_it_itself:
                with items.mutex, lock:
                    pass
            else:
                items.put("")

        def look() -> None:
            with lock:
                items.empty()

        together(put, look)

    _assert_two_wait_for_each_other(program)


def test_locks_made_at_import_time_are_controlled() -> None:
    assert values(lambda: try_while_held(MODULE_LOCK)) == {True, False}


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
    assert kinds(lost_notify) == {PASSED, DEADLOCK}


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

    with threads_runtime(program, Settings(), Level.SYNC, Scope()) as runtime:
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
