"""How the time of a session is shared out, and which files a test depends on."""

from __future__ import annotations

import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from bohrbug.exploration.durations import Durations, Lasted
from bohrbug.exploration.held import Held, HeldTests
from bohrbug.pytest_plugin import session_budget
from bohrbug.pytest_plugin.dependencies import files_behind
from bohrbug.pytest_plugin.session_budget import (
    MOST_SHARES,
    SessionBudget,
    seconds_of,
    session_budget_of,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5_400), ("1H 2m3.5s", 3_723.5), ("0.5", 0.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 minutes", "-1", "0", "0m", "3m2h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|more time than none"):
        seconds_of(text)


class _Clock:
    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr(session_budget, "_now", lambda: clock.now)
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    return clock


def _budget(seconds: float, tests: int, lasted: dict[str, Lasted] | None = None) -> SessionBudget:
    budget = SessionBudget(seconds, f"{seconds:g}", lasted)
    budget.expect([f"test_{number}" for number in range(tests)])
    return budget


class _Config:
    def __init__(self, given: dict[str, object] | None = None) -> None:
        if given is not None:
            self.workerinput = given

    def getoption(self, name: str) -> str:
        return "100"

    def getini(self, name: str) -> str:
        return ""


@pytest.mark.parametrize(("clock_of_worker", "left"), [(1_007, 90), (9_000, 0), (0, 100)])
def test_the_start_of_a_worker_takes_time_of_the_session(
    clock: _Clock, monkeypatch: pytest.MonkeyPatch, clock_of_worker: float, left: float
) -> None:
    controller = session_budget_of(cast(pytest.Config, _Config()), {}, {})
    assert controller is not None
    clock.now = 3.0
    monkeypatch.setattr(session_budget, "_wall_clock", lambda: 1_000.0)
    given: dict[str, object] = {}
    controller.tell_worker(given)
    # What comes after that, on another machine perhaps.
    clock.now = 50_000.0
    monkeypatch.setattr(session_budget, "_wall_clock", lambda: clock_of_worker)
    worker = session_budget_of(cast(pytest.Config, _Config(given)), {}, {})
    assert worker is not None
    assert worker.left == pytest.approx(left)


def test_tests_with_one_task_leave_their_time_to_others(clock: _Clock) -> None:
    budget = _budget(100.0, 100)
    assert budget.begin("test_0") == pytest.approx(1.0)
    budget.end(is_concurrent=False)
    for number in range(1, 49):
        budget.begin(f"test_{number}")
        budget.end(is_concurrent=False)
    # One in fifty, at most, of the 51 that are left.
    assert budget.begin("test_49") == pytest.approx(100 / (51 / 50))
    budget.end(is_concurrent=True)
    assert budget.begin("test_50") == pytest.approx(100 / (50 * 2 / 51))


def test_who_shows_what_is_new_gets_more(clock: _Clock) -> None:
    budget = _budget(100.0, 10)
    assert budget.begin("test_0") == 10.0
    assert budget.more(False) == 0.0
    assert [budget.more(True) for _ in range(MOST_SHARES)] == [10.0, 10.0, 10.0, 0.0]
    assert not budget.is_spent
    clock.now = 100.0
    assert budget.is_spent
    budget.begin("test_1")
    assert budget.more(True) == 0.0


def test_no_test_gets_more_than_it_may_have(clock: _Clock) -> None:
    budget = _budget(100.0, 10)
    assert budget.begin("test_0", 4.0) == 4.0
    assert budget.more(True) == 0.0
    assert budget.begin("test_1", 25.0) == pytest.approx(100 / 9)
    assert budget.more(True) == pytest.approx(100 / 9)
    assert budget.more(True) == pytest.approx(25 - 2 * 100 / 9)
    assert budget.more(True) == 0.0
    assert budget.again(2, 20.0, 25.0) == 5.0
    assert budget.again(2, 20.0, None) == 50.0


def test_what_tests_took_before_is_set_aside_for_them(clock: _Clock) -> None:
    ended = {f"test_{number}": Lasted(2.0, ended=True) for number in range(2, 10)}
    cut = {f"test_{number}": Lasted(9.0, ended=False) for number in range(2)}
    budget = _budget(100.0, 10, ended | cut)
    # Two can use all that they get, beside what the others took.
    assert budget.begin("test_0") == pytest.approx((100 - 16) / 2)
    budget.end(is_concurrent=True)
    clock.now = 42.0
    assert budget.begin("test_1") == pytest.approx(42.0)
    budget.end(is_concurrent=True)
    clock.now = 84.0
    budget.leave_out("test_2")
    clock.now = 86.0
    # Nobody else is to come who could use more.
    assert budget.begin("test_3") == pytest.approx(14 - 6 * 2)


def test_workers_share_the_tests(clock: _Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "4")
    # 40 tests of which each worker has 10, and one has begun.
    assert _budget(100.0, 40).begin("test_0") == 10.0


def test_durations_are_kept(tmp_path: Path) -> None:
    durations = Durations(tmp_path / "durations.sqlite")
    assert durations.read() == {}
    durations.write({"a": Lasted(1.5, ended=True), "b": Lasted(2.0, ended=False)})
    durations.write({"b": Lasted(3.0, ended=True)})
    assert durations.read() == {"a": Lasted(1.5, ended=True), "b": Lasted(3.0, ended=True)}
    assert not durations.trouble


def test_durations_in_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "durations.sqlite"
    path.write_text("no database, but long enough to be looked at as one" * 10)
    durations = Durations(path)
    assert durations.read() == {}
    durations.write({"a": Lasted(1.5, ended=True)})
    assert "durations of tests are not kept" in durations.trouble


def test_files_behind_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "shop_of_files"
    package.mkdir()
    sources = {
        "__init__": "",
        "stock": "import json\nfrom . import prices\ndef late():\n    from . import taxes\n",
        "prices": "from shop_of_files.names import NAME\n",
        "names": "NAME = 'shop'\ndef name(): pass\n",
        "taxes": "RATE = 1\n",
        "unused": "",
    }
    for name, text in sources.items():
        package.joinpath(f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in sources:
        __import__("shop_of_files" if name == "__init__" else f"shop_of_files.{name}")
    try:
        stock = sys.modules["shop_of_files.stock"]
        found = {Path(file).stem for file in files_behind([stock], [])}
        assert found == {"__init__", "stock", "prices", "names", "taxes"}
        # Code that ran, however it was got hold of.
        ran = str(package / "unused.py")
        assert {Path(file).stem for file in files_behind([stock], [ran])} == {*found, "unused"}
        # As a test may do that wants to know what a library does then.
        monkeypatch.delitem(vars(stock), "__name__")
        assert {Path(file).stem for file in files_behind([stock], [])} == found
    finally:
        for name in [name for name in sys.modules if name.startswith("shop_of_files")]:
            del sys.modules[name]


def test_what_is_held_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "held.sqlite"
    tests = HeldTests(file)
    held = Held("conditions", {"a.py": ("1", "a")}, {"line": "holds"}, 5.0)
    tests.keep("test", held)
    tests.keep("other", held)
    tests.forget("other")
    tests.flush()
    assert HeldTests(file).recall("test") == held
    assert HeldTests(file).recall("other") is None
    again = HeldTests(file)
    again.forget("test")
    again.flush()
    assert HeldTests(file).recall("test") is None


def _kept_in(file: Path) -> Held:
    """What is known of the one test in a new file."""
    held = Held("conditions", {"a.py": ("1", "a")}, {"line": "holds"}, 5.0)
    tests = HeldTests(file)
    tests.keep("test", held)
    tests.flush()
    return held


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ('{"a.py": "only a digest"}', "{}"),
        ('{"a.py": null}', "{}"),
        ('["a.py"]', "{}"),
        ("{", "{}"),
        ('{"a.py": ["1", "a"]}', "7"),
        ('{"a.py": ["1", "a"]}', "not JSON"),
    ],
)
def test_a_row_of_another_form_counts_as_none(tmp_path: Path, files: str, told: str) -> None:
    file = tmp_path / "held.sqlite"
    held = _kept_in(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE files SET files = ?", (files,))
        connection.execute("UPDATE held SET told = ?", (told,))
    again = HeldTests(file)
    assert again.recall("test") is None
    again.keep("test", held)
    again.flush()
    assert HeldTests(file).recall("test") == held


def test_files_of_many_tests_are_kept_once(tmp_path: Path) -> None:
    file = tmp_path / "held.sqlite"

    def kept_files() -> int:
        with closing(sqlite3.connect(file)) as connection:
            return int(connection.execute("SELECT count(*) FROM files").fetchone()[0])

    before = {"a.py": ("1", "a"), "b.py": ("1", "b")}
    tests = HeldTests(file)
    for test in ("first", "second"):
        tests.keep(test, Held("conditions", dict(before), {"line": "holds"}, 5.0))
    tests.flush()
    assert kept_files() == 1
    later = {**before, "a.py": ("2", "a")}
    for test, kept in (("first", 2), ("second", 1)):
        again = HeldTests(file)
        again.keep(test, Held("conditions", later, {"line": "holds"}, 6.0))
        again.flush()
        assert kept_files() == kept
    again = HeldTests(file)
    for test in ("first", "second"):
        held = again.recall(test)
        assert held is not None
        assert held.files == later


def test_files_that_are_missing_count_as_changed(tmp_path: Path) -> None:
    file = tmp_path / "held.sqlite"
    _kept_in(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM files")
    assert HeldTests(file).recall("test") is None


def test_a_file_of_another_kind_is_no_trouble_for_tests(tmp_path: Path) -> None:
    file = tmp_path / "held.sqlite"
    file.write_text("not a database, but long enough to be taken for one by its size" * 20)
    tests = HeldTests(file)
    assert tests.recall("test") is None
    assert tests.trouble is not None
    assert "verdicts are not kept" in tests.trouble


def test_a_file_of_an_older_version_begins_afresh(tmp_path: Path) -> None:
    file = tmp_path / "held.sqlite"
    held = _kept_in(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP TABLE files")
        connection.execute("ALTER TABLE held DROP COLUMN told")
        connection.execute("PRAGMA user_version=1")
    again = HeldTests(file)
    assert again.recall("test") is None
    assert again.trouble is None
    again.keep("test", held)
    again.flush()
    assert again.trouble is None
    assert HeldTests(file).recall("test") == held


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "held.sqlite"
    _kept_in(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA user_version=99")
    again = HeldTests(file)
    assert again.recall("test") is None
    assert "has version 99" in str(again.trouble)


def test_processes_that_make_a_file_at_once_all_keep_what_they_know(tmp_path: Path) -> None:
    for number in range(10):
        file = tmp_path / f"{number}.sqlite"
        begin = threading.Barrier(8)

        def keep(name: str, file: Path = file, begin: threading.Barrier = begin) -> str | None:
            tests = HeldTests(file)
            tests.keep(name, Held("conditions", {}, {"line": "holds"}, 5.0))
            begin.wait()
            tests.flush()
            return tests.trouble

        with ThreadPoolExecutor(8) as pool:
            assert not [*filter(None, pool.map(keep, map(str, range(8))))]
        assert all(HeldTests(file).recall(str(name)) for name in range(8))
