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
    assert "found by a remembered schedule" not in folder.pytest("--bohrbug").out
    again = folder.pytest("--bohrbug", "--bohrbug-again")
    assert again.code == 1
    assert "found by a remembered schedule" in again.out, again.out
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


LEFT_BEHIND = """
import threading
import weakref

SESSIONS = weakref.WeakSet()

class Session:
    def __init__(self):
        SESSIONS.add(self)
        self.count = 0

def increment_twice(session):
    def increment():
        count = session.count
        session.count = count + 1
    threads = [threading.Thread(target=increment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def test_left():
    if not SESSIONS:
        session = Session()
        increment_twice(session)
        assert session.count == 2
"""

LEFT_IN_A_CYCLE = """
        session.own = session
        try:
            assert session.count == 2
        except AssertionError as error:
            kept = error
            raise
"""


def test_what_a_traceback_keeps_alive_is_gone_when_a_failure_is_confirmed(folder: Folder) -> None:
    folder.write("test_left.py", LEFT_BEHIND)
    in_a_cycle = LEFT_BEHIND.replace("        assert session.count == 2\n", LEFT_IN_A_CYCLE[1:])
    assert in_a_cycle != LEFT_BEHIND
    folder.write("test_cycle.py", in_a_cycle)
    for module in ("test_left", "test_cycle"):
        done = folder.pytest("--bohrbug", f"{module}.py")
        assert "verdicts: failed: 1" in done.out, done.out
        assert folder.bohrbug("run", "-q", f"{module}:test_left").code == 1


SEEN_ONCE = """
import threading

SEEN = []

def test_seen_once():
    counts = {"n": 0}
    def increment():
        count = counts["n"]
        counts["n"] = count + 1
    threads = [threading.Thread(target=increment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if counts["n"] != 2:
        SEEN.append(1)
        assert len(SEEN) > 1
"""


def test_a_failure_that_was_seen_never_ends_in_a_pass(folder: Folder) -> None:
    folder.write("test_once.py", SEEN_ONCE)
    done = folder.pytest("--bohrbug")
    assert done.code == 1, done.out
    assert "reason: a failure was seen, and the same schedule did not fail again" in done.out
    done = folder.bohrbug("run", "test_once:test_seen_once")
    assert done.code == 3, done.out
    assert "Inconclusive" in done.out
