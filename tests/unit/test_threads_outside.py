"""Real threads that were there before, and that call functions that are rewritten."""

from __future__ import annotations

import os
import queue
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.conditions import Level
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads import control
from bohrbug.runtime.threads import runtime as runtime_module
from bohrbug.runtime.threads.data.places import PlaceSet
from bohrbug.runtime.threads.deaths import Deaths, _SweepingSink
from bohrbug.runtime.threads.outside import FIRST_LOOKS, SHORT_PATIENCE, Outside
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.counter import Counter
from tests.programs.together import together
from tests.unit.random_schedules import PASSED, kinds, values


@contextmanager
def another_thread(function: Callable[[], object]) -> Iterator[list[BaseException]]:
    """A real thread that calls a function again and again; what it raised."""
    errors: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            while not ended.is_set():
                function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield errors
    finally:
        ended.set()
        thread.join(10)


def test_their_accesses_are_none_of_a_task() -> None:
    elsewhere = Counter()

    def attempt() -> None:
        counter = Counter()
        together(counter.increment, counter.increment)

    with (
        another_thread(elsewhere.increment) as errors,
        threads_runtime(attempt, Settings(), Level.ALL, Scope()) as runtime,
    ):
        executed = [runtime.execute(Plan()) for _ in range(60)]
        traces = [each.trace for each in executed[-40:]]
    assert not errors
    assert {len(trace) for trace in traces} == {len(traces[0])}
    assert all(trace.choices == traces[0].choices for trace in traces)
    assert elsewhere.value > 0


LASTING: list[ThreadPoolExecutor] = []


def test_an_executor_that_a_test_makes_once_lasts() -> None:
    """Its workers end with the first execution, but it was never shut down."""

    def attempt() -> int:
        if not LASTING:
            LASTING.append(ThreadPoolExecutor(2))
        return LASTING[0].submit(pow, 2, 3).result()

    assert values(attempt, 10) == {8}
    LASTING.pop().shutdown()


def test_an_executor_that_was_shut_down_stays_so() -> None:
    def attempt() -> None:
        if not LASTING:
            LASTING.append(ThreadPoolExecutor(2))
            LASTING[0].submit(pow, 2, 3)
            LASTING[0].shutdown()
        assert LASTING[0]._shutdown

    assert kinds(attempt, 3) == {PASSED}
    LASTING.pop()


def test_waiting_for_a_child_is_no_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first execution is given up early where it spins, but not where it waits."""
    monkeypatch.setattr(runtime_module, "FIRST_PATIENCE", 0.1)
    result = bohrbug.explore(lambda: subprocess.run(["sleep", "0.5"], check=True))
    assert result.executions == 1
    assert (
        result.verdict.reason == "the test never has a choice between tasks, but there are caveats"
    )


@pytest.mark.parametrize("access", ["attribute", "item", "whole"])
def test_nothing_is_swept_for_another_thread(access: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is swept is what tasks hold: it may change while the other thread goes through it."""

    def ignore(*arguments: object) -> None: ...

    swept: list[int] = []
    usual: Any = SimpleNamespace(join=ignore, announced=ignore, part=ignore, breaker=ignore)
    usual.attribute = usual.item = usual.whole = ignore
    variables: Any = SimpleNamespace(sweep=lambda: swept.append(control.real_get_ident()))
    usual.enabled = usual.may_fall_silent = False
    execution: Any = SimpleNamespace(sink=usual)
    sink = _SweepingSink(usual, cast(Deaths, None), execution, variables, PlaceSet())
    arguments: tuple[Any, ...] = ([], True, None) if access == "whole" else ([], 0, True, None)
    monkeypatch.setattr(control.current, "thread", control.real_get_ident())
    with ThreadPoolExecutor(1) as pool:
        pool.submit(getattr(sink, access), *arguments).result()
    assert swept == []
    getattr(sink, access)(*arguments)
    assert swept == [control.real_get_ident()]


def test_signal_handlers_can_only_be_set_in_the_main_thread() -> None:
    def test() -> None:
        handler = signal.getsignal(signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, handler)
        refused: list[str] = []

        def work() -> None:
            try:
                signal.signal(signal.SIGUSR1, handler)
            except ValueError as error:
                refused.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert refused == ["signal only works in main thread of the main interpreter"]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


@contextmanager
def slow_server() -> Iterator[Any]:
    """The address of a server, in a real thread, that answers each connection after a while."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                time.sleep(0.05)
                connection.sendall(b"hello")
                connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.parametrize("patience", [None, 5])
def test_a_daemon_has_time_for_an_answer_that_others_wait_for(patience: float | None) -> None:
    """As an event loop in a daemon has, which waits on behalf of the main thread."""

    def attempt(address: Any) -> None:
        with socket.create_connection(address) as connection:
            answers: queue.Queue[bool] = queue.Queue()

            def listen() -> None:
                ready, _, _ = select.select([connection], [], [], 3)
                answers.put(bool(ready))

            thread = threading.Thread(target=listen, daemon=True)
            thread.start()
            # Natively it never takes that long.
            assert answers.get(timeout=patience)
            thread.join()

    with slow_server() as address:
        result = bohrbug.explore(lambda: attempt(address), executions=3, timeouts="late")
    assert not result.failures


def test_a_timeout_leaves_time_to_a_thread_outside_that_brings_what_is_waited_for() -> None:
    """As the one of watchdog that reads what the kernel tells of files, one for all tests."""
    reading, writing = os.pipe()
    inbox = SimpleNamespace(queue=queue.Queue())

    def bring() -> None:
        while os.read(reading, 1) == b"?":
            time.sleep(0.01)
            inbox.queue.put("answer")

    def test() -> None:
        inbox.queue = queue.Queue()
        for _ in range(5):
            os.write(writing, b"?")
            assert inbox.queue.get(timeout=2) == "answer"

    thread = threading.Thread(target=bring, daemon=True)
    thread.start()
    try:
        verdict = bohrbug.explore(test, timeouts="late", executions=10).verdict
    finally:
        os.write(writing, b".")
        thread.join()
        os.close(reading)
        os.close(writing)
    assert verdict.kind is not VerdictKind.FAILED
    assert "a failure was seen" not in verdict.reason


def test_a_thread_outside_that_never_helps_is_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Event()
    waits: list[float] = []
    wait = Outside.wait

    def noted(self: Outside, seconds: float, *args: Any, **kwargs: Any) -> bool:
        waits.append(seconds)
        return wait(self, seconds, *args, **kwargs)

    def sleep() -> None:
        for _ in range(100):
            time.sleep(1)

    thread = threading.Thread(target=ended.wait, daemon=True)
    thread.start()
    monkeypatch.setattr(Outside, "wait", noted)
    try:
        bohrbug.explore(lambda: together(sleep, sleep), timeouts="late", executions=5)
    finally:
        ended.set()
        thread.join()
    assert waits == [SHORT_PATIENCE] * FIRST_LOOKS
