"""Locks of which a forked child has locked copies: found, explained, and not where all is well."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.threads import children, forks, processes
from bohrbug.runtime.threads.outside import ChildrenWait

pytestmark = pytest.mark.skipif(not children._TELLS, reason="needs /proc")


def explored(test: Callable[[], None]) -> Result:
    return bohrbug.explore(test, strategy="dpor", timeouts="late")


class Counter:
    """It counts under a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0

    def add(self) -> None:
        with self.lock:
            self.count += 1


def in_a_child(work: Callable[[], object]) -> int:
    """Its exit code."""
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def beside_a_thread(counter: Counter, work: Callable[[], object]) -> None:
    thread = threading.Thread(target=counter.add)
    thread.start()
    assert in_a_child(work) == 0
    thread.join()


def test_lock_that_is_held_at_a_fork_is_held_for_ever_in_the_child() -> None:
    def test() -> None:
        counter = Counter()
        beside_a_thread(counter, counter.add)

    result = explored(test)
    outcome = result.failures[0].outcome
    assert outcome.kind is OutcomeKind.DEADLOCK
    assert "waits for ever" in outcome.traceback
    assert "for a Lock that task 0.1 had taken at" in outcome.traceback
    assert "Counter.add" in outcome.traceback


def test_lock_that_is_older_than_the_execution() -> None:
    counter = Counter()

    def test() -> None:
        beside_a_thread(counter, counter.add)

    result = explored(test)
    assert result.failures[0].outcome.kind is OutcomeKind.DEADLOCK


def test_fork_after_the_thread_has_told() -> None:
    """Each schedule that comes first lets the thread go before the fork."""

    def test() -> None:
        counter = Counter()
        told = threading.Event()

        def work() -> None:
            told.set()
            counter.add()

        thread = threading.Thread(target=work)
        thread.start()
        told.wait()
        assert in_a_child(counter.add) == 0
        thread.join()

    result = explored(test)
    assert result.failures[0].outcome.kind is OutcomeKind.DEADLOCK


def process_beside_a_thread(end: Callable[[Any], None]) -> None:
    counter = Counter()
    thread = threading.Thread(target=counter.add)
    thread.start()
    process = multiprocessing.get_context("fork").Process(target=counter.add)
    process.start()
    end(process)
    thread.join()


def test_process_of_multiprocessing() -> None:
    def test() -> None:
        process_beside_a_thread(lambda process: process.join())

    result = explored(test)
    assert result.failures[0].outcome.kind is OutcomeKind.DEADLOCK


def with_a_new_lock(counter: Counter) -> None:
    counter.lock = threading.Lock()
    counter.add()


def without_the_lock(counter: Counter) -> None:
    counter.count += 1


def without_waiting(counter: Counter) -> None:
    counter.lock.acquire(blocking=False)


@pytest.mark.parametrize("work", [with_a_new_lock, without_the_lock, without_waiting])
def test_child_that_does_not_wait_for_the_lock(work: Callable[[Counter], None]) -> None:
    def test() -> None:
        counter = Counter()
        beside_a_thread(counter, lambda: work(counter))

    result = explored(test)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.HOLDS


def test_child_that_waits_for_a_while() -> None:
    def test() -> None:
        counter = Counter()
        beside_a_thread(counter, lambda: counter.lock.acquire(timeout=0.01))

    assert not explored(test).failures


def test_lock_that_is_taken_for_the_fork() -> None:
    """As :mod:`logging` does: nobody else holds it then."""

    def test() -> None:
        counter = Counter()
        thread = threading.Thread(target=counter.add)
        thread.start()
        with counter.lock:
            pid = os.fork()
        if not pid:
            counter.add()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        thread.join()

    result = explored(test)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.HOLDS


def test_child_that_its_parent_does_not_wait_for_without_end() -> None:
    assert not explored(lambda: process_beside_a_thread(end_if_late)).failures


def end_if_late(process: Any) -> None:
    process.join(timeout=0.2)
    process.kill()
    process.join()


def test_child_that_was_ended_waits_for_nothing_any_more() -> None:
    waited: list[tuple[bool, bool]] = []

    def end(process: Any) -> None:
        process.join(timeout=0.2)
        before = ChildrenWait.for_ever()
        end_if_late(process)
        waited.append((before, ChildrenWait.for_ever()))

    assert not explored(lambda: process_beside_a_thread(end)).failures
    assert set(waited) == {(False, False), (True, False)}


def test_failure_after_such_a_child_was_ended() -> None:
    """At the end of the execution its process is not to be ended again: another may have its id."""

    def end(process: Any) -> None:
        process.join(timeout=0.2)
        was_late = process.is_alive()
        end_if_late(process)
        assert not was_late

    (failure,) = explored(lambda: process_beside_a_thread(end)).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert "waits for ever" not in failure.outcome.traceback


def test_fork_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    def test() -> None:
        counter = Counter()
        thread = threading.Thread(target=counter.add)
        thread.start()
        with pytest.raises(BlockingIOError):
            os.fork()
        assert forks.InChild.fork is None
        thread.join()

    monkeypatch.setattr(processes, "_real_fork", refuse)
    assert explored(test).verdict.kind is VerdictKind.HOLDS
