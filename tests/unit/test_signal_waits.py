"""Tasks that wait for signals."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from bohrbug.model.conditions import Level
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.together import together
from tests.unit.random_schedules import values

SIGNAL = signal.SIGUSR1
"""Which one the tests send."""


@pytest.fixture
def blocked() -> Iterator[None]:
    """The signal waits until somebody takes it, if it is sent to this thread.

    Sent to the process, it would end it: test runners have threads that don't block it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {SIGNAL})
    yield
    signal.sigtimedwait({SIGNAL}, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def send() -> None:
    os.kill(os.getpid(), SIGNAL)


@pytest.mark.usefixtures("blocked")
@pytest.mark.parametrize("name", ["sigwait", "sigwaitinfo"])
def test_others_go_on_while_one_waits_for_a_signal(name: str) -> None:
    this_thread = threading.get_ident()

    def attempt() -> int:
        taken: list[Any] = []
        together(
            lambda: taken.append(getattr(signal, name)({SIGNAL})),
            lambda: signal.pthread_kill(this_thread, SIGNAL),
        )
        return int(getattr(taken[0], "si_signo", taken[0]))

    assert values(attempt, 10) == {SIGNAL}


@pytest.mark.usefixtures("blocked")
def test_waiting_for_a_signal_times_out_in_virtual_time() -> None:
    def attempt() -> float:
        began = time.monotonic()
        assert signal.sigtimedwait({SIGNAL}, 1000) is None
        return time.monotonic() - began

    assert min(values(attempt, 2)) >= 1000


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """What a handler of the signal was called with."""
    calls: list[int] = []
    before = signal.signal(SIGNAL, lambda number, frame: calls.append(number))
    yield calls
    signal.signal(SIGNAL, before)


def test_a_pause_ends_when_a_handler_has_run(handled: list[int]) -> None:
    def attempt() -> bool:
        ended = threading.Event()

        def send_until_it_ended() -> None:
            while not ended.is_set():
                send()
                time.sleep(1)

        sender = threading.Thread(target=send_until_it_ended)
        sender.start()
        signal.pause()
        ended.set()
        sender.join()
        return bool(handled)

    assert values(attempt, 20) == {True}


def test_a_signal_before_the_pause_is_lost(handled: list[int]) -> None:
    def attempt() -> None:
        send()
        signal.pause()

    settings = Settings(external_patience=0.05)
    with threads_runtime(attempt, settings, Level.SYNC, Scope()) as runtime:
        outcome = runtime.execute(Plan(())).trace.outcome
    assert outcome.kind is OutcomeKind.HANG
    assert "a signal" in outcome.message
    assert handled
