"""``bohrbug replay --gdb``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bohrbug.cli import native
from bohrbug.exploration.reproduction import read_reproduction
from bohrbug.model.plan import Plan
from bohrbug.runtime.posix import gdb
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.runtime import NativeRuntime

from .test_command_line import bohrbug

Build = Callable[..., Path]


def saved(program: Path, folder: Path, script: str) -> str:
    """A reproduction file, made by stepping."""
    result = bohrbug(folder, "step", "--", str(program), stdin=f"{script}save made.json\n")
    assert "wrote" in result.stdout, result.stdout + result.stderr
    return "made.json"


def test_the_script_stops_at_each_preemption_and_at_the_end() -> None:
    script = gdb.gdb_script(
        {"LD_PRELOAD": "/the/shim.so"}, [(3, "back\\slash"), (7, "second")], "it ends"
    )
    lines = script.splitlines()
    assert "set environment LD_PRELOAD /the/shim.so" in lines
    assert [line.split()[-1] for line in lines if "bohrbug_hands_over if" in line] == ["3", "7"]
    assert "echo \\nback\\\\slash\\n" in lines
    assert "echo \\nit ends\\n" in lines
    assert lines[-1] == "run"
    assert lines.count("commands") == 3


def test_a_missing_gdb_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match="install it"):
        gdb.gdb_path()


def test_an_old_gdb_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "gdb"
    old.write_text("#!/bin/sh\necho GNU gdb '(Debian 10.1-1.7)' 10.1.90\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(UnsupportedError, match="gdb 12 or newer"):
        gdb.gdb_path()


@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
def test_gdb_stops_where_a_task_is_preempted(native_build: Build, tmp_path: Path) -> None:
    file = saved(native_build("lock_order.c"), tmp_path, "next 2\n0.1\n0.1\n0.2\n0.2\n")
    commands = "backtrace\ncontinue\ncontinue\nthread apply all backtrace\ncontinue\nquit\n"
    result = bohrbug(tmp_path, "replay", "--gdb", "--trust", file, stdin=commands)
    assert result.returncode == 0, result.stderr
    out = result.stdout
    assert "Step 3: task 0 (main) is preempted here" in out
    assert "Step 5: task 0.1 (forwards) is preempted here, before its acquire of mutex" in out
    assert "then task 0.2 (backwards) begins." in out
    assert "pthread_mutex_lock(&right);" in out
    assert "The execution is ended here: Deadlock: 2 tasks wait for each other" in out
    # In the stacks of all threads, without the shim.
    assert "backwards (unused=" in out.partition("is ended here")[2]
    assert "exited normally" in out


@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
def test_gdb_follows_child_processes(native_build: Build, tmp_path: Path) -> None:
    program = str(native_build("shared_mutexes.c"))
    found = bohrbug(tmp_path, "run", "-q", "--", program)
    assert found.returncode == 1, found.stdout
    (file,) = (tmp_path / ".bohrbug").glob("*.json")
    result = bohrbug(tmp_path, "replay", "--gdb", str(file), stdin="continue\n" * 5 + "quit\n")
    assert result.returncode == 0, result.stderr
    assert "is preempted here, before its acquire of mutex" in result.stdout
    assert "The execution is ended here: Deadlock" in result.stdout


@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
def test_gdb_stops_at_the_end_of_a_thread(native_build: Build, tmp_path: Path) -> None:
    script = "next 2\n" + "0.1\n" * 7 + "0.2\n"
    file = saved(native_build("lock_order.c"), tmp_path, script)
    result = bohrbug(
        tmp_path, "replay", "--gdb", "--trust", file, stdin="continue\n" * 5 + "quit\n"
    )
    assert "is preempted here, before its end" in result.stdout
    # It has no frame of the program.
    assert "cannot go up" not in result.stdout + result.stderr


def test_gdb_is_for_native_programs(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('hello')\n")
    bohrbug(tmp_path, "step", "script.py", stdin="save made.json\n")
    result = bohrbug(tmp_path, "replay", "--gdb", "made.json")
    assert result.returncode == 2
    assert "for Python tests use --pdb" in result.stderr


def test_gdb_gets_the_accesses_that_are_scheduling_points(
    native_build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = native_build("lock_order.c")
    file = tmp_path / saved(program, tmp_path, "")
    monkeypatch.chdir(tmp_path)
    point = (str(program), "", 0, 4711)
    lent: list[object] = []
    monkeypatch.setattr(NativeRuntime, "lend", lambda self, *_: lent.extend(self.point_keys()))
    monkeypatch.setattr(native, "gdb_path", lambda: "gdb")
    native.debug_native(replace(read_reproduction(file), points=(point,)))
    assert lent == [point]


def test_gdb_gets_the_conditions_of_the_file(
    native_build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = native_build("lock_order.c")
    file = tmp_path / saved(program, tmp_path, "")
    monkeypatch.chdir(tmp_path)
    lent: list[Plan] = []
    monkeypatch.setattr(NativeRuntime, "lend", lambda _, plan, __: lent.append(plan))
    monkeypatch.setattr(native, "gdb_path", lambda: "gdb")
    reproduction = read_reproduction(file)
    options = replace(reproduction.options, memory="tso", timeouts="late")
    native.debug_native(replace(reproduction, options=options))
    (plan,) = lent
    assert plan.conditions == options.conditions()
    assert (plan.conditions.memory, plan.conditions.late_timeouts) == ("tso", True)
