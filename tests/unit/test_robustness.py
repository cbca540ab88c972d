"""Programs that must not break or hang the tool, each under random schedules."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import bohrbug
from bohrbug.model.conditions import Level
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, Priorities, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.watchdog import Watchdog
from tests.programs.robust import PASSING
from tests.programs.together import together

PLANS = (
    Plan(),
    *(Plan((), UniformRandom(seed)) for seed in range(4)),
    *(Plan((), Priorities(seed, 3, 200)) for seed in range(2)),
)
LEVELS = pytest.mark.parametrize("level", [Level.SYNC, Level.RACY], ids=lambda level: level.value)


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test of this file may hang: an execution that does ends with outcome ``HANG``."""
    run = Execution.run
    with Watchdog(20.0, lambda message: os._exit(3)) as watchdog:

        def watched_run(self: Execution, function: Callable[[], object]) -> Trace:
            watchdog.watch(self)
            try:
                return run(self, function)
            finally:
                watchdog.release()

        monkeypatch.setattr(Execution, "run", watched_run)
        yield


def execute(
    function: Callable[[], object], level: Level, plans: tuple[Plan, ...] = PLANS
) -> list[Trace]:
    """The traces of some plans."""
    with threads_runtime(function, Settings(), level, Scope()) as runtime:
        return [runtime.execute(plan).trace for plan in plans]


def assert_passes(
    function: Callable[[], object], level: Level, plans: tuple[Plan, ...] = PLANS
) -> list[Trace]:
    """Every execution passes."""
    traces = execute(function, level, plans)
    for trace in traces:
        outcome = trace.outcome
        assert outcome.kind is OutcomeKind.PASSED, f"{outcome.message}\n{outcome.traceback}"
    return traces


# -- programs that pass ------------------------------------------------------------------


@LEVELS
@pytest.mark.parametrize("program", PASSING, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::pytest.PytestUnhandledThreadExceptionWarning",
    "ignore:The executor did not finish",
)
def test_program_passes(program: Callable[[], object], level: Level) -> None:
    """It does natively, and does under any schedule."""
    assert_passes(program, level)


# -- programs that fail, as they do natively -------------------------------------------------


@LEVELS
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, RecursionError])
def test_exception_of_the_root_is_the_outcome(error: type[BaseException], level: Level) -> None:
    """Whatever a test raises ends its execution and not the exploration."""

    def root() -> None:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        raise error("on purpose")

    for trace in execute(root, level):
        assert trace.outcome.kind is OutcomeKind.EXCEPTION
        assert trace.outcome.exception == error.__name__


@LEVELS
def test_keyboard_interrupt_of_a_thread_is_the_outcome(level: Level) -> None:
    """A thread that raises it itself."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    for trace in execute(lambda: together(interrupt), level):
        assert trace.outcome.exception == "KeyboardInterrupt"
        assert trace.outcome.task == "0.1"


@LEVELS
def test_endless_recursion_of_a_thread_is_the_outcome(level: Level) -> None:
    """The report is made although the stack was full."""

    def recurse() -> None:
        recurse()

    for trace in execute(lambda: together(recurse), level):
        assert trace.outcome.exception == "RecursionError"


# -- size --------------------------------------------------------------------------------


@LEVELS
def test_hundred_thousand_operations(level: Level) -> None:
    """One execution with many operations ends and is recorded as a whole."""
    lock = threading.Lock()

    def work() -> None:
        for _ in range(25_000):
            with lock:
                pass

    [trace] = assert_passes(lambda: together(work, work), level, (Plan((), UniformRandom(1)),))
    assert len(trace) > 100_000


# -- threads outside our control -------------------------------------------------------------


@LEVELS
def test_thread_from_outside_puts_what_a_task_waits_for(level: Level) -> None:
    """A real thread that runs since before the exploration is no reason for a false deadlock."""
    wanted: queue.Queue[int] = queue.Queue()
    given: queue.Queue[int] = queue.Queue()

    def give() -> None:
        while (number := wanted.get()) >= 0:
            given.put(number)

    outside = threading.Thread(target=give)
    outside.start()
    try:

        def ask() -> None:
            wanted.put(1)
            assert given.get() == 1

        assert_passes(lambda: together(ask), level)
    finally:
        wanted.put(-1)
        outside.join()


@LEVELS
def test_thread_from_outside_holds_a_lock(level: Level) -> None:
    """A task that waits for a lock held outside gets it when it is free."""
    lock = threading.Lock()
    stop = threading.Event()

    def hold() -> None:
        while not stop.is_set():
            with lock:
                time.sleep(0.002)
            time.sleep(0.002)

    outside = threading.Thread(target=hold)
    outside.start()
    try:

        def use() -> None:
            with lock:
                pass

        assert_passes(lambda: together(use, use), level)
    finally:
        stop.set()
        outside.join()


INTERRUPTS: dict[str, Callable[[int], object]] = {
    "kill": lambda _: os.kill(os.getpid(), signal.SIGINT),
    "pthread_kill": lambda main: signal.pthread_kill(main, signal.SIGINT),
    "raise_signal": lambda _: signal.raise_signal(signal.SIGINT),
    "interrupt_main": lambda _: _thread.interrupt_main(),
}


@pytest.mark.parametrize("name", INTERRUPTS)
def test_a_program_that_interrupts_itself_does_not_end_the_exploration(name: str) -> None:
    """That is for the program alone, as natively; whatever handles the signal there."""
    handled = []

    def interrupts(send: Callable[[int], object]) -> None:
        main = threading.get_ident()
        thread = threading.Thread(target=lambda: send(main))
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            threading.Event().wait()
        thread.join()
        before = signal.signal(signal.SIGINT, lambda *_: handled.append(True))
        send(main)
        signal.signal(signal.SIGINT, before)

    result = bohrbug.explore(lambda: interrupts(INTERRUPTS[name]), executions=5, timeouts="late")
    assert not result.failures, result.failures[0].outcome
    assert not result.interrupted
    assert len(handled) >= result.executions


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_handler_that_raises_after_the_test_has_failed() -> None:
    """There is no code of the test left that it could raise into: the failure stays as it is."""

    class Expired(Exception):
        pass

    def expire(number: int, frame: object) -> None:
        raise Expired

    def send() -> None:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGUSR1)

    def test() -> None:
        signal.signal(signal.SIGUSR1, expire)
        threading.Thread(target=send).start()
        raise AssertionError("the test itself")

    before = signal.getsignal(signal.SIGUSR1)
    try:
        result = bohrbug.explore(test, executions=3)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [failure.outcome.message for failure in result.failures] == [
        "AssertionError: the test itself"
    ]


def test_the_handler_of_interrupts_is_put_back_as_it_was() -> None:
    """Not one like it, which takes as long to make as a short exploration."""
    real: Any = _signal.getsignal
    with installation_of_a_session():
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            set_before = real(signal.SIGINT)
            bohrbug.explore(lambda: None)
            assert real(signal.SIGINT) is set_before
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def installation_of_a_session() -> Iterator[None]:
    """Control as it lasts from one test of a session to the next."""
    installation.install()
    try:
        yield
    finally:
        installation.restore()
