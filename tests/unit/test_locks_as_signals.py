"""A lock that is taken to be woken by its release: who waits for it does not wait for itself."""

from __future__ import annotations

import threading
from collections import deque

import bohrbug
from bohrbug.exploration.result import Failure
from bohrbug.report.text import failure_text


class Gate:
    """Closed until somebody opens it."""

    def __init__(self) -> None:
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def wait(self) -> None:
        self._asleep.acquire()

    def open(self) -> None:
        self._asleep.release()


class Channel:
    def __init__(self) -> None:
        self.receivers: deque[Gate] = deque()

    def receive(self) -> None:
        gate = Gate()
        self.receivers.append(gate)
        gate.wait()


def failure_of(test: object) -> Failure:
    (failure,) = bohrbug.explore(test, executions=500).failures  # type: ignore[arg-type]
    return failure


def text_of(failure: Failure) -> str:
    text = failure_text(failure, width=80, color=False, encoding="utf-8")
    return " ".join(text.split())


def test_nobody_is_left_to_open_it() -> None:
    def test() -> None:
        thread = threading.Thread(target=Channel().receive)
        thread.start()
        thread.join()

    failure = failure_of(test)
    assert failure.outcome.message == "2 tasks wait and nobody is left to wake them"
    assert failure.outcome.cycle == ()
    text = text_of(failure)
    assert "which it took itself (at test_locks_as_signals.py:" in text
    assert "nobody is left who could release it." in text
    assert "waits for itself" not in text


def test_who_waits_at_a_gate_is_in_no_deadlock() -> None:
    def test() -> None:
        channel = Channel()
        thread = threading.Thread(target=channel.receive, daemon=True)
        thread.start()
        thread.join(timeout=5)
        assert not channel.receivers

    failure = failure_of(test)
    assert failure.outcome.exception == "AssertionError"
    assert failure.outcome.cycle == ()


def test_who_takes_a_lock_twice_waits_for_itself() -> None:
    def test() -> None:
        lock = threading.Lock()

        def twice() -> None:
            lock.acquire()
            lock.acquire()

        thread = threading.Thread(target=twice)
        thread.start()
        thread.join()

    failure = failure_of(test)
    assert failure.outcome.message == "task 0.1 waits for itself"
    assert "which it holds itself (taken at" in text_of(failure)


def test_who_waits_for_another_is_told_who_holds_the_lock() -> None:
    def test() -> None:
        first, second = threading.Lock(), threading.Lock()
        first.acquire()

        def other() -> None:
            second.acquire()
            first.acquire()

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    text = text_of(failure_of(test))
    assert "held by task 0" in text
    assert "which it took itself" not in text
