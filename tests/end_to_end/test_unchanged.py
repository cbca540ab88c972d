"""Tests that held are not explored again while nothing has changed; a session can have a budget."""

from __future__ import annotations

import re

from .conftest import Folder

STOCK = """
import threading

class Stock:
    def __init__(self):
        self.left = 0
        self.lock = threading.Lock()

    def add(self):
        with self.lock:
            self.left += 1
"""

SUITE = """
import threading
import pytest
from {package}stock import Stock

@pytest.mark.parametrize("number", [1, 2])
def test_add(number):
    stock = Stock()
    threads = [threading.Thread(target=stock.add) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert stock.left == 2

def test_alone():
    assert Stock().left == 0
"""

AGAIN = "not explored again: 3 tests in which nothing failed, and nothing has changed since"


def _write(folder: Folder) -> None:
    folder.write("stock.py", STOCK)
    folder.write("test_stock.py", SUITE.format(package=""))


def test_what_held_is_run_once_while_nothing_changes(folder: Folder) -> None:
    _write(folder)
    first = folder.pytest("--bohrbug", "-v")
    assert "3 tests explored" in first.out
    second = folder.pytest("--bohrbug", "-v", "--junitxml=junit.xml")
    assert AGAIN in second.out
    assert "tests explored" not in second.out
    assert "verdicts: holds: 3" in second.out
    assert "; unchanged since 20" in second.out
    assert "unchanged since" in folder.path.joinpath("junit.xml").read_text()
    assert "3 tests explored" in folder.pytest("--bohrbug", "--bohrbug-again").out
    assert AGAIN in folder.pytest("--bohrbug", "-n", "2").out
    assert "3 tests explored" in folder.pytest("--bohrbug", "--bohrbug-no-memory").out
    assert "3 tests explored" in folder.pytest("--bohrbug", "--bohrbug-forget").out
    # Other options, another verdict.
    assert "3 tests explored" in folder.pytest("--bohrbug", "--bohrbug-bound=3").out


def test_a_change_of_what_a_test_imports_explores_it_again(folder: Folder) -> None:
    _write(folder)
    folder.write("test_other.py", "def test_other(): pass\n")
    folder.pytest("--bohrbug")
    folder.write("stock.py", STOCK.replace("with self.lock", "if True"))
    done = folder.pytest("--bohrbug")
    assert "not explored again: 1 test " in done.out
    assert "failed: 2" in done.out


UNGUARDED = STOCK.replace("with self.lock", "if True")


def test_failures_are_replayed_while_nothing_changes(folder: Folder) -> None:
    _write(folder)
    folder.write("stock.py", UNGUARDED)
    first = folder.pytest("--bohrbug")
    assert "failed: 2" in first.out
    for options in ((), ("-n", "2")):
        second = folder.pytest("--bohrbug", "--junitxml=junit.xml", *options)
        assert second.code == 1
        assert "tests explored" not in second.out
        assert "replayed, not explored again: 2 tests fail as before, and nothing" in second.out
        assert "not explored again: 1 test in which nothing failed" in second.out
        assert "verdicts: holds: 1, failed: 2" in second.out
        # The whole report, with what was found out then, and how long that took.
        for told in ("It fails if and only if", "preempted", "reproduced in 3 of 3 replays"):
            assert second.out.count(told) == first.out.count(told) > 0
        assert "Known since 20" in second.out
        assert "0.00 s" not in second.out
        assert "unchanged since 20" in folder.path.joinpath("junit.xml").read_text()
    assert "3 tests explored" in folder.pytest("--bohrbug", "--bohrbug-again").out
    # A page shows more than what was written down.
    assert "2 tests explored" in folder.pytest("--bohrbug", "--bohrbug-html=pages").out
    index = folder.path.joinpath("pages", "index.html").read_text()
    assert re.search(r"2 tests explored: [\d,]+ executions in [^;\"]*; 1 unchanged, and not", index)
    assert index.count("unchanged since 20") == 1
    folder.write("stock.py", STOCK)
    mended = folder.pytest("--bohrbug")
    assert mended.code == 0
    assert mended.out.count("fixed: test_stock.py::test_add") == 2


def test_a_failure_that_does_not_happen_again_is_looked_for(folder: Folder) -> None:
    suite = SUITE.format(package="").replace("== 2", '== 2 or open("data.txt").read() == "right"')
    folder.write("stock.py", UNGUARDED)
    folder.write("test_stock.py", suite)
    folder.path.joinpath("data.txt").write_text("wrong")
    assert "failed: 2" in folder.pytest("--bohrbug", "test_stock.py::test_add").out
    folder.path.joinpath("data.txt").write_text("right")
    done = folder.pytest("--bohrbug", "test_stock.py::test_add")
    assert done.code == 0
    assert "2 tests explored" in done.out
    # What was mended is kept as well.
    assert (
        "2 tests in which nothing failed"
        in folder.pytest("--bohrbug", "test_stock.py::test_add").out
    )


def test_a_failure_whose_file_is_gone_is_looked_for(folder: Folder) -> None:
    _write(folder)
    folder.write("stock.py", UNGUARDED)
    folder.pytest("--bohrbug")
    gone, damaged = folder.path.joinpath(".bohrbug").glob("*.json")
    gone.unlink()
    damaged.write_text("{}")
    done = folder.pytest("--bohrbug")
    assert "2 tests explored" in done.out
    assert "failed: 2" in done.out


def test_a_failure_of_an_invariant_is_replayed(folder: Folder) -> None:
    folder.write("stock.py", UNGUARDED)
    folder.write(
        "test_stock.py",
        """
        import threading
        import pytest
        from stock import Stock

        STOCKS = []

        def nothing_is_lost():
            assert not (STOCKS and STOCKS[-1] == "over")

        @pytest.mark.bohrbug(invariant=nothing_is_lost)
        def test_over():
            STOCKS.clear()
            thread = threading.Thread(target=STOCKS.append, args=["over"])
            thread.start()
            thread.join()
        """,
    )
    assert "failed: 1" in folder.pytest("--bohrbug").out
    assert "replayed, not explored again: 1 test fails as before" in folder.pytest("--bohrbug").out


def test_a_test_that_fails_when_it_runs_once_is_explored_the_next_time(folder: Folder) -> None:
    folder.write(
        "test_file.py",
        """
        from pathlib import Path
        def test_file():
            assert Path("data.txt").read_text() == "right"
        """,
    )
    folder.path.joinpath("data.txt").write_text("right")
    assert "1 test explored" in folder.pytest("--bohrbug").out
    folder.path.joinpath("data.txt").write_text("wrong")
    done = folder.pytest("--bohrbug")
    assert done.code == 1
    assert "1 failed" in done.out
    folder.path.joinpath("data.txt").write_text("right")
    assert "1 test explored" in folder.pytest("--bohrbug").out


def test_a_conftest_that_is_new_explores_it_again(folder: Folder) -> None:
    _write(folder)
    folder.pytest("--bohrbug")
    folder.write(
        "conftest.py",
        """
        import pytest, stock

        @pytest.fixture(autouse=True)
        def unguarded(monkeypatch):
            def add(self):
                self.left += 1
            monkeypatch.setattr(stock.Stock, "add", add)
        """,
    )
    assert "failed: 2" in folder.pytest("--bohrbug").out


def test_a_module_in_front_of_another_explores_it_again(folder: Folder) -> None:
    folder.write("stock.py", STOCK)
    suite = SUITE.format(package="").replace("from stock import Stock", "")
    # Imported late.
    import_it = "    from stock import Stock\n    stock = Stock()"
    folder.write("test_stock.py", suite.replace("    stock = Stock()", import_it))
    folder.write("test_none.py", "def test_none(): pass\n")
    folder.pytest("--bohrbug", "test_stock.py::test_add")
    folder.path.joinpath("stock").mkdir()
    broken = STOCK.replace("with self.lock", "if True")
    folder.path.joinpath("stock/__init__.py").write_text(broken)
    assert "failed: 2" in folder.pytest("--bohrbug", "test_stock.py::test_add").out


def test_other_flags_of_the_interpreter_explore_it_again(folder: Folder) -> None:
    _write(folder)
    folder.write("stock.py", STOCK.replace("with self.lock", "if True"))
    folder.pytest("--bohrbug", PYTHONOPTIMIZE="1")
    assert "failed: 2" in folder.pytest("--bohrbug").out


def test_a_test_that_computes_alone_for_long_is_no_hang(folder: Folder) -> None:
    folder.write(
        "test_busy.py",
        """
        def test_busy():
            number = 0
            while number < 40_000_000: number += 1
        """,
    )
    assert "verdicts: holds: 1" in folder.pytest("--bohrbug").out


def test_what_sleeps_does_so_in_virtual_time_again(folder: Folder) -> None:
    folder.write(
        "test_sleep.py",
        """
        import time
        def test_sleep():
            began = time.monotonic()
            time.sleep(600)
            assert time.monotonic() - began >= 600
        """,
    )
    assert "1 test explored" in folder.pytest("--bohrbug").out
    done = folder.pytest("--bohrbug", "-v")
    assert "not explored again: 1 test " in done.out
    assert "unchanged since" in done.out
    assert done.code == 0


def test_a_budget_of_the_session(folder: Folder) -> None:
    folder.write(
        "test_large.py",
        """
        import threading
        import pytest

        @pytest.mark.parametrize("number", range(6))
        def test_large(number):
            entries = []
            def fill():
                for entry in range(6): entries.append(entry)
            threads = [threading.Thread(target=fill) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert len(entries) == 24
        """,
    )
    options = ("--bohrbug", "--bohrbug-executions=none", "--bohrbug-seconds=none")
    done = folder.pytest(*options, "--bohrbug-budget=2s")
    assert done.code == 0
    assert "6 passed" in done.out
    # What was cut short is explored again.
    assert "not explored again" not in folder.pytest(*options, "--bohrbug-budget=0.1s").out
    spent = folder.pytest(*options, "--bohrbug-budget=0.01")
    assert "the budget of 0.01 was spent" in spent.out
    assert "6 passed" in spent.out


LARGE_FIRST = """
import threading
import pytest

class Box:
    def __init__(self):
        self.n = self.m = 0

@pytest.fixture(scope="module")
def wide():
    yield

def test_large(wide):
    box = Box()
    def work(by):
        for _ in range(3):
            n = box.n; box.n = n + 1
            m = box.m; box.m = m + by
    threads = [threading.Thread(target=work, args=(by,)) for by in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

@pytest.mark.parametrize("number", range(4))
def test_tiny(number, wide):
    lock = threading.Lock()
    def work():
        with lock: pass
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

def test_alone(): pass
"""


def test_time_that_is_left_goes_to_tests_that_find_something_new(folder: Folder) -> None:
    folder.write("test_boxes.py", LARGE_FIRST)
    folder.write(
        "pyproject.toml",
        """
        [tool.bohrbug]
        budget = "6s"
        executions = "none"
        seconds = "none"
        """,
    )
    done = folder.pytest("--bohrbug", "-v", "--junitxml=junit.xml")
    assert done.code == 0
    assert "left: 1 test in which something new was still found" in done.out
    # Reported once, after the others, with all that was executed.
    assert done.out.rindex("test_large PASSED (no failure in") > done.out.rindex(
        "test_alone PASSED"
    )
    assert folder.path.joinpath("junit.xml").read_text().count("<testcase") == 6
    assert "6 passed" in done.out
    # By now it is known who needs how much.
    again = folder.pytest("--bohrbug", "-v", "-n", "2", "--bohrbug-budget=3s")
    assert "6 passed" in again.out
    assert "not explored again: 5 tests" in again.out
    # A limit of each test stays one.
    limited = folder.pytest("--bohrbug", "--bohrbug-seconds=0.3", "--bohrbug-budget=1m", "-v")
    assert "exploring on" not in limited.out


def test_what_waits_for_more_time_is_reported_when_the_session_ends_early(folder: Folder) -> None:
    folder.write("test_boxes.py", LARGE_FIRST)
    folder.write("test_fails.py", "def test_fails(): assert False")
    options = ("--bohrbug-executions=none", "--bohrbug-seconds=none", "--bohrbug-budget=3s")
    done = folder.pytest("--bohrbug", "-x", "-v", *options)
    assert done.code == 1
    assert "test_large PASSED (no failure in" in done.out
    assert "1 failed, 6 passed" in done.out


def test_a_budget_that_makes_no_sense(folder: Folder) -> None:
    folder.write("test_it.py", "def test_it(): pass\n")
    done = folder.pytest("--bohrbug", "--bohrbug-budget=soon")
    assert done.code == 4
    assert "--bohrbug-budget: 'soon' is no duration: write it as 90s, 10m or 1h30m" in done.err
    folder.write("pyproject.toml", '[tool.bohrbug]\nbudget = "soon"')
    done = folder.pytest("--bohrbug")
    assert done.code == 4
    assert "[tool.bohrbug]: budget: 'soon' is no duration" in done.err
