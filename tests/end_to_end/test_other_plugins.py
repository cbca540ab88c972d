"""``pytest --bohrbug`` beside other plugins."""

from __future__ import annotations

import os

import pytest

from .conftest import Folder
from .programs import LOCKED, LOST_UPDATE

BUSY = """
def test_busy():
    while True:
        pass
"""


def test_xdist(folder: Folder) -> None:
    folder.write("test_a.py", LOST_UPDATE)
    folder.write("test_b.py", LOCKED)
    done = folder.pytest("--bohrbug", "-n", "2", "-v")
    assert "1 failed, 1 passed" in done.out, done.out
    assert "It fails if and only if" in done.out
    assert "2 tests explored: " in done.out
    assert "PASSED (holds" in done.out
    path = folder.reproduction()
    assert f"bohrbug replay {path.relative_to(folder.path)}" in done.out
    assert "FAILED test_a.py::test_add - Assert" in done.out


@pytest.mark.skipif(os.name == "nt", reason="pytest-timeout has no signals there")
def test_timeout_with_a_signal(folder: Folder) -> None:
    folder.write("test_busy.py", BUSY + LOCKED)
    # The watchdog would be the first to end it.
    done = folder.pytest(
        "--bohrbug", "--bohrbug-hang-seconds=0", "--timeout=2", "--timeout-method=signal"
    )
    assert "1 failed, 1 passed" in done.out, done.out
    assert "Timeout (>2.0s) from pytest-timeout" in done.out


def test_an_exploration_ends_before_its_timeout(folder: Folder) -> None:
    folder.write("test_locks.py", LOCKED)
    done = folder.pytest(
        "--bohrbug",
        "--bohrbug-strategy=random",
        "--bohrbug-executions=100000000",
        "--bohrbug-seconds=none",
        "--timeout=3",
    )
    assert "1 passed" in done.out, done.out


def test_coverage(folder: Folder) -> None:
    folder.write(
        "shop.py",
        """
        import threading

        def sell(stock):
            lock = threading.Lock()
            def take():
                with lock:
                    if stock:
                        stock.pop()
                    else:
                        stock.append("never")
            threads = [threading.Thread(target=take) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return stock
        """,
    )
    folder.write("test_shop.py", "import shop\ndef test_it(): assert shop.sell([1, 2, 3]) == [1]\n")
    arguments = ("--cov=shop", "--cov-report=term-missing", "-p", "pytest_cov")
    plain = folder.pytest(*arguments)
    explored = folder.pytest("--bohrbug", *arguments)
    assert explored.code == 0, explored.out
    wanted = [line for line in plain.lines if line.startswith("shop.py")]
    assert wanted
    assert wanted == [line for line in explored.lines if line.startswith("shop.py")]


def test_junit(folder: Folder) -> None:
    folder.write("test_a.py", LOST_UPDATE)
    folder.pytest("--bohrbug", "--junit-xml=junit.xml")
    xml = (folder.path / "junit.xml").read_text(encoding="utf-8")
    assert 'name="bohrbug" value="failed: ' in xml
    assert "It fails if and only if" in xml


LATE_ALARM = """
import signal
import pytest
from bohrbug.exploration.explorer import Explorer

explore = Explorer.explore
names = []

def explore_for_ever(explorer):
    while names[-1] == "test_slow":
        pass
    return explore(explorer)

Explorer.explore = explore_for_ever

def expire(number, frame):
    pytest.fail("took too long")

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    names.append(item.name)
    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, 0.1 if item.name == "test_slow" else 100)
    return (yield)
"""


def test_an_alarm_in_the_midst_of_our_own_code_fails_only_that_test(folder: Folder) -> None:
    folder.write("conftest.py", LATE_ALARM)
    folder.write("test_two.py", "def test_slow(): pass\n\ndef test_next(): pass\n")
    done = folder.pytest("--bohrbug")
    assert "INTERNALERROR" not in done.out, done.out
    assert "1 failed, 1 passed" in done.out, done.out
    assert "Failed: took too long" in done.out


ALARM_IN_OUR_WORK = """
import signal
import time
import pytest
from bohrbug.pytest_plugin.unchanged import UnchangedTests

keep = UnchangedTests.keep

def keep_slowly(*arguments):
    end = time.perf_counter() + 2.5
    while time.perf_counter() < end:
        pass
    keep(*arguments)

UnchangedTests.keep = keep_slowly

def expire(number, frame):
    pytest.fail("took too long")

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
"""


def test_an_alarm_in_our_work_after_the_exploration_is_put_off(folder: Folder) -> None:
    folder.write("conftest.py", ALARM_IN_OUR_WORK)
    folder.write(
        "test_two.py",
        """
        import time
        import pytest

        @pytest.fixture(scope="module")
        def stuck():
            yield
            time.sleep(100)

        def test_quick(): pass

        def test_stuck(stuck): pass
        """,
    )
    done = folder.pytest("--bohrbug")
    assert "INTERNALERROR" not in done.out, done.out
    # What belongs to the test still has to end in time.
    assert "2 passed, 1 error" in done.out, done.out
    assert "ERROR at teardown of test_stuck" in done.out
    assert "Failed: took too long" in done.out


def test_our_work_in_an_exploration_may_be_slow(folder: Folder) -> None:
    """The first alarm comes after 0.1 s, the second one after 2.1 s."""
    slow = 'time.sleep(3 if names[-1] == "test_slow" else 0)'
    text = LATE_ALARM.replace('while names[-1] == "test_slow":\n        pass', slow)
    assert text != LATE_ALARM
    folder.write("conftest.py", "import time\n" + text)
    folder.write("test_two.py", "def test_slow(): pass\n\ndef test_next(): pass\n")
    done = folder.pytest("--bohrbug", "-v")
    assert "INTERNALERROR" not in done.out, done.out
    assert "test_slow INCONCLUSIVE" in done.out, done.out
    assert "1 passed, 1 inconclusive" in done.out, done.out


FAKE_FILES = """
import os
import threading


def twice(function):
    threads = [threading.Thread(target=function) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_locked(fs):
    fs.create_file("/data/count", contents="0")
    lock = threading.Lock()

    def add():
        with lock:
            with open("/data/count") as file:
                count = int(file.read())
            with open("/data/count", "w") as file:
                file.write(str(count + 1))

    twice(add)
    with open("/data/count") as file:
        assert file.read() == "2"


def test_lost(fs):
    made = []

    def make():
        if not os.path.exists("/data"):
            made.append(1)
            os.makedirs("/data", exist_ok=True)

    twice(make)
    assert made == [1]
"""


def test_fake_files(folder: Folder) -> None:
    """pyfakefs replaces the functions for files in every module that has them."""
    folder.write("test_files.py", FAKE_FILES)
    limits = ("--bohrbug-executions=15", "--bohrbug-seconds=none")
    done = folder.pytest("--bohrbug", "-v", *limits, PYTEST_ADDOPTS="")
    assert "1 failed, 1 passed" in done.out, done.out
    assert "test_locked PASSED" in done.out
    assert "assert [1, 1] == [1]" in done.out


FROZEN = """
import datetime
import threading
import time
from time import localtime, monotonic as uptime
from time import time as now

import freezegun
import pytest


@pytest.fixture(params=["first", "second"])
def year(request):
    with freezegun.freeze_time("2012-01-14"):
        yield
    assert now() > 1_600_000_000


def test_frozen(year):
    # freezegun leaves alone what is called by threads.
    other = threading.Thread(target=time.sleep, args=(5,))
    other.start()
    told = [(now(), uptime(), localtime().tm_year, datetime.datetime.now().year)]
    other.join()
    told.append((now(), uptime(), localtime().tm_year, datetime.datetime.now().year))
    assert told[0] == told[1]
    assert told[0][2:] == (2012, 2012)


def test_thawed():
    before, start = now(), uptime()
    assert before > 1_600_000_000
    time.sleep(5)
    assert now() - before >= 5
    assert uptime() - start >= 5
"""


def test_what_is_frozen_is_so_for_who_holds_the_functions(folder: Folder) -> None:
    """freezegun replaces the clocks in every module that has them."""
    # Imported before anything is replaced.
    folder.write("conftest.py", "import freezegun")
    folder.write("test_frozen.py", FROZEN)
    limits = ("--bohrbug-executions=15", "--bohrbug-seconds=none")
    done = folder.pytest("--bohrbug", *limits)
    assert "3 passed" in done.out, done.out


PATCHED_BY_GEVENT = """
import sys
import types

sys.modules["gevent.monkey"] = types.SimpleNamespace(saved={"threading": {}})


def test_one():
    pass


def test_two():
    assert not sys.modules["gevent.monkey"].saved
"""


def test_what_gevent_has_patched_runs_once_and_says_so(folder: Folder) -> None:
    folder.write("test_patched.py", PATCHED_BY_GEVENT)
    done = folder.pytest("--bohrbug")
    assert "1 failed, 1 passed" in done.out, done.out
    assert "not explored: 2 tests, gevent.monkey has replaced parts of the standard library" in (
        done.out
    )
    done = folder.bohrbug("run", "test_patched.py:test_one")
    assert done.code == 2
    assert "test_patched.py:test_one can't be explored: gevent.monkey has replaced" in done.err


def test_what_measures_time_is_run_as_always(folder: Folder) -> None:
    """Virtual time stands still: pytest-benchmark would go round for ever."""
    folder.write(
        "pytest_benchmark.py",
        """
        import time
        import pytest

        @pytest.fixture
        def benchmark():
            def measure(function):
                rounds, taken = 1, 0.0
                while taken < 1e-4:
                    begin = time.perf_counter()
                    for _ in range(rounds):
                        function()
                    taken = time.perf_counter() - begin
                    rounds *= 2
            return measure
        """,
    )
    folder.write("test_speed.py", "def test_it(benchmark): benchmark(list)\n")
    done = folder.pytest("--bohrbug", "-p", "pytest_benchmark", "-rA")
    assert "1 passed" in done.out, done.out
    assert "the fixture benchmark measures real time" in done.out
