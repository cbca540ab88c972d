"""``bohrbug run -- PROGRAM`` and ``bohrbug replay`` of what it wrote."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Build = Callable[..., Path]
SOURCE = Path(__file__).parent.parent.parent / "src"


def bohrbug(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "bohrbug", *arguments],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_deadlock_is_reported_and_replayed(native_build: Build, tmp_path: Path) -> None:
    result = bohrbug(tmp_path, "run", "-q", "--", str(native_build("lock_order.c")))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "2 tasks wait for each other" in result.stdout
    assert "mutex left" in result.stdout
    assert "mutex right" in result.stdout
    assert "reproduced in 3 of 3 replays" in result.stdout
    (file,) = (tmp_path / ".bohrbug").glob("*.json")
    replayed = bohrbug(tmp_path, "replay", "--times", "5", str(file))
    assert replayed.returncode == 1
    assert "reproduced in 5 of 5 replays" in replayed.stdout


def test_stacks_and_places_name_lines_of_the_source(native_build: Build, tmp_path: Path) -> None:
    result = bohrbug(tmp_path, "run", "-q", "--", str(native_build("if_for_while.c")))
    assert result.returncode == 1
    assert "Assertion `items > 0' failed" in result.stdout
    assert "if_for_while.c:" in result.stdout
    assert "consumer" in result.stdout


def test_a_correct_program_exits_with_0(native_build: Build, tmp_path: Path) -> None:
    program = str(native_build("lock_order.c", "-DFIXED"))
    result = bohrbug(tmp_path, "run", "-q", "--strategy=dfs", "--executions=20", "--", program)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("flags", "options", "hinted"),
    [([], [], True), (["-fsanitize=thread"], [], False), ([], ["--level=sync"], False)],
)
def test_who_sees_no_memory_is_told_how_to(
    native_build: Build, tmp_path: Path, flags: list[str], options: list[str], hinted: bool
) -> None:
    program = str(native_build("lock_order.c", "-DFIXED", *flags))
    result = bohrbug(tmp_path, "run", "--executions=5", *options, "--", program)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ("data races and atomics were not seen" in result.stdout) == hinted


def test_the_result_as_json(native_build: Build, tmp_path: Path) -> None:
    result = bohrbug(tmp_path, "run", "--json", "--", str(native_build("use_after_free.c")))
    data = json.loads(result.stdout)
    assert data["failures"][0]["kind"] == "crash"
    assert data["failures"][0]["exception"] == "SIGSEGV"
    assert data["exit_code"] == 1


def test_an_address_is_told_of_faults_only(native_build: Build, tmp_path: Path) -> None:
    sent = bohrbug(tmp_path, "run", "--", "sh", "-c", "kill -SEGV $$").stdout
    assert "died of SIGSEGV" in sent
    # What stands there in its place is who has sent it.
    assert "at address" not in sent
    faulty = str(native_build("reads_an_address.c"))
    assert "at address 0x1234 " in bohrbug(tmp_path, "run", "--", faulty, "0x1234").stdout
    if platform.machine() == "x86_64":
        # No address that the processor would look up.
        other = bohrbug(tmp_path, "run", "--", faulty, "0xdead000000000000").stdout
        assert "died of SIGSEGV" in other
        assert "at address" not in other


def test_the_exit_code_of_the_first_execution_is_expected(tmp_path: Path) -> None:
    result = bohrbug(tmp_path, "run", "-q", "--executions=3", "--", "sh", "-c", "exit 28")
    assert result.returncode == 0, result.stdout
    result = bohrbug(
        tmp_path, "run", "-q", "--executions=3", "--exit-code=0", "--", "sh", "-c", "exit 28"
    )
    assert result.returncode == 1
    assert "exit code 28 instead of 0" in result.stdout


def test_a_check_is_run_after_each_execution(tmp_path: Path) -> None:
    script = "(echo a >> out) & (echo b >> out); wait"
    result = bohrbug(
        tmp_path,
        "run",
        "-q",
        "--check=head -1 out | grep -q b && rm out",
        "--strategy=random",
        "--",
        "sh",
        "-c",
        f"rm -f out; {script}",
    )
    assert result.returncode == 1, result.stdout + result.stderr
    assert "the check exits with 1" in result.stdout


def test_the_same_output_can_be_asked_for(tmp_path: Path) -> None:
    script = "(echo child) & echo parent; wait"
    result = bohrbug(tmp_path, "run", "-q", "--same-output", "--", "sh", "-c", script)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "the output differs from that of the first execution" in result.stdout


def test_every_execution_reads_standard_input_from_its_beginning(tmp_path: Path) -> None:
    words = ["run", "-q", "-v", "--executions=3", "--", "cat"]
    result = bohrbug(tmp_path, *words, stdin="hello\n")
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert lines.count("hello") == int(lines[-1].split()[0]) > 0, result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "no-such-program"], "there is no program no-such-program"),
        (["--", "./plain"], "./plain may not be executed: chmod +x ./plain"),
        (["--", "their-server"], "not on the PATH; for the one in this folder: ./their-server"),
        (["--", "./pool.c"], "./pool.c is source; compile it, and explore the program: cc -g"),
    ],
)
def test_what_is_no_program_is_refused(tmp_path: Path, words: list[str], message: str) -> None:
    for name in ("plain", "their-server", "pool.c"):
        (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / "their-server").chmod(0o755)
    result = bohrbug(tmp_path, "run", *words)
    assert result.returncode == 2
    assert message in result.stderr


def test_a_static_program_is_refused(native_build: Build, tmp_path: Path) -> None:
    program = native_build("lock_order.c", "-static")
    result = bohrbug(tmp_path, "run", "--", str(program))
    assert result.returncode == 2
    assert "linked statically" in result.stderr


def test_a_python_script_after_the_dashes_is_still_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('hello')\n")
    result = bohrbug(tmp_path, "run", "-q", "--", "script.py")
    assert result.returncode == 0, result.stdout + result.stderr


def test_options_of_native_programs_are_refused_for_python(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('hello')\n")
    result = bohrbug(tmp_path, "run", "--check=true", "script.py")
    assert result.returncode == 2
    assert "native programs" in result.stderr
