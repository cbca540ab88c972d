"""``bohrbug export``: tests that fail with ordinary threads, without Bohrbug."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .conftest import Folder
from .programs import LOST_UPDATE

TWO_THREADS = """
    threads = [threading.Thread(target=each) for each in ({})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

# A call in between, so that a build with the GIL can switch threads there.
COUNTER = (
    """
import threading

class Counter:
    def __init__(self):
        self.value = 0

    def get(self):
        return self.value

    def set(self, value):
        self.value = value

    def add(self):
        self.set(self.get() + 1)

def test_counter():
    counter = Counter()
"""
    + TWO_THREADS.format("counter.add, counter.add")
    + """
    assert counter.get() == 2
"""
)

FORKS = """
import threading

class Fork:
    def __init__(self):
        self.lock = threading.Lock()

    def take(self):
        self.lock.acquire()

def take_both(one, other):
    one.take()
    other.take()
    one.lock.release()
    other.lock.release()

def test_forks():
    left, right = Fork(), Fork()
""" + TWO_THREADS.format("lambda: take_both(left, right), lambda: take_both(right, left)")

LOST_WAKE_UP = """
import threading

def test_wake_up():
    changed = threading.Condition()
    items = []

    def is_empty():
        return not items

    def take():
        if is_empty():
            with changed:
                changed.wait()
        items.pop()

    def give():
        items.append(1)
        with changed:
            changed.notify()
""" + TWO_THREADS.format("take, give")

NO_LOOP_AROUND_WAIT = """
import threading

def test_condition():
    changed = threading.Condition()
    items = []

    def take():
        with changed:
            if not items:
                changed.wait()
            items.pop()

    def give():
        with changed:
            items.append(1)
            changed.notify()
""" + TWO_THREADS.format("take, take, give, give")

ONE_ITEM_FOR_TWO = """
import asyncio

async def test_queue():
    items = asyncio.Queue()
    items.put_nowait(1)

    async def take(pause):
        await asyncio.sleep(pause)
        if not items.empty():
            await asyncio.sleep(0.05)
            await items.get()

    await asyncio.gather(take(0.01), take(0.5))
"""

BESIDE_A_MONITOR = """
import queue
import threading

def test_monitored():
    stop, items = threading.Event(), queue.Queue()

    def monitor():
        while not stop.wait(0.1):
            pass

    threading.Thread(target=monitor, daemon=True).start()
    worker = threading.Thread(target=lambda: items.get())
    worker.start()
    worker.join()
    stop.set()
"""

BESIDE_A_HEARTBEAT = """
import asyncio

async def test_beating():
    async def beat():
        while True:
            await asyncio.sleep(0.1)

    beats = asyncio.create_task(beat())
    await asyncio.Queue().get()
    beats.cancel()
"""


def alone(path: Path, folder: Folder) -> str:
    """What an exported test prints where no package is installed and nothing else is to be had."""
    alone = [sys.executable, "-I", "-S"]
    assert "ModuleNotFoundError" in folder.run([*alone, "-c", "import bohrbug"]).err
    done = folder.run([*alone, str(path)])
    assert done.code == 1, done.out + done.err
    return done.err


@pytest.mark.parametrize(
    ("program", "test", "raised", "line"),
    [
        (COUNTER, "test_counter", "AssertionError", "assert counter.get() == 2"),
        (FORKS, "test_forks", "Deadlock: these threads wait for ever", "self.lock.acquire()"),
        (LOST_WAKE_UP, "test_wake_up", "Deadlock: these threads wait", "changed.wait()"),
        (NO_LOOP_AROUND_WAIT, "test_condition", "IndexError: pop from empty list", "items.pop()"),
        (ONE_ITEM_FOR_TWO, "test_queue", "Deadlock: these tasks wait", "await items.get()"),
        (BESIDE_A_MONITOR, "test_monitored", "Deadlock: these threads", "lambda: items.get()"),
        (BESIDE_A_HEARTBEAT, "test_beating", "Deadlock: these tasks", "asyncio.Queue().get()"),
    ],
)
def test_an_exported_test_fails_with_ordinary_threads(
    folder: Folder, program: str, test: str, raised: str, line: str
) -> None:
    path = folder.write_failing("program.py", program, f"program:{test}")
    before = json.loads(path.read_text("utf-8"))

    done = folder.bohrbug("export", str(path), "-o", "test_proof.py", "--runs", "2")

    assert done.code == 0, done.out + done.err
    assert done.lines[0] == "wrote test_proof.py"
    assert "fails in 2 of 2 runs" in done.lines[1]
    after = json.loads(path.read_text("utf-8"))
    assert after.pop("natively").startswith("Fails in 2 of 2 runs")
    assert after == before
    printed = alone(folder.path / "test_proof.py", folder)
    assert raised in printed
    assert line in printed
    for command in ("explain", "replay"):
        assert "Fails in 2 of 2 runs" in folder.bohrbug(command, str(path)).out


def test_a_test_of_pytest_with_a_fixture(folder: Folder) -> None:
    folder.write(
        "test_counter.py",
        COUNTER.replace(
            "def test_counter():\n    counter = Counter()\n", "def test_add(counter):\n"
        )
        + "\nimport pytest\n\n@pytest.fixture\ndef counter():\n    return Counter()\n",
    )
    assert folder.pytest("--bohrbug", "test_counter.py").code == 1

    done = folder.bohrbug("export", str(folder.reproduction()), "--runs", "2")

    assert done.code == 0, done.out + done.err
    assert "fails in 2 of 2 runs" in done.out


def test_a_script_with_arguments(folder: Folder) -> None:
    folder.write(
        "script.py",
        COUNTER + "\nimport sys\nif sys.argv[1:] == ['go']:\n    test_counter()\n",
    )
    assert folder.bohrbug("run", "script.py", "go").code == 1

    done = folder.bohrbug("export", str(folder.reproduction()), "-o", "proof.py", "--runs", "1")

    assert done.code == 0, done.out + done.err
    assert "AssertionError" in alone(folder.path / "proof.py", folder)


def test_what_needs_a_build_without_the_gil_is_not_run_on_another(folder: Folder) -> None:
    path = folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")

    done = folder.bohrbug("export", str(path), "-o", "proof.py")

    assert done.code == 1
    assert "not run" in done.out
    assert "--python" in done.out
    ended = folder.run([sys.executable, "proof.py"])
    assert "can't switch threads where" in ended.err


def test_what_does_not_fail_is_told(folder: Folder) -> None:
    path = folder.write_failing("program.py", COUNTER, "program:test_counter")
    # An interpreter that runs nothing.
    other = folder.path / "other"
    other.mkdir()
    interpreter = other / "python"
    interpreter.write_text(
        f'#!/bin/sh\ncase "$*" in *json*) exec {sys.executable} "$@";; esac\nexit 0\n'
    )
    interpreter.chmod(0o755)

    done = folder.bohrbug("export", str(path), "--python", str(interpreter), "--runs", "2")

    assert done.code == 1
    assert "fails in 0 of 2 runs" in done.out
    assert "it passed" in done.out
    assert "it passed" in folder.bohrbug("explain", str(path)).out


def test_a_failure_that_is_not_reproduced_is_not_exported(folder: Folder) -> None:
    path = folder.write_failing("program.py", COUNTER, "program:test_counter")
    folder.write("program.py", COUNTER.replace("== 2", "> 0"))

    done = folder.bohrbug("export", str(path))

    assert done.code == 3
    assert "not reproduced" in done.out
    assert not list(folder.path.glob("test_forced*"))


def test_a_data_race_can_not_be_exported(folder: Folder) -> None:
    folder.write("counter.py", LOST_UPDATE.replace("assert counter.value == 2", "pass"))
    assert folder.bohrbug("run", "--races", "fail", "counter:test_add").code == 1

    done = folder.bohrbug("export", str(folder.reproductions()[0]))

    assert done.code == 1
    assert "ordinary threads don't show a data race" in done.out
    assert "show a data race" in folder.bohrbug("explain", str(folder.reproductions()[0])).out


def test_commands_that_can_not_be_carried_out(folder: Folder) -> None:
    folder.write("empty.json", "{}")
    path = folder.write_failing("program.py", COUNTER, "program:test_counter")

    assert "is not a reproduction file" in folder.bohrbug("export", "empty.json").err
    done = folder.bohrbug("export", str(path), "--python", "/no/such/python")
    assert done.code == 2
    assert "/no/such/python is not a Python interpreter" in done.err
