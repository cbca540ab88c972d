"""What lasts under ``pytest --bohrbug``: from one execution to the next, and from run to run."""

from __future__ import annotations

import re

from .conftest import Folder
from .programs import LOST_UPDATE

WIDER_FIXTURES = """
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

@pytest.fixture(scope="session")
def echo():
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.sendall(connection.recv(100))

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()
    listening.close()

@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as executor:
        yield executor

def ask(address):
    with socket.create_connection(address) as connection:
        connection.sendall(b"hello")
        return connection.recv(100)

def test_echo(echo, pool):
    answers = [pool.submit(ask, echo) for _ in range(2)]
    assert [answer.result() for answer in answers] == [b"hello"] * 2

def test_pool(pool):
    assert list(pool.map(abs, [-1, -2])) == [1, 2]
"""


def test_fixtures_of_wider_scopes_live_on(folder: Folder) -> None:
    """A server's thread and an executor are made once, for all executions."""
    folder.write("test_wider.py", WIDER_FIXTURES)
    done = folder.pytest("--bohrbug", "--bohrbug-executions=20")
    assert done.code == 0, done.out
    assert "2 passed" in done.out
    assert "inconclusive" not in done.out, done.out
    assert "can't be executed again" not in done.out, done.out
    assert re.search(r"2 tests explored.*: \d\d executions", done.out), done.out


def test_failing_schedules_are_remembered_and_reported_as_fixed(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE)
    assert "found by remembered" not in folder.pytest("--bohrbug").out
    again = folder.pytest("--bohrbug")
    assert again.code == 1
    assert "found by remembered" in again.out, again.out
    value = "        value = self.value\n        self.value = value + 1\n"
    assert value in LOST_UPDATE
    locked = "        with LOCK:\n            self.value += 1\n"
    mended = LOST_UPDATE.replace(value, locked).replace(
        "import threading\n", "import threading\nLOCK = threading.Lock()\n"
    )
    folder.write("test_counter.py", mended)
    done = folder.pytest("--bohrbug")
    assert done.code == 0, done.out
    assert "its remembered schedule passes now" in done.out, done.out
