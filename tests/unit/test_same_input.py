"""Random numbers and dates are the same in each execution, unless the real ones are asked for."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from bohrbug.runtime.threads.temporary_names import NamesOfAnExecution
from tests.programs.together import together

INPUTS: dict[str, Callable[[], object]] = {
    "urandom": lambda: os.urandom(8),
    "getrandom": lambda: getattr(os, "getrandom", os.urandom)(8),
    "token": secrets.token_hex,
    "system random": lambda: random.SystemRandom().random(),
    "generator": lambda: random.Random().random(),
    "seeded anew": lambda: (random.seed(), random.random()),
    "name of a file": tempfile.mktemp,
    "uuid1": lambda: (uuid.uuid1(), uuid.uuid1()),
    "uuid4": uuid.uuid4,
    "now": lambda: datetime.datetime.now(),
    "now in UTC": lambda: datetime.datetime.now(datetime.UTC),
    "today": datetime.date.today,
    "local time": lambda: time.strftime("%c", time.localtime()),
    "formatted": lambda: (time.strftime("%X"), time.ctime(), time.asctime(), time.gmtime()),
    "clocks": lambda: (time.process_time(), time.thread_time_ns(), time.clock_gettime(0)),
}


def _seen(ask: Callable[[], object], **options: object) -> list[object]:
    """What two tasks were told, in each of some executions under the same schedule."""
    seen: list[object] = []

    def test() -> None:
        together(lambda: seen.append((ask(), ask())), lambda: None)

    result = bohrbug.explore(test, executions=5, level="sync", strategy="random", **options)  # type: ignore[arg-type]
    assert result.verdict.kind is not VerdictKind.FAILED, result.failures
    return seen


@pytest.mark.parametrize("name", INPUTS)
def test_each_execution_is_told_the_same(name: str) -> None:
    seen = _seen(INPUTS[name])
    assert len(seen) > 1
    assert len({repr(each) for each in seen}) == 1


@pytest.mark.parametrize("name", ["urandom", "token", "system random", "generator", "uuid4"])
def test_one_execution_is_not_told_the_same_twice(name: str) -> None:
    first, second = _seen(INPUTS[name])[0]  # type: ignore[misc]
    assert first != second


@pytest.mark.parametrize("name", ["urandom", "token", "system random", "generator", "uuid4"])
def test_what_is_real_differs(name: str) -> None:
    seen = _seen(INPUTS[name], entropy="real")
    assert len({repr(each) for each in seen}) == len(seen)


def test_the_verdict_names_the_condition() -> None:
    result = bohrbug.explore(lambda: None, entropy="real")
    assert "entropy real" in str(result.verdict.conditions)


def test_dates_are_of_virtual_time() -> None:
    def test() -> None:
        assert abs(datetime.datetime.now().timestamp() - time.time()) < 1
        before = datetime.datetime.now(datetime.UTC)
        time.sleep(3600)
        after = datetime.datetime.now(datetime.UTC)
        assert datetime.timedelta(hours=1) <= after - before < datetime.timedelta(hours=1.1)

        class Own(datetime.datetime):
            pass

        assert type(Own.now()) is Own

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.failures


def test_afterwards_everything_is_real_again() -> None:
    functions = (os.urandom, random.seed, time.localtime, time.clock_gettime)
    names = [function.__module__ for function in functions]
    bohrbug.explore(lambda: (os.urandom(1), uuid.uuid1()))
    assert [function.__module__ for function in functions] == names
    assert type(datetime.datetime.__dict__["now"]) is not classmethod
    assert uuid._generate_time_safe is None or callable(uuid._generate_time_safe)  # type: ignore[attr-defined]
    assert random.Random().random() != random.Random().random()
    assert abs(datetime.datetime.now().timestamp() - time.time()) < 60


def _make_folder() -> str:
    return tempfile.mkdtemp(prefix="left-")


def _make_file() -> str:
    descriptor, path = tempfile.mkstemp(suffix=".left")
    os.close(descriptor)
    return path


def _make_file_in_bytes() -> bytes:
    descriptor, path = tempfile.mkstemp(b".left", b"in-bytes-")
    os.close(descriptor)
    return path


@pytest.mark.parametrize("make", [_make_folder, _make_file, _make_file_in_bytes])
def test_temporary_files_that_executions_leave_behind_are_passed_over(
    make: Callable[[], str | bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: no try of the program fails."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "TMP_MAX", 1)
    made: list[str | bytes] = []
    result = bohrbug.explore(lambda: together(lambda: made.append(make())), executions=5)
    assert not result.failures
    assert len(set(made)) == len(made) > 1


def test_other_processes_draw_other_names_of_temporary_files() -> None:
    """So that none meets what another one makes at the same time."""
    script = (
        "import bohrbug, tempfile; bohrbug.explore(lambda: print(tempfile.mktemp()), executions=1)"
    )
    command = [sys.executable, "-c", script]
    names = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(names) == 2


def test_a_forked_child_draws_other_names_of_temporary_files() -> None:
    names = NamesOfAnExecution()
    mine = next(names)
    reading, writing = os.pipe()
    if not os.fork():
        os.write(writing, next(NamesOfAnExecution()).encode())
        os._exit(0)
    os.wait()
    os.close(writing)
    with open(reading) as pipe:
        assert pipe.read() not in ("", mine)
    assert next(NamesOfAnExecution()) == mine


def test_streams_that_tasks_leave_redirected_are_put_back() -> None:
    before = sys.stdout

    def redirect_twice() -> None:
        def write() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                print("kept")

        together(write, write)
        assert sys.stdout is before

    result = bohrbug.explore(redirect_twice)
    assert result.failures
    assert sys.stdout is before


@pytest.mark.parametrize("ends_early", [False, True])
def test_context_variables_are_the_same_in_each_execution(ends_early: bool) -> None:
    depth = ContextVar("depth", default=0)
    seen = []

    def test() -> None:
        seen.append(depth.get())
        depth.set(depth.get() + 1)
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        assert not ends_early

    depth.set(7)
    try:
        result = bohrbug.explore(test, keep_going=True, executions=5)
    finally:
        assert depth.get() == 7
    assert bool(result.failures) is ends_early
    assert len(seen) > 1
    assert set(seen) == {7}
