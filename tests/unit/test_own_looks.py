"""What is looked at on behalf of tasks is no access of theirs: nothing here races."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import bohrbug


def in_two_threads(work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def races_of(test: Callable[[], object], executions: int = 20) -> list[str]:
    result = bohrbug.explore(test, executions=executions, timeouts="late", predict=0)
    assert not result.failures
    return [race.label for race in result.races]


def test_who_waits_in_another_loop_is_asked_unseen() -> None:
    """Whether a descriptor is ready, a selector of Python code says, in whatever task runs."""

    async def receives() -> None:
        loop = asyncio.get_running_loop()
        mine, yours = socket.socketpair()
        mine.setblocking(False)
        yours.setblocking(False)
        with mine, yours:
            receiving = loop.create_task(loop.sock_recv(mine, 1))
            await asyncio.sleep(1)
            await loop.sock_sendall(yours, b"x")
            await receiving

    assert races_of(lambda: in_two_threads(lambda: asyncio.run(receives()))) == []


def test_runs_of_trio_are_looked_up_unseen() -> None:
    trio = pytest.importorskip("trio")

    async def two_tasks() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(trio.sleep, 0)

    assert races_of(lambda: in_two_threads(lambda: trio.run(two_tasks))) == []


def test_semaphores_are_looked_up_unseen() -> None:
    """What ``multiprocessing`` keeps itself of all semaphores is looked up by the program."""

    def work() -> None:
        with multiprocessing.Semaphore(1):
            pass

    races = races_of(lambda: in_two_threads(work))
    assert not [label for label in races if "WeakKeyDictionary" in label]


def test_databases_are_looked_up_unseen(tmp_path: Path) -> None:
    def read() -> None:
        connection = sqlite3.connect(tmp_path / "one.db")
        connection.execute("select 1").fetchall()
        connection.close()

    assert races_of(lambda: in_two_threads(read)) == []


class Error(Exception):
    """Can be referenced weakly, as classes in C can't."""


@pytest.mark.parametrize("kind", [ValueError, Error])
def test_an_exception_is_not_the_one_that_was_there_before(kind: type[Exception]) -> None:
    def work() -> None:
        error = kind("once")
        error.with_traceback(None)
        assert error.__traceback__ is None

    assert races_of(lambda: in_two_threads(work)) == []


@pytest.mark.parametrize("kind", [ValueError, Error])
def test_an_exception_stays_the_same(kind: type[Exception]) -> None:
    def test() -> None:
        error = kind("shared")
        in_two_threads(lambda: error.with_traceback(None))

    assert races_of(test) == [f"parts of {kind.__name__}"]
