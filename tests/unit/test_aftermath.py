"""After a failure the rest of the program goes on to its end, outside of the trace."""

from __future__ import annotations

import asyncio
import gc
import queue
import select
import subprocess
import threading
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.threads import aftermath, outside
from bohrbug.runtime.threads.outside import FOR_THE_REST, Outside

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


def _leaves_a_server() -> None:
    async def serve() -> None:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        async with server:
            await server.serve_forever()

    threading.Thread(target=asyncio.run, args=(serve(),)).start()
    raise AssertionError


def _leaves_a_poller() -> None:
    def poll() -> None:
        while True:
            select.select([child.stdout], [], [], 0.5)

    child = subprocess.Popen(["sleep", "30"], stdout=subprocess.PIPE)
    threading.Thread(target=poll).start()
    children.append(child)
    raise AssertionError


def _leaves_a_child() -> None:
    child = subprocess.Popen(["sleep", "30"])
    threading.Thread(target=child.wait).start()
    children.append(child)
    raise AssertionError


children: list[subprocess.Popen[bytes]] = []


@pytest.mark.parametrize("test", [_leaves_a_server, _leaves_a_poller, _leaves_a_child])
def test_what_a_failed_test_has_left_hardly_waits_for_what_is_outside(
    test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = []
    monkeypatch.setattr(aftermath, "STEPS", 50)
    wait = Outside.wait

    def noted(self: Outside, seconds: float, *args: bool, **kwargs: bool) -> bool:
        patience.append(seconds)
        return wait(self, seconds, *args, **kwargs)

    monkeypatch.setattr(Outside, "wait", noted)
    result = bohrbug.explore(test, timeouts="late", executions=1)
    while children:
        child = children.pop()
        child.kill()
        child.communicate()
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert max(patience) <= FOR_THE_REST
    if test is _leaves_a_poller:
        assert min(patience) == 0, "it looks again and again"


def test_what_nothing_outside_can_wake_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_beside_a_thread_that_waits() -> None:
        threading.Thread(target=threading.Event().wait).start()
        raise AssertionError

    waits = []
    monkeypatch.setattr(Outside, "wait", lambda *args, **options: waits.append(args))
    # Other tests may have left some in this process.
    monkeypatch.setattr(outside, "threads_outside", lambda _: False)
    (failure,) = bohrbug.explore(fail_beside_a_thread_that_waits, executions=1).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert not waits


def test_a_task_that_catches_everything_in_a_loop_is_left_where_it_is() -> None:
    """A server's loop may log whatever happens, and go on."""
    stop = threading.Event()
    logged: list[str] = []

    def test() -> None:
        serves = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                try:
                    serves.set()
                    stop.wait(timeout=5)
                except:  # noqa: E722
                    logged.append("what is not expected")

        threading.Thread(target=serve, daemon=True).start()
        serves.wait()

    result = bohrbug.explore(test, executions=3, hang_seconds=1)
    assert not result.failures
    caveat = (
        "could not be stopped at the end of an execution: it catches every exception, in a loop"
    )
    assert any(caveat in str(found) for found in result.verdict.caveats)
    assert 0 < len(logged) < 100 * result.executions
    gc.collect()


def test_a_deadlocked_task_that_catches_everything_in_a_loop_hinders_nobody() -> None:
    never = threading.Event()
    caught: list[str] = []

    def serve() -> None:
        while True:
            try:
                never.wait()
            except:  # noqa: E722
                caught.append("again")

    def test() -> None:
        caught.clear()
        thread = threading.Thread(target=serve)
        thread.start()
        thread.join()

    result = bohrbug.explore(test, executions=3, hang_seconds=1, causes=0)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]
    assert 0 < len(caught) < 1000


def test_what_is_printed_while_tasks_are_unwound_is_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Natively a daemon thread just stops when the program ends."""

    def test() -> None:
        serves, never = threading.Event(), threading.Event()

        def serve() -> None:
            try:
                serves.set()
                never.wait()
            finally:
                print("unwound")

        threading.Thread(target=serve, daemon=True).start()
        serves.wait()
        print("tested")

    bohrbug.explore(test, executions=3)
    assert set(capsys.readouterr().out.split()) == {"tested"}
