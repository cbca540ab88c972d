"""After a failure the rest of the program goes on to its end, outside of the trace."""

from __future__ import annotations

import queue
import threading

import pytest

import bohrbug
from bohrbug.model.outcome import OutcomeKind

registry: list[str] = []


@pytest.fixture(autouse=True)
def _empty_registry() -> None:
    registry.clear()


class Worker:
    """Registered while it runs; ends when it is told to."""

    def __init__(self) -> None:
        self.inbox: queue.Queue[str] = queue.Queue()
        self.thread = threading.Thread(target=self.run)
        registry.append("worker")
        self.thread.start()

    def run(self) -> None:
        while self.inbox.get() != "stop":
            pass
        registry.remove("worker")

    def stop(self) -> None:
        self.inbox.put("stop")
        self.thread.join()


def test_the_teardown_after_a_failed_assertion_does_its_work() -> None:
    def test() -> None:
        worker = Worker()
        try:
            assert registry == []
        finally:
            worker.stop()

    result = bohrbug.explore(test)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.ASSERTION]
    assert registry == []


def test_a_deadlocked_test_gets_to_its_teardown() -> None:
    def test() -> None:
        worker = Worker()
        answers: queue.Queue[str] = queue.Queue()
        try:
            answers.get()
        finally:
            worker.stop()

    result = bohrbug.explore(test)
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert {blocked.task for blocked in failure.outcome.blocked} == {"0", "0.1"}
    assert registry == []


def test_the_other_threads_go_on_when_one_has_failed() -> None:
    done: list[int] = []

    def test() -> None:
        done.clear()
        gate = threading.Event()

        def fails() -> None:
            gate.set()
            raise ValueError("in a thread")

        def goes_on() -> None:
            gate.wait()
            done.append(1)

        threads = [threading.Thread(target=target) for target in (fails, goes_on)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = bohrbug.explore(test)
    (failure,) = result.failures
    assert failure.outcome.message == "ValueError: in a thread"
    assert done == [1]
    # What came after it is not in the report: the trace ends with the failure.
    assert failure.trace.tasks[-1] == failure.outcome.task
    assert failure.confirmed == 3


def test_what_never_ends_is_unwound() -> None:
    unwound: list[int] = []

    def test() -> None:
        def spins() -> None:
            try:
                while True:
                    threading.Event().is_set()
            finally:
                unwound.append(1)

        threading.Thread(target=spins).start()
        raise ValueError

    result = bohrbug.explore(test, executions=1)
    assert [failure.outcome.exception for failure in result.failures] == ["ValueError"]
    assert unwound
