"""Failures are replayed in a process that has executed nothing before."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .conftest import Folder
from .programs import LOST_UPDATE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")

TWO_TASKS = """
import threading

def two(first, second):
    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

NEEDS_EARLIER_EXECUTIONS = """
from two_tasks import two

EXECUTED = []

def test():
    EXECUTED.append(1)
    count = [0]

    def add():
        value = count[0]
        count[0] = value + 1

    two(add, add)
    assert count[0] == 2 or len(EXECUTED) < 4
"""

LAMBDAS_OF_ONE_LINE = """
from two_tasks import two

def test():
    computed = []

    class Lazy:
        def __getattr__(self, name):
            computed.append(name)
            self.__dict__[name] = 1
            return 1

    lazy = Lazy()
    two(lambda: lazy.value, lambda: lazy.value)
    assert len(computed) == 1
"""

SHOWN_FIRST_BY_THE_FAILURE = """
import sqlite3
from two_tasks import two

def test():
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    made = []

    def set_once():
        if connection.row_factory is None:
            made.append(1)
            connection.row_factory = sqlite3.Row

    two(set_once, set_once)
    connection.close()
    assert len(made) == 1
"""

COUNTERS = """
from collections import Counter
from two_tasks import two

def test():
    counter, seen = Counter(a=1, b=1), []

    def change():
        counter["a"] = 2
        counter["b"] = 2

    two(lambda: seen.append(counter | Counter()), change)
    assert seen[0]["a"] == seen[0]["b"]
"""

NO_POINTS_BUT_A_LOOK = """
import threading
from two_tasks import two

def test():
    thread = threading.Thread(target=list)

    def turn():
        thread.daemon = not thread.daemon

    two(turn, turn)
    assert not thread.daemon
"""

MADE_ONCE = """
import threading
from two_tasks import two

CACHE = {}
made = 0

def make(key):
    global made
    if key not in CACHE:
        mine = made
        made = mine + 1
        CACHE[key] = mine
    return CACHE[key]

def test():
    two(lambda: make("a"), lambda: make("b"))
    assert CACHE["a"] != CACHE["b"]

def test_that_resets_it():
    CACHE.clear()
    test()

def test_with_a_lock():
    CACHE.clear()
    lock = threading.Lock()

    def locked(key):
        with lock:
            make(key)

    two(lambda: locked("a"), lambda: locked("b"))
"""

_FAILING_AFRESH = [
    *(LOST_UPDATE, LAMBDAS_OF_ONE_LINE, NO_POINTS_BUT_A_LOOK),
    *(SHOWN_FIRST_BY_THE_FAILURE, COUNTERS),
]

SAYS = "but not in a process that has executed nothing before"


def test_what_needs_earlier_executions_is_said(folder: Folder) -> None:
    folder.write("two_tasks.py", TWO_TASKS)
    folder.write("program.py", NEEDS_EARLIER_EXECUTIONS)

    found = folder.bohrbug("run", "program:test")

    assert found.code == 1, found.err
    assert SAYS in " ".join(found.out.split())
    assert folder.content()["happens_afresh"] is False
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 0, replayed.out
    assert "needs what earlier executions leave behind" in replayed.out


@pytest.mark.parametrize("text", _FAILING_AFRESH)
def test_what_needs_none_is_replayed_in_another_process(folder: Folder, text: str) -> None:
    folder.write("two_tasks.py", TWO_TASKS)
    test = folder.write("program.py", text).read_text().partition("def test")[2].partition("(")[0]

    found = folder.bohrbug("run", "--json", f"program:test{test}")

    assert found.code == 1, found.err
    (failure,) = json.loads(found.out)["failures"]
    assert failure["happens_afresh"] is True
    replayed = folder.bohrbug("replay", failure["reproduction"])
    assert replayed.code == 1, replayed.out


LASTING = """
import os
from two_tasks import two


class Settings:
    mode = "usual"


def with_mode(mode):
    before = Settings.mode
    Settings.mode = mode
    Settings.mode = before


def test():
    two(lambda: with_mode("a"), lambda: with_mode("b"))
    assert Settings.mode == "usual"


def test_with_a_folder():
    os.makedirs("made", exist_ok=True)
    earlier = len(os.listdir("made"))
    os.mkdir(f"made/{earlier}")
    two(lambda: with_mode("a"), lambda: with_mode("b"))
    assert earlier < 8
"""


def test_a_failure_that_lasts_is_confirmed_in_new_processes(folder: Folder) -> None:
    """It leaves a setting as it was never meant to be, and the test fails from then on."""
    folder.write("two_tasks.py", TWO_TASKS)
    folder.write("program.py", LASTING)

    found = folder.bohrbug("run", "program:test")

    assert found.code == 1, found.out
    said = " ".join(found.out.split())
    assert "leaves something behind with which the test always fails" in said
    assert "can't be executed again" not in said
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1, replayed.out


def test_what_no_execution_removes_makes_no_failure_of_a_test(folder: Folder) -> None:
    """It is there in new processes, too, whatever the schedule."""
    folder.write("two_tasks.py", TWO_TASKS)
    folder.write("program.py", LASTING)

    found = folder.bohrbug("run", "program:test_with_a_folder")

    assert found.code == 3, found.out
    assert "can't be executed again and again" in " ".join(found.out.split())


NAMES_OF_FILES = """
import os, tempfile
from two_tasks import two


def make():
    os.rmdir(tempfile.mkdtemp())


def test():
    two(make, make)
"""


def test_names_of_files_are_drawn_by_nobody(folder: Folder) -> None:
    """Those of a new process are drawn in the middle of a task; that is no access of the task."""
    folder.write("two_tasks.py", TWO_TASKS)
    folder.write("program.py", NAMES_OF_FILES)

    found = folder.bohrbug("run", "program:test")

    assert found.code == 0, found.out
    assert "taking" not in found.out


# -- what becomes of the process -----------------------------------------------------------

ASKED = """
import os, sys, threading, time
from pathlib import Path
from bohrbug.exploration.clean_process import CleanProcess

def replay(file):
    {replay}

{before}
with CleanProcess(replay) as clean:
    {within}
    print(clean.happens(Path("file"), {seconds}), clean.happens(Path("file"), 30))
{after}
"""


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"replay": "return str(file) == os.path.abspath('file')"}, "True True"),
        ({"replay": "return False"}, "False False"),
        ({"replay": "print('unseen'); os.system('echo unseen'); return True"}, "True True"),
        ({"replay": "raise ValueError"}, "None None"),
        ({"replay": "os.kill(os.getpid(), 9)"}, "None None"),
        ({"replay": "time.sleep(1000)", "seconds": "0.1"}, "None None"),
        # With the lock of another thread taken nothing is sure to work in a fork.
        (
            {
                "replay": "return True",
                "before": "go_on = threading.Event(); threading.Thread(target=go_on.wait).start()",
                "after": "go_on.set()",
            },
            "None None",
        ),
        # What the test does with all descriptors it does with ours; one of its own may have that
        # number later on.
        (
            {
                "replay": "return True",
                "within": "os.closerange(3, 300); os.dup2(1, 200); os.dup2(1, 201)",
            },
            "None None",
        ),
        ({"replay": "return True", "within": "os.chdir('/')"}, "False False"),
        # It is no child of the process.
        (
            {
                "replay": "return True",
                "within": """try:
        os.wait()
    except ChildProcessError:
        pass""",
            },
            "True True",
        ),
    ],
)
def test_a_process_is_asked(folder: Folder, parts: dict[str, str], told: str) -> None:
    usual = {"before": "", "within": "", "after": "", "seconds": "30"}
    if "chdir" in parts.get("within", ""):
        parts = {**parts, "replay": "return file.parent != Path('/')"}
    folder.write("asking.py", ASKED.format(**{**usual, **parts}))

    done = folder.run([sys.executable, "asking.py"])

    assert done.out.split("\n") == [told, ""], done.err


def test_it_ends_with_the_process_that_asks(folder: Folder) -> None:
    """Even while it replays, and the one that asks is killed."""
    replay = "Path('pids').write_text(f'{os.getppid()} {os.getpid()}'); time.sleep(1000)"
    kill = """
    def kill():
        while not os.path.exists("pids") or len(Path("pids").read_text().split()) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), 9)

    threading.Thread(target=kill).start()"""
    usual = {"before": "", "after": "", "seconds": "30"}
    folder.write("asking.py", ASKED.format(**usual, replay=replay, within=kill))

    done = folder.run([sys.executable, "asking.py"])

    assert done.code == -9
    for pid in (folder.path / "pids").read_text().split():
        is_there = f"[ -d /proc/{pid} ] && ! grep -q '^State:.Z' /proc/{pid}/status"
        waiting = f"while {is_there}; do sleep 0.01; done"
        subprocess.run(["timeout", "30", "sh", "-c", waiting], check=True)


def test_what_only_the_first_execution_does_is_a_condition(folder: Folder) -> None:
    folder.write("two_tasks.py", TWO_TASKS)
    folder.write("program.py", MADE_ONCE)
    data = json.loads(folder.bohrbug("run", "--json", "program.py:test").out)
    assert data["verdict"]["kind"] == "holds"
    assert "what the first execution leaves behind as it is" in str(data["verdict"]["conditions"])
    assert "data races on global made" in str(data["notices"])


def test_what_a_test_resets_is_explored(folder: Folder) -> None:
    folder.write("two_tasks.py", TWO_TASKS)
    folder.write("program.py", MADE_ONCE)
    assert folder.bohrbug("run", "program.py:test_that_resets_it").code == 1


def test_what_tasks_make_in_order_is_no_condition(folder: Folder) -> None:
    folder.write("two_tasks.py", TWO_TASKS)
    folder.write("program.py", MADE_ONCE)
    data = json.loads(folder.bohrbug("run", "--json", "program.py:test_with_a_lock").out)
    assert data["verdict"]["kind"] == "holds"
    assert "first execution" not in str(data)
