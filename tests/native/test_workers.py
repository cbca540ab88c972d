"""Explorations of native programs by several processes, and such that are killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from tests.native.test_command_line import SOURCE, bohrbug

Build = Callable[..., Path]

SCHEDULES = 811
"""Of orders.c with OPPOSITE, at the level sync; 10 of them deadlock."""

DRIVER = """
import os, sys
from bohrbug.exploration import store as stores
from bohrbug.exploration.parallel import chief
from bohrbug.exploration.parallel.crew import Crew
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.cli import main

# So that much is saved in the short life of this process.
stores.SAVE_EVERY, stores.SHARE, chief.STATE_EVERY = 0.02, 1.0, 0.02

# It sends the signal to itself: another process might be too late, or too early.
number, left, name, *words = sys.argv[1:]
cls = {"_hear": Crew, "execute": NativeRuntime}[name]
method, left = getattr(cls, name), int(left)


def counted(*arguments, **named):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), int(number))
    return method(*arguments, **named)


setattr(cls, name, counted)
sys.argv[1:] = words
main()
"""


def explored(program: Path, workers: int, **options: Any) -> Result:
    settings = {
        "level": "sync",
        "strategy": "dfs",
        "keep_going": True,
        "minimise": False,
        # Directed executions would be counted, too.
        "predict": 0,
    }
    explorer, _ = native_explorer(
        Command((str(program),), exit_code=0),
        ExploreOptions(workers=workers, seconds=120.0, **{**settings, **options}),
    )
    return explorer.explore()


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_execute_all_schedules_once(native_build: Build, workers: int) -> None:
    result = explored(native_build("orders.c", "-DOPPOSITE"), workers)
    # One that had not followed its plan would be executed, and counted, once more.
    assert not result.diverged, result.verdict
    # One more is the first execution, from which is learnt what is expected.
    assert result.executions == SCHEDULES + 1, result.verdict
    assert [failure.occurrences for failure in result.failures] == [10]
    assert not result.notices


def test_a_worker_finds_the_failure(native_build: Build) -> None:
    program = native_build("if_for_while.c")
    result = explored(program, 2, strategy="random", level="racy", keep_going=False, seed=3)
    (failure,) = result.failures
    assert failure.confirmed >= 1
    alone = explored(program, 1, strategy="random", level="racy", keep_going=False, seed=3)
    assert alone.failures[0].outcome == failure.outcome


def test_what_one_worker_prints_is_not_seen_by_another(native_build: Build) -> None:
    program = native_build("orders.c", "-DPRINTS")
    explorer, _ = native_explorer(
        Command((str(program),), same_output=True),
        ExploreOptions(level="sync", strategy="random", workers=2, executions=400, seconds=60.0),
    )
    assert explorer.explore().verdict.kind is VerdictKind.NO_FAILURE_FOUND


def run_until(
    number: signal.Signals, calls: int, method: str, folder: Path, *arguments: str
) -> None:
    """Run the command line until a signal ends it.

    Parameters:
        number: of the signal.
        calls: before it.
        method: that is called: ``execute`` of the runtime, ``_hear`` of the crew of workers.
        folder: where.
        arguments: of the command line.
    """
    (folder / "driver.py").write_text(DRIVER)
    ended = subprocess.run(
        [sys.executable, "driver.py", str(int(number)), str(calls), method, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    expected = -number if number is signal.SIGKILL else ended.returncode
    assert ended.returncode == expected, ended.stdout + ended.stderr
    assert list(folder.glob(".bohrbug/*.exploration")), ended.stdout + ended.stderr


def running(program: Path) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(folder / "exe")) == program:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_goes_on_after_a_signal(
    native_build: Build, tmp_path: Path, number: signal.Signals, workers: str
) -> None:
    program = native_build("orders.c", "-DOPPOSITE")
    options = ["--level=sync", "--strategy=dfs", "--keep-going", "--no-minimise", "--predict=0"]
    command = ["run", "-q", "--json", "-j", workers, "--seconds=none", *options, "--"]
    calls, method = (SCHEDULES // 2, "execute") if workers == "1" else (10, "_hear")
    run_until(number, calls, method, tmp_path, *command, str(program))
    # None is left behind that nobody would ever end.
    wait_until(lambda: not running(program))
    resumed = bohrbug(tmp_path, "resume", "--json")
    assert resumed.returncode == 1, resumed.stderr
    found = json.loads(resumed.stdout)
    assert found["executions"] == SCHEDULES + 1
    assert [failure["occurrences"] for failure in found["failures"]] == [10]
    assert not list(tmp_path.glob(".bohrbug/*.exploration"))


def test_a_program_that_was_built_anew_is_not_gone_on_with(
    native_build: Build, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_bytes(native_build("orders.c", "-DSEMAPHORE").read_bytes())
    program.chmod(0o755)
    command = ["run", "-q", "--strategy=dfs", "--seconds=none", "--", str(program)]
    run_until(signal.SIGINT, 100, "execute", tmp_path, *command)
    with program.open("ab") as file:
        file.write(b"\0")
    resumed = bohrbug(tmp_path, "resume")
    assert resumed.returncode == 2
    assert "program has changed" in resumed.stderr
