"""How ``pytest --bohrbug`` is told what to do: markers, options, settings."""

from __future__ import annotations

import pytest

from .conftest import Folder
from .programs import LOST_UPDATE


def test_markers(folder: Folder) -> None:
    folder.write(
        "test_marked.py",
        LOST_UPDATE.replace(
            "def test_add", "import pytest\n@pytest.mark.bohrbug(executions=1)\ndef test_add"
        )
        + "\ndef test_unmarked(): pass\n",
    )
    done = folder.pytest("--bohrbug", "--bohrbug-executions=100", "--strict-markers")
    assert done.code == 0, "one execution, without preemptions, finds nothing"
    done = folder.pytest("--bohrbug", "-m", "bohrbug")
    assert "1 deselected" in done.out
    assert folder.pytest("--strict-markers", "-q").code == 0
    assert "bohrbug(strategy=..., executions=..., ...)" in folder.pytest("--markers").out


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("bohrbug(exekutions=1)", "there is no option 'exekutions'"),
        ("bohrbug(executions='many')", "executions must be a whole number or 'none', not 'many'"),
        ("bohrbug(strategy='luck')", "strategy must be one of auto, bpor, dfs"),
        ("bohrbug(executions=0)", "executions must be at least 1, not 0"),
        ("bohrbug(5)", "takes named options only"),
        ("bohrbug(invariant=5)", "invariant must be a function"),
    ],
)
def test_a_marker_that_makes_no_sense(folder: Folder, marker: str, message: str) -> None:
    folder.write("test_it.py", f"import pytest\n@pytest.mark.{marker}\ndef test_it(): pass\n")
    done = folder.pytest("--bohrbug")
    assert done.code == 4, done.out
    assert message in done.err
    assert "test_it.py::test_it" in done.err


def test_an_invariant_in_a_marker(folder: Folder) -> None:
    folder.write(
        "test_invariant.py",
        """
        import threading
        import pytest
        values = []
        @pytest.fixture(autouse=True)
        def clean(): values.clear()
        @pytest.mark.bohrbug(invariant=lambda: len(values) < 2)
        def test_it():
            threads = [threading.Thread(target=values.append, args=(n,)) for n in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        """,
    )
    done = folder.pytest("--bohrbug")
    assert done.code == 1, done.out
    assert "invariant" in done.out


def test_options_by_their_ranks(folder: Folder) -> None:
    folder.write("test_it.py", LOST_UPDATE)
    folder.write(
        "pyproject.toml",
        """
        [tool.bohrbug]
        executions = 1
        [tool.pytest.ini_options]
        """,
    )
    assert folder.pytest("--bohrbug").code == 0, "the table"
    assert folder.pytest("--bohrbug", "-o", "bohrbug_executions=100").code == 1, "the ini file"
    done = folder.pytest("--bohrbug", "-o", "bohrbug_executions=100", "--bohrbug-executions=1")
    assert done.code == 0, "the command line"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bohrbug", "--bohrbug-bound=many"], "--bohrbug-bound must be a whole number"),
        (["--bohrbug", "--bohrbug-strategy=luck"], "--bohrbug-strategy must be one of"),
        (["--bohrbug", "-o", "bohrbug_seed=x"], "bohrbug_seed must be a whole number"),
        (["--bohrbug-replay=missing.json"], "missing.json: No such file"),
    ],
)
def test_an_option_that_makes_no_sense(folder: Folder, arguments: list[str], message: str) -> None:
    folder.write("test_it.py", "def test_it(): pass\n")
    done = folder.pytest(*arguments)
    assert done.code == 4, done.out
    assert message in done.err


def test_colour(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE)
    assert "\x1b[" not in folder.pytest("--bohrbug").out
    assert "\x1b[" in folder.pytest("--bohrbug", "--color=yes").out
    assert "\x1b[" not in folder.pytest("--bohrbug", NO_COLOR="1").out


def test_a_suite_without_concurrent_tests_loads_no_search(folder: Folder) -> None:
    """Nor what reduces, explains and shows failures, however long its tests take."""
    folder.write(
        "test_modules.py",
        """
        import sys
        def test_takes_longer_than_progress_waits():
            for _ in range(8_000_000):
                pass
        def test_modules():
            rare = ("search.registry", "search.dpor", "exploration.minimisation.causes")
            rare += ("exploration.follow_up", "exploration.parallel", "report.text", "report.html")
            assert not {f"bohrbug.{name}" for name in rare} & set(sys.modules)
        """,
    )
    done = folder.pytest("--bohrbug", "-p", "no:xdist")
    assert done.code == 0, done.out
    assert "2 tests explored" in done.out


def test_nothing_is_loaded_without_the_option(folder: Folder) -> None:
    folder.write(
        "test_modules.py",
        """
        import sys, threading, _thread
        def test_modules():
            # So does freezegun.
            for module in list(sys.modules.values()):
                if module.__name__.startswith("bohrbug"):
                    for name in dir(module):
                        getattr(module, name)
            loaded = {"greenlet", "bytecode", "rich", "click"} & set(sys.modules)
            assert not loaded
            ours = {name for name in sys.modules if name.startswith("bohrbug")}
            options = ("live_options", "message_options")
            plugin = {"bohrbug.pytest_plugin", *map("bohrbug.pytest_plugin.{}".format, options)}
            entry = {name for name in ours if name.startswith("bohrbug_entry")}
            assert ours - entry <= {"bohrbug", "bohrbug.settings", "bohrbug.paths", *plugin}
            assert type(threading.Lock()) is _thread.LockType
            assert _thread.LockType.__module__ == "_thread"
        """,
    )
    done = folder.pytest("-p", "no:xdist")
    assert done.code == 0, done.out


def test_what_the_table_says_of_native_programs_is_passed_over(folder: Folder) -> None:
    folder.write("pyproject.toml", '[tool.bohrbug]\nmemory = "tso"\nexecutions = 50\n')
    folder.write("test_counter.py", LOST_UPDATE)
    assert folder.pytest("--bohrbug").code == 1
    # Failing schedules are remembered, whatever the memory of native programs is called.
    assert "found by a remembered schedule" in folder.pytest("--bohrbug", "--bohrbug-again").out
