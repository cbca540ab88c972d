"""Locks and semaphores of ``multiprocessing``, used by threads of one process."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs.together import together
from tests.unit.random_schedules import DEADLOCK, EXCEPTION, PASSED, kinds, values

CONTEXT = multiprocessing.get_context("fork")
OLDER = CONTEXT.Lock()
"""Made before anything is explored."""


def order_of_three(make: Callable[[], object]) -> str:
    """The order in which three tasks hold a lock; nobody comes in between."""
    lock = make()
    order: list[str] = []

    def hold(name: str) -> None:
        with lock:  # type: ignore[attr-defined]
            order.append(name)
            order.append(name)

    together(lambda: hold("a"), lambda: hold("b"), lambda: hold("c"))
    assert order[::2] == order[1::2]
    return "".join(order[::2])


@pytest.mark.parametrize(
    "make",
    [CONTEXT.Lock, CONTEXT.RLock, CONTEXT.Semaphore, lambda: OLDER],
    ids=["lock", "recursive", "semaphore", "older"],
)
def test_all_orders_of_a_lock_occur(make: Callable[[], object]) -> None:
    assert len(values(lambda: order_of_three(make), 60)) == 6


@pytest.mark.parametrize("name", ["locked", "get_value"])
def test_to_look_at_a_semaphore_is_an_operation(name: str) -> None:
    """What one task sees of it depends on how far the others are."""
    if not hasattr(CONTEXT.Semaphore(), name):
        pytest.skip("this version of Python has no such method")

    def attempt() -> tuple[object, ...]:
        semaphore = CONTEXT.Semaphore(1)
        seen: list[object] = []

        def look() -> None:
            seen.extend(getattr(semaphore, name)() for _ in range(2))

        def hold() -> None:
            with semaphore:
                pass

        together(hold, look)
        return tuple(seen)

    free, held = (False, True) if name == "locked" else (1, 0)
    expected = {(free, free), (free, held), (held, free), (held, held)}
    assert values(attempt, 60) == expected


def test_a_recursive_lock_belongs_to_a_task() -> None:
    """All tasks share one thread of the operating system."""

    def attempt() -> tuple[bool, bool]:
        lock = CONTEXT.RLock()
        seen: list[bool] = []

        def hold() -> None:
            with lock, lock:
                pass

        def look() -> None:
            taken = lock.acquire(False)
            seen.append(taken)
            if taken:
                lock.release()

        def release() -> None:
            with pytest.raises(AssertionError, match="not owned"):
                lock.release()
            seen.append(True)

        together(hold, look)
        with lock:
            together(release)
        return seen[0], seen[1]

    assert values(attempt) == {(True, True), (False, True)}


def test_two_locks_in_two_orders_are_a_deadlock() -> None:
    def attempt() -> None:
        one, other = CONTEXT.Lock(), CONTEXT.Lock()

        def hold(first: object, second: object) -> None:
            with first, second:  # type: ignore[attr-defined]
                pass

        together(lambda: hold(one, other), lambda: hold(other, one))

    assert kinds(attempt) == {PASSED, DEADLOCK}


def test_an_older_lock_is_free_after_a_deadlock() -> None:
    def attempt() -> None:
        def hold_for_ever() -> None:
            OLDER.acquire()
            threading.Event().wait()

        together(hold_for_ever)

    assert kinds(attempt, 3) == {DEADLOCK}
    assert OLDER.acquire(False)
    OLDER.release()


def test_a_timed_acquire_may_time_out() -> None:
    def attempt() -> bool:
        lock = CONTEXT.Lock()
        taken: list[bool] = []

        def hold() -> None:
            with lock:
                pass

        def attempt_to_hold() -> None:
            taken.append(lock.acquire(timeout=1))
            if taken[0]:
                lock.release()

        together(hold, attempt_to_hold)
        return taken[0]

    assert values(attempt) == {True, False}


def test_a_bounded_semaphore_counts() -> None:
    def attempt() -> int:
        semaphore = CONTEXT.BoundedSemaphore(2)
        inside: list[int] = []
        most: list[int] = [0]

        def enter() -> None:
            with semaphore:
                inside.append(1)
                most.append(len(inside))
                threading.Event().is_set()
                inside.pop()

        together(enter, enter, enter)
        return max(most)

    assert values(attempt) == {1, 2}
    assert kinds(lambda: CONTEXT.BoundedSemaphore(1).release(), 1) == {EXCEPTION}


def test_conditions_and_queues_are_made_of_them() -> None:
    def attempt() -> tuple[int, ...]:
        queue = CONTEXT.SimpleQueue()
        condition = CONTEXT.Condition()
        got: list[int] = []

        def get() -> None:
            got.append(queue.get())
            with condition:
                condition.notify()

        with condition:
            reader = threading.Thread(target=get)
            reader.start()
            queue.put(1)
            condition.wait()
        reader.join()
        return tuple(got)

    assert values(attempt, 40) == {(1,)}


def test_a_module_that_is_imported_by_a_task_is_controlled(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    script.write_text(
        "import sys\n"
        "import threading\n"
        "import bohrbug\n"
        "def test():\n"
        "    from multiprocessing import Lock\n"
        "    one, other = Lock(), Lock()\n"
        "    def hold(first, second):\n"
        "        with first, second:\n"
        "            pass\n"
        "    pairs = ((one, other), (other, one))\n"
        "    threads = [threading.Thread(target=hold, args=pair) for pair in pairs]\n"
        "    for thread in threads:\n"
        "        thread.start()\n"
        "    for thread in threads:\n"
        "        thread.join()\n"
        "assert 'multiprocessing.synchronize' not in sys.modules\n"
        "result = bohrbug.explore(test, executions=50, minimise=False, causes=0)\n"
        "print(result.failures[0].outcome.kind.value)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout.strip() == DEADLOCK, done.stderr
