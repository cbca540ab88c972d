"""A task that ends its process ends its execution, and not the process that explores it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.exiting import Exiting
from tests.programs.together import together

STATUS = 3


def leave() -> None:
    os._exit(STATUS)


def raise_an_error() -> None:
    raise ValueError


def watched() -> None:
    """Fails if the watchdog looks before the work is done."""
    done: list[int] = []

    def watch() -> None:
        if not done:
            leave()

    together(lambda: done.append(1), watch)


def test_the_process_goes_on_and_the_execution_fails() -> None:
    [failure] = bohrbug.explore(watched).failures
    assert failure.outcome.message == "os._exit(3) ends the process"
    assert failure.outcome.stack[-1].site.function == "leave"
    assert failure.confirmed


def test_a_test_may_not_end_its_process_even_with_success() -> None:
    [failure] = bohrbug.explore(lambda: os._exit(0)).failures
    assert failure.outcome.message == "os._exit(0) ends the process"


def test_an_abort_fails_an_execution_like_that() -> None:
    [failure] = bohrbug.explore(lambda: together(os.abort)).failures
    assert failure.outcome.message == "os.abort() ends the process"


def test_who_gives_its_process_to_another_program_is_not_followed() -> None:
    def program() -> None:
        together(lambda: os.execv(sys.executable, [sys.executable, "-c", ""]))

    result = bohrbug.explore(program)
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "puts another program in the process's place" in result.verdict.reason


def test_what_the_kernel_refuses_is_an_error_as_always() -> None:
    def program() -> None:
        refused: Any = "no number"
        for call in (
            lambda: os.execvp("no such program", ["no such program"]),
            lambda: os.execv(os.curdir, ["a folder"]),
            lambda: os._exit(refused),
        ):
            try:
                call()
            except (OSError, TypeError):
                continue
            raise AssertionError

    assert bohrbug.explore(lambda: together(program)).verdict.kind is VerdictKind.HOLDS


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals of this kind")
@pytest.mark.parametrize(
    "send",
    [
        lambda: os.kill(os.getpid(), signal.SIGTERM),
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: signal.raise_signal(signal.SIGUSR1),
        lambda: signal.pthread_kill(threading.get_ident(), signal.SIGHUP),
    ],
    ids=["SIGTERM", "SIGKILL", "SIGUSR1", "SIGHUP"],
)
def test_so_does_a_signal_without_a_handler(
    send: Callable[[], None], request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    [failure] = bohrbug.explore(lambda: together(send)).failures
    assert failure.outcome.message == f"the signal {name} ends the process"
    assert failure.outcome.stack[-1].site.filename == __file__


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks of signals")
def test_signals_that_end_nothing_are_sent_as_always() -> None:
    def program() -> None:
        os.kill(os.getpid(), 0)
        os.kill(os.getpid(), signal.SIGCHLD)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        # Other threads of the process, such as those of pytest-xdist, have not blocked it.
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        assert signal.sigwait({signal.SIGUSR1}) == signal.SIGUSR1
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    assert not bohrbug.explore(program).failures


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exiting, "may_succeed", True)


@pytest.mark.usefixtures("script")
def test_a_script_may() -> None:
    result = bohrbug.explore(lambda: together(lambda: os._exit(0)))
    assert result.verdict.kind is VerdictKind.HOLDS


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("strategy", ["dpor", "dfs"])
def test_others_may_come_before(strategy: str) -> None:
    result = bohrbug.explore(
        lambda: together(lambda: os._exit(0), raise_an_error), strategy=strategy
    )
    assert [each.outcome.exception for each in result.failures] == ["ValueError"]


def raise_exit() -> None:
    raise SystemExit(0)


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("strategy", ["auto", "dpor", "dfs"])
@pytest.mark.parametrize("ends", [lambda: os._exit(0), raise_exit], ids=["_exit", "SystemExit"])
def test_so_may_other_tasks_of_an_event_loop(ends: Callable[[], None], strategy: str) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError

    async def end() -> None:
        await asyncio.sleep(0)
        ends()

    async def main() -> None:
        await asyncio.gather(end(), fail())

    def program() -> None:
        with suppress(SystemExit):
            asyncio.run(main())

    result = bohrbug.explore(program, strategy=strategy)
    assert [each.outcome.exception for each in result.failures] == ["ValueError"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_ends_as_always() -> None:
    def program() -> None:
        child = os.fork()
        if not child:
            leave()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == STATUS

    assert not bohrbug.explore(program).failures
