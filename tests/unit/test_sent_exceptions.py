"""Exceptions that one thread sends to another by its ident."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.programs.together import together

held_before = ctypes.pythonapi.PyThreadState_SetAsyncExc
"""Found by its name before anything is explored."""

TAKING = "exceptions sent to other threads as coming just before one of their steps"


class Stop(Exception):
    """What is sent."""


def send(thread: threading.Thread, exception: Any = Stop) -> int:
    """Send an exception to a thread, as programs do."""
    send_to = ctypes.pythonapi.PyThreadState_SetAsyncExc
    return int(send_to(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(exception)))


def start(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def stopped_while(work: Callable[[], object]) -> Callable[[], None]:
    """A test in which a thread is to be stopped while it works, unless it has ended by then."""

    def test() -> None:
        seen: list[str] = []

        def run() -> None:
            try:
                began.set()
                while True:
                    work()
            except Stop:
                seen.append("stopped")

        began = threading.Event()
        thread = start(run)
        began.wait()
        assert send(thread) == 1
        thread.join()
        assert seen == ["stopped"]

    return test


def sleep() -> None:
    time.sleep(0.1)


def wait() -> None:
    threading.Event().wait(0.1)


def acquire() -> None:
    with threading.Lock():
        pass


@pytest.mark.parametrize("work", [sleep, wait, acquire])
def test_a_thread_is_stopped_in_each_schedule(work: Callable[[], object]) -> None:
    verdict = bohrbug.explore(stopped_while(work), executions=100).verdict
    assert verdict.kind is not VerdictKind.FAILED
    assert verdict.conditions is not None
    assert TAKING in verdict.conditions.taking


def test_it_holds_only_on_a_condition() -> None:
    """That the exception comes behind what a thread has done is not tried."""

    def test() -> None:
        def run() -> None:
            try:
                lock.acquire()
                lock.release()
            except Stop:
                pass

        lock = threading.Lock()
        thread = threading.Thread(target=run)
        with lock:
            thread.start()
            send(thread)
        thread.join()

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None
    assert verdict.conditions.taking == (TAKING,)


def test_it_may_come_before_each_step() -> None:
    come = set()

    def test() -> None:
        state = types.SimpleNamespace(n=0)
        lock = threading.Lock()

        def run() -> None:
            try:
                for _ in range(3):
                    with lock:
                        state.n += 1
            except Stop:
                pass

        thread = start(run)
        send(thread)
        thread.join()
        come.add(state.n)

    bohrbug.explore(test, executions=200)
    assert come == {0, 1, 2, 3}


@pytest.mark.parametrize("interpreter", ["gil", "free-threaded"])
def test_where_the_interpreter_looks_it_breaks_what_belongs_together(interpreter: str) -> None:
    def test() -> None:
        account = types.SimpleNamespace(here=10, there=0)

        def move() -> None:
            try:
                account.here -= 5
                len("checks")
                account.there += 5
            except Stop:
                pass

        thread = start(move)
        send(thread)
        thread.join()
        assert account.here + account.there == 10

    [failure] = bohrbug.explore(test, interpreter=interpreter).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    assert failure.confirmed


def test_between_two_accesses_without_a_call_it_never_comes() -> None:
    """An interpreter looks for exceptions after calls, at jumps backwards and where it enters."""

    def test() -> None:
        account = types.SimpleNamespace(here=10, there=0)

        def move() -> None:
            try:
                account.here -= 5
                account.there += 5
            except Stop:
                pass

        thread = start(move)
        send(thread)
        thread.join()
        assert account.here + account.there == 10

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_a_thread_that_never_goes_on_never_raises() -> None:
    """As natively: nothing interrupts the acquiring of a lock."""

    def test() -> None:
        def run() -> None:
            began.set()
            lock.acquire()

        began, lock = threading.Event(), threading.Lock()
        lock.acquire()
        thread = start(run)
        began.wait()
        send(thread)
        thread.join()

    [failure] = bohrbug.explore(test).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK


def test_a_thread_that_has_done_its_work_does_not_raise() -> None:
    def test() -> None:
        thread = start(lambda: None)
        send(thread)
        thread.join()

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_a_step_that_becomes_known_may_be_where_it_comes() -> None:
    """In the first execution it comes within the ``with``, and in a later one before that."""

    def test() -> None:
        def run() -> None:
            with contextlib.suppress(Stop):
                began.set()

        began = threading.Event()
        thread = start(run)
        send(thread)
        thread.join()

    [failure] = bohrbug.explore(test).failures
    assert failure.outcome.exception == "Stop"
    assert failure.confirmed


def test_an_exception_that_leaves_the_thread_is_a_failure() -> None:
    def test() -> None:
        thread = start(sleep)
        send(thread)
        thread.join()

    [failure] = bohrbug.explore(test).failures
    assert failure.outcome.exception == "Stop"


def test_a_thread_that_ends_can_not_be_stopped_any_more() -> None:
    def test() -> None:
        thread = start(lambda: None)
        thread.join()
        assert send(thread) == 0
        together(lambda: send(threading.main_thread(), None))
        assert ctypes.pythonapi.PyThreadState_SetAsyncExc(-1, ctypes.py_object(Stop)) == 0

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_what_was_sent_can_be_taken_back() -> None:
    def test() -> None:
        lock = threading.Lock()

        def run() -> None:
            with lock:
                pass

        with lock:
            thread = start(run)
            assert send(thread) == 1
            assert ctypes.pythonapi.PyThreadState_SetAsyncExc(thread.ident, None) == 1
        thread.join()

    # It may have come before it was taken back, but not while the thread waited for the lock.
    [failure] = bohrbug.explore(test).failures
    assert failure.outcome.exception == "Stop"
    assert not any(row[2].kind.name == "acquire" and row[1] == "0.1" for row in failure.trace.rows)


def test_to_itself_a_thread_sends_it_at_once() -> None:
    def test() -> None:
        with pytest.raises(Stop):
            send(threading.current_thread())

        def run() -> None:
            try:
                send(threading.current_thread())
            except Stop:
                seen.append(1)

        seen: list[int] = []
        start(run).join()
        assert seen == [1]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_to_the_main_thread() -> None:
    def test() -> None:
        main = threading.current_thread()
        try:
            thread = start(lambda: send(main))
            time.sleep(1)
        except Stop:
            return
        finally:
            thread.join()
        raise AssertionError

    assert bohrbug.explore(test, timeouts="late").verdict.kind is VerdictKind.HOLDS


def test_what_a_program_holds_by_name_is_the_same_function() -> None:
    def test() -> None:
        seen: list[int] = []

        def run() -> None:
            try:
                began.set()
                while True:
                    time.sleep(1)
            except Stop:
                seen.append(1)

        began = threading.Event()
        thread = start(run)
        began.wait()
        held_before.argtypes = (ctypes.c_ulong, ctypes.py_object)
        try:
            assert thread.ident is not None
            assert held_before(thread.ident, Stop) == 1
        finally:
            held_before.argtypes = None  # type: ignore[assignment]
        thread.join()
        assert seen == [1]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS
    assert type(held_before).__name__ == "_FuncPtr"


def test_what_is_no_exception_is_an_error_of_the_system() -> None:
    def test() -> None:
        seen: list[str] = []

        def run() -> None:
            try:
                began.set()
                while True:
                    time.sleep(1)
            except SystemError as error:
                seen.append(str(error))

        began = threading.Event()
        thread = start(run)
        began.wait()
        send(thread, "text")
        thread.join()
        assert seen == ["_PyErr_SetObject: exception 'text' is not a BaseException subclass"]

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


def test_it_comes_into_what_an_event_loop_of_the_thread_runs() -> None:
    def test() -> None:
        seen: list[int] = []

        async def main() -> None:
            began.set()
            while True:
                await asyncio.sleep(0.1)

        def run() -> None:
            try:
                asyncio.run(main())
            except Stop:
                seen.append(1)

        began = threading.Event()
        thread = start(run)
        began.wait()
        send(thread)
        thread.join()
        assert seen == [1]

    assert bohrbug.explore(test, executions=50).verdict.kind is not VerdictKind.FAILED


def test_outside_of_an_exploration_nothing_has_changed() -> None:
    bohrbug.explore(stopped_while(sleep), executions=2)
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc is held_before
    assert held_before(ctypes.c_ulong(2**31), ctypes.py_object(Stop)) == 0
    assert sys.version_info >= (3, 11)
