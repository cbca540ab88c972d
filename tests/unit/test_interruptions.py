"""Signals that come into what an event loop of the main thread does."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import types

import bohrbug
from bohrbug import VerdictKind
from bohrbug.model.conditions import Level
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.interrupting import handling, send


def test_a_handler_of_a_loop_for_a_signal_of_a_thread_is_a_condition() -> None:
    """That it may come before what the loop was about to run is not tried."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        come = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, come.set)
        try:
            thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
            thread.start()
            await come.wait()
            thread.join()
        finally:
            loop.remove_signal_handler(signal.SIGUSR1)

    verdict = bohrbug.explore(lambda: asyncio.run(main())).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None
    assert verdict.conditions.taking == (
        "what event loops do for signals as coming after what they were about to run",
    )


def test_a_handler_comes_into_what_a_loop_runs() -> None:
    """It is the main thread that runs the loop."""

    async def main() -> None:
        state = types.SimpleNamespace(n=0)

        def handle(*_: object) -> None:
            state.n += 10

        with handling(handle):
            thread = threading.Thread(target=send)
            thread.start()
            seen = state.n
            state.n = seen + 1
            thread.join()
        assert state.n == 11

    assert bohrbug.explore(lambda: asyncio.run(main())).verdict.kind is VerdictKind.FAILED


def test_a_signal_between_two_accesses_is_replayed_where_none_was_seen_before() -> None:
    def test() -> None:
        state = types.SimpleNamespace(n=0)

        def handle(*_: object) -> None:
            state.n += 10

        with handling(handle):
            thread = threading.Thread(target=send)
            thread.start()
            seen = state.n
            state.n = seen + 1
            thread.join()
        assert state.n == 11

    failure = bohrbug.explore(test).failures[0]
    with threads_runtime(test, Settings(), Level.RACY, Scope()) as runtime:
        # What it calls is found out, as before a replay in a new process.
        for _ in range(2):
            runtime.execute(Plan())
        trace = runtime.execute(failure.plan).trace
    assert trace.outcome.kind is OutcomeKind.ASSERTION
    assert trace.divergence is None
