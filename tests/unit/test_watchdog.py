"""The watchdog: an execution that makes no progress ends with a clear message."""

from __future__ import annotations

import _multiprocessing
import ctypes
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

import bohrbug
from bohrbug.model.conditions import Level
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads import watchdog as watchdogs
from bohrbug.runtime.threads.ending import Ending
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.recorded import RecordedTrace
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.watchdog import NUDGE, Hang, Watchdog

HANG = OutcomeKind.HANG

LIBC = ctypes.CDLL(None)

_flag = False


class Blocked:
    """Waits in C for a mutex, which no signal interrupts, until help comes."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._mutex = ctypes.create_string_buffer(64)

    def wait(self, seconds: float = 60.0) -> None:
        """Wait for help, but not longer than that."""
        LIBC.pthread_mutex_lock(self._mutex)
        # Real time, which tests are not told.
        moment = (ctypes.c_long * 2)()
        LIBC.clock_gettime(time.CLOCK_REALTIME, moment)
        end = moment[0] + moment[1] / 1e9 + seconds
        moment[:] = int(end), int(end % 1 * 1e9)
        LIBC.pthread_mutex_timedlock(self._mutex, moment)

    def help(self, message: str) -> None:
        """What the watchdog calls."""
        self.messages.append(message)
        LIBC.pthread_mutex_unlock(self._mutex)


def outcome_of(
    function: Callable[[], object], watchdog: Watchdog, monkeypatch: pytest.MonkeyPatch
) -> Outcome:
    """How an execution ends whose one thread runs a function, and is watched from there on.

    What comes before may take long on a busy machine, and is not what hangs.
    """

    def watched_function() -> None:
        watchdog.resume()
        try:
            function()
        finally:
            watchdog.pause()

    def test() -> None:
        thread = threading.Thread(target=watched_function, name="worker")
        thread.start()
        thread.join()

    run = Execution.run

    def watched_run(self: Execution, root: Callable[[], object]) -> Trace:
        watchdog.watch(self)
        try:
            return run(self, root)
        finally:
            watchdog.release()

    watchdog.pause()
    with monkeypatch.context() as patch, watchdog:
        patch.setattr(Execution, "run", watched_run)
        with threads_runtime(test, Settings(), Level.SYNC, Scope()) as runtime:
            return runtime.execute(Plan()).trace.outcome


def test_spinning_task_ends_as_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which task hangs where; the stacks of all tasks are there."""

    def spin() -> None:
        while not _flag:
            pass

    outcome = outcome_of(spin, Watchdog(0.4), monkeypatch)
    assert outcome.kind is HANG
    assert outcome.task == "0.1"
    assert outcome.message.startswith(f"task 0.1 (worker) has run for 0.4 s at {__file__}:")
    assert "without reaching a scheduling point" in outcome.message
    assert "task 0 (MainThread) is about to join" in outcome.traceback
    assert not outcome.is_failure


def test_task_that_catches_everything_is_told_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And help is called, once."""
    caught = []
    messages: list[str] = []

    def spin() -> None:
        while not _flag:
            pass

    def spin_on() -> None:
        while len(caught) < 2:
            try:
                spin()
            except Hang as hang:
                caught.append(hang)

    outcome = outcome_of(spin_on, Watchdog(0.4, messages.append), monkeypatch)
    assert outcome.kind is HANG
    assert len(caught) == 2
    assert len(messages) == 1
    assert "could not be stopped" in messages[0]


@pytest.mark.parametrize(("owner", "name"), [(Ending, "unwind_tasks"), (RecordedTrace, "forget")])
def test_a_hang_that_comes_late_does_no_harm(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task has ended by itself, while the watchdog was about to end it."""
    late = [Hang()]
    original = getattr(owner, name)

    def be_late(self: object) -> None:
        if late:
            raise late.pop()
        original(self)

    monkeypatch.setattr(owner, name, be_late)
    with threads_runtime(lambda: None, Settings(), Level.SYNC, Scope()) as runtime:
        assert runtime.execute(Plan()).trace.outcome.kind is OutcomeKind.PASSED
    assert not late


def test_task_blocked_in_c_calls_for_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be raised there; the callback could end the process."""
    blocked = Blocked()
    outcome = outcome_of(blocked.wait, Watchdog(0.4, blocked.help), monkeypatch)
    assert outcome.kind is HANG
    assert len(blocked.messages) == 1
    assert "task 0.1 (worker)" in blocked.messages[0]


def test_what_blocks_may_give_up_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is done that can't be undone, some more time passes."""
    patient, impatient = Blocked(), Blocked()

    def give_up() -> None:
        patient.wait(0.8)

    assert outcome_of(give_up, Watchdog(0.1, patient.help, 600), monkeypatch).kind is HANG
    assert not patient.messages
    watchdog = Watchdog(0.1, impatient.help, 1)
    assert outcome_of(impatient.wait, watchdog, monkeypatch).kind is HANG
    assert len(impatient.messages) == 1


def test_system_call_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    semaphore = _multiprocessing.SemLock(1, 0, 1, f"/bohrbug-test-{os.getpid()}", True)
    handler = signal.getsignal(signal.SIGURG)
    outcome = outcome_of(semaphore.acquire, Watchdog(0.4), monkeypatch)
    assert outcome.kind is HANG
    assert signal.getsignal(signal.SIGURG) is handler


def test_next_execution_is_not_harmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same watchdog can watch on after a hang."""

    def spin() -> None:
        while not _flag:
            pass

    watchdog = Watchdog(0.4)
    assert outcome_of(spin, watchdog, monkeypatch).kind is HANG
    # None of these hangs, however slow the machine is.
    watchdog._seconds = 60.0
    for _ in range(20):
        assert outcome_of(lambda: None, watchdog, monkeypatch).kind is OutcomeKind.PASSED


def test_paused_watchdog_lets_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person may look at a task for longer than that."""
    watchdog = Watchdog(0.05)

    def block() -> None:
        watchdog.pause()
        LIBC.usleep(200_000)

    assert outcome_of(block, watchdog, monkeypatch).kind is OutcomeKind.PASSED


def test_only_what_uses_the_processor_is_nudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a processor does not spin."""
    watchdog = Watchdog(60.0)
    nudges: list[bool] = []
    while_asleep: list[int] = []

    def sleep_and_spin() -> None:
        execution = watchdog._watched
        assert execution is not None
        execution.nudge = lambda: nudges.append(True)
        LIBC.usleep(int(3e6 * NUDGE))
        while_asleep.append(len(nudges))
        while not nudges:
            pass

    assert outcome_of(sleep_and_spin, watchdog, monkeypatch).kind is OutcomeKind.PASSED
    assert while_asleep == [0]


@pytest.mark.parametrize(
    ("share", "seconds"),
    [(1.0, 10.0), (0.25, 40.0), (0.1, 40.0), (0.5, 20.0), (0.0, 10.0), (0.001, 10.0)],
)
def test_what_computes_on_a_busy_machine_does_not_hang_sooner(
    share: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parameters: its share of a processor; the real seconds after which it is said to hang.

    What takes none is blocked; what takes a little gets a few times as long as it would alone.
    """
    now = 0.0
    ended: list[float] = []
    monkeypatch.setattr(watchdogs, "_real_monotonic", lambda: now)
    monkeypatch.setattr(watchdogs, "_real_process_time", lambda: now * share)
    monkeypatch.setattr(watchdogs, "_is_debugged", lambda execution: False)
    watchdog = Watchdog(10.0)
    monkeypatch.setattr(watchdog, "_end", lambda *_: ended.append(now))
    execution: Any = MagicMock(patience=math.inf, nudge=None, steps=3, all_tasks=[])
    execution.clock.jumps = execution.clock.readings = 0
    watchdog.watch(execution)
    seen = watchdogs._Seen()
    while not ended:
        watchdog._look(seen)
        now += 0.25
    assert ended == [seconds]


def test_debugger_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame of pdb on the stack says that a person looks."""
    namespace: dict[str, object] = {"__name__": "pdb", "ctypes": ctypes}
    exec("def interact():\n    ctypes.CDLL(None).usleep(300_000)\n", namespace)
    interact = namespace["interact"]
    assert callable(interact)
    outcome = outcome_of(lambda: interact(), Watchdog(0.05), monkeypatch)
    assert outcome.kind is OutcomeKind.PASSED


def test_stopping_twice_and_starting_again() -> None:
    """Both are allowed."""
    watchdog = Watchdog(0.05)
    watchdog.stop()
    watchdog.start()
    watchdog.start()
    watchdog.stop()
    watchdog.stop()
    with watchdog:
        assert watchdog._running.locked()
    assert not watchdog._running.locked()


def test_time_passes_while_code_in_c_waits_for_it() -> None:
    pause = ctypes.PyDLL(None).usleep
    lock = threading.Lock()
    polls: list[int] = []

    def poll() -> None:
        until = time.monotonic() + 1.0
        polls.append(0)
        while time.monotonic() < until and polls[-1] < 150:
            with lock:
                polls[-1] += 1
            pause(50_000)

    def test() -> None:
        thread = threading.Thread(target=poll)
        thread.start()
        with lock:
            pass
        thread.join()

    result = bohrbug.explore(test, strategy="random", executions=1, seconds=None)
    # Two seconds until somebody looks, and some more until the next look.
    assert all(20 <= each < 120 for each in polls)
    [taken] = result.verdict.conditions.taking
    assert taken == "time as passing as fast as in reality while code in C waits"


def test_time_stands_still_while_code_in_c_that_nobody_waits_for_takes_it() -> None:
    pause = ctypes.PyDLL(None).usleep
    passed: list[float] = []

    def test() -> None:
        thread = threading.Thread(target=pause, args=(0,))
        thread.start()
        begun = time.monotonic()
        for _ in range(4):
            pause(700_000)
        passed.append(time.monotonic() - begun)
        thread.join()

    bohrbug.explore(test, strategy="random", executions=1, seconds=None)
    assert max(passed) < 0.1
