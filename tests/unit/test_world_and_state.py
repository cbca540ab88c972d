"""What lies outside of an execution: earlier executions, the date, and whoever answers a socket."""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import queue
import signal
import socket
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.exploration.options import ExploreOptions
from bohrbug.pytest_plugin.alarms import AlarmGuard
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.task import TaskKilled
from tests.programs.together import together
from tests.unit.random_schedules import values


@pytest.mark.parametrize("workers", [1, 2])
def test_what_can_be_executed_only_once_has_not_failed(tmp_path: Path, workers: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()

    def test() -> None:
        together(lambda: os.rmdir(folder), time.time)
        assert not folder.exists()

    result = bohrbug.explore(test, workers=workers, strategy="random")
    assert not result.failures
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "can't be executed again and again" in str(result.verdict)


def test_a_count_that_is_never_reset_hides_behind_the_same_words() -> None:
    count = 0

    def add() -> None:
        nonlocal count
        count += 1

    def test() -> None:
        together(add, add)
        assert count == 2

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE

    def test_with_reset() -> None:
        nonlocal count
        count = 0
        test()

    assert bohrbug.explore(test_with_reset).failures


def test_what_fails_from_the_first_execution_on_fails() -> None:
    def test() -> None:
        together(time.time, time.time)
        raise KeyError("always")

    assert bohrbug.explore(test).failures


def test_the_date_is_that_of_the_exploration() -> None:
    seen: list[float] = []

    def test() -> None:
        together(lambda: seen.append(time.time()), time.time)

    before = time.time()
    bohrbug.explore(test)
    assert len(seen) > 1
    assert all(before - 1 < moment < time.time() + 60 for moment in seen)
    seen.clear()
    bohrbug.explore(test, epoch=1e9)
    assert all(1e9 <= moment < 1e9 + 1 for moment in seen)


def test_the_other_clocks_go_on_from_those_of_the_exploration() -> None:
    seen: list[float] = []

    def test() -> None:
        together(time.monotonic, time.perf_counter)
        seen.append(time.monotonic())
        seen.append(time.perf_counter())
        seen.append(time.monotonic_ns() / 1e9)
        if hasattr(time, "CLOCK_MONOTONIC"):
            seen.append(time.clock_gettime(time.CLOCK_MONOTONIC))
        assert time.process_time() < 1

    before = time.monotonic()
    result = bohrbug.explore(test)
    assert not result.failures
    assert len(seen) > 3
    # What was noted before, such as when something was done last, is neither to come nor long ago.
    assert all(before <= moment < time.monotonic() + 60 for moment in seen)
    seen.clear()
    # So that what programs add is rounded alike whenever they are explored.
    assert ExploreOptions().uptime.is_integer()
    bohrbug.explore(test, uptime=1e5)
    assert all(1e5 <= moment < 1e5 + 1 for moment in seen)


@pytest.fixture
def clock_of_a_server() -> Iterator[tuple[str, int]]:
    """A server whose answers tell the real seconds between two requests."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(5):
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                before = time.monotonic()
                while connection.recv(1):
                    now = time.monotonic()
                    connection.sendall(f"{now - before:08.3f}".encode())
                    before = now

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def test_who_answers_from_outside_finds_that_we_have_slept(
    clock_of_a_server: tuple[str, int],
) -> None:
    told: list[float] = []

    def test() -> None:
        with socket.create_connection(clock_of_a_server) as connection:
            for seconds in (0.0, 0.3):
                time.sleep(seconds)
                connection.sendall(b"?")
                told.append(float(connection.recv(8)))

    bohrbug.explore(test, executions=1)
    assert told[1] > 0.25


INSPECTED: tuple[Callable[..., object], ...] = (
    threading.Event,
    threading.Semaphore,
    queue.Queue,
    threading.Thread.start,
    threading.Thread.join,
    queue.Queue.put,
    queue.Queue.get,
    queue.Queue.task_done,
    threading.Condition.wait_for,
)


def what_mocks_see() -> list[Any]:
    seen: list[Any] = [(str(inspect.signature(one)), one.__doc__) for one in INSPECTED]
    seen += [
        inspect.getsource(getattr(threading.Thread, name)) for name in ("start", "join", "__init__")
    ]
    with mock.patch.object(threading.Thread, "start", autospec=True) as start:
        thread = threading.Thread(target=print)
        thread.start()
        seen.append(start.call_args_list == [mock.call(thread)])
    like_event = mock.create_autospec(threading.Event)
    like_event().wait(1)
    with pytest.raises(TypeError) as caught:
        like_event("too many")
    return [*seen, str(caught.value)]


def test_what_stands_for_primitives_can_be_inspected_and_mocked_alike() -> None:
    natively = what_mocks_see()
    under_control: list[Any] = []

    def test() -> None:
        under_control[:] = what_mocks_see()
        together(time.time, time.time)

    assert bohrbug.explore(test, executions=3).verdict.kind is not VerdictKind.INCONCLUSIVE
    assert under_control == natively


def test_time_machine_finds_the_functions_in_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes into them: where one of ours stood for one, the process died."""
    (tmp_path / "_time_machine.py").write_text("import time\nkind = type(time.time).__name__\n")
    monkeypatch.syspath_prepend(tmp_path)

    def attempt() -> tuple[str, bool]:
        sys.modules.pop("_time_machine", None)
        kind: str = importlib.import_module("_time_machine").kind
        return kind, type(time.time) is types.BuiltinFunctionType

    assert values(attempt, 1) == {("builtin_function_or_method", False)}
    del sys.modules["_time_machine"]


def test_time_travel_is_what_a_test_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = types.ModuleType("time_machine")
    machine.__dict__["traveller_stack"] = []
    monkeypatch.setitem(sys.modules, "time_machine", machine)

    def is_real() -> bool:
        # The C library's own clock, which tests are not told.
        return abs(time.time() - ctypes.CDLL(None).time(None)) < 1000

    def attempt() -> tuple[bool, bool]:
        machine.__dict__["traveller_stack"].append("somewhere")
        while_travelling = is_real()
        machine.__dict__["traveller_stack"].clear()
        return while_travelling, is_real()

    assert values(attempt, 1) == {(True, False)}


def test_only_an_alarm_to_come_is_guarded() -> None:
    """A handler of the program's own is no timeout of another plugin."""

    def handler(number: int, frame: object) -> None:
        pass

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with AlarmGuard():
            assert signal.getsignal(signal.SIGALRM) is handler
        signal.setitimer(signal.ITIMER_REAL, 1000)
        with AlarmGuard():
            assert signal.getsignal(signal.SIGALRM) is not handler
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_hook_that_was_set_after_control_was_taken_is_not_told_of_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []
    installation.install()
    try:
        monkeypatch.setattr(sys, "unraisablehook", told.append)
        installation.install()
        try:
            sys.unraisablehook(mock.Mock(exc_value=TaskKilled()))
            sys.unraisablehook(mock.Mock(exc_value=ValueError()))
        finally:
            installation.restore()
    finally:
        installation.restore()
    assert len(told) == 1
