"""A timeout leads past a deadlock, and the test fails for something else."""

from __future__ import annotations

import threading

import bohrbug
from bohrbug.exploration.result import Failure
from bohrbug.report.text import failure_text


def failure_of(test: object) -> Failure:
    (failure,) = bohrbug.explore(test, executions=500).failures  # type: ignore[arg-type]
    return failure


def started_in_both_orders(timeout: float = -1) -> list[str]:
    """Two threads take two locks, each in its own order; those that came through."""
    locks = threading.Lock(), threading.Lock()
    done = []

    def take(name: str, first: int, second: int) -> None:
        with locks[first]:
            if locks[second].acquire(timeout=timeout):
                locks[second].release()
                done.append(name)

    threads = [
        threading.Thread(target=take, args=("a", 0, 1), daemon=True),
        threading.Thread(target=take, args=("b", 1, 0), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=5)
    return done


def test_the_deadlock_is_told() -> None:
    def test() -> None:
        assert len(started_in_both_orders()) == 2

    failure = failure_of(test)
    assert failure.outcome.exception == "AssertionError"
    assert failure.outcome.cycle == ("0.1", "0.2")
    text = failure_text(failure, width=80, color=False, encoding="utf-8")
    assert "meanwhile 2 other tasks wait for each other, see below" in text
    assert "Deadlocked when it failed" in text
    assert "waits for Lock" in text


def test_who_waits_for_a_while_is_in_no_deadlock() -> None:
    def test() -> None:
        assert len(started_in_both_orders(timeout=3)) == 2

    assert failure_of(test).outcome.cycle == ()


def test_who_waits_for_the_failing_task_is_in_no_deadlock() -> None:
    def test() -> None:
        lock = threading.Lock()
        with lock:
            thread = threading.Thread(target=lock.acquire, daemon=True)
            thread.start()
            thread.join(timeout=5)
            assert not thread.is_alive()

    failure = failure_of(test)
    assert failure.outcome.cycle == ()
    assert "Deadlocked" not in failure_text(failure, width=80, color=False, encoding="utf-8")


def test_who_holds_a_lock_that_it_has_waited_for_is_in_no_deadlock() -> None:
    class Box: ...

    def test() -> None:
        lock = threading.Lock()
        box = Box()

        def fill() -> None:
            with lock:
                box.made = True  # type: ignore[attr-defined]
                box.value = 1  # type: ignore[attr-defined]

        thread = threading.Thread(target=fill)
        thread.start()
        if hasattr(box, "made"):
            assert hasattr(box, "value")
        thread.join()

    failure = failure_of(test)
    assert failure.outcome.exception == "AssertionError"
    assert failure.outcome.cycle == ()
    text = failure_text(failure, width=80, color=False, encoding="utf-8")
    assert "meanwhile" not in text
    assert "Deadlocked" not in text


def test_who_had_waited_for_what_another_one_holds_now_is_in_no_deadlock() -> None:
    def test() -> None:
        locks = threading.Lock(), threading.Lock()
        both = []

        def other_order() -> None:
            with locks[1]:
                pass
            with locks[0]:
                both.append("holds 0")
                both.remove("holds 0")

        def order() -> None:
            with locks[1], locks[0]:
                both.append("holds 1 and then 0")

        threads = [threading.Thread(target=each) for each in (other_order, order)]
        for thread in threads:
            thread.start()
        # Holds for most schedules; where it fails, one waits for the other, which goes on.
        assert not (both == ["holds 0"] and locks[1].locked())
        for thread in threads:
            thread.join()

    failure = failure_of(test)
    assert failure.outcome.cycle == ()
