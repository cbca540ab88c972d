"""What trace functions do, those of coverage tools for example, is no code of the program."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import bohrbug
from bohrbug.accelerator import native
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.control import controlled, in_tracer
from tests.programs.made_code import called_under_few_schedules

needs_native = pytest.mark.skipif(native is None, reason="Python code can't tell")

PROGRAM = """
import contextlib, threading
import bohrbug
from tests.programs.made_code import called_under_few_schedules
for guard in (threading.Lock, contextlib.nullcontext):
    result = bohrbug.explore(lambda: called_under_few_schedules(guard()))
    print(result.verdict.kind.value, result.executions, result.points, result.verdict.caveats)
"""

CORES = ["ctrace", "pytrace", *(["sysmon"] if sys.version_info >= (3, 12) else [])]


def _output(folder: Path, *arguments: str, core: str = "ctrace") -> str:
    root = Path(__file__).parents[2]
    path = os.pathsep.join((str(root / "src"), str(root)))
    (folder / "program.py").write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, *arguments, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COVERAGE_CORE": core},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


@needs_native
def test_with_coverage_all_is_as_without(tmp_path: Path) -> None:
    usual = _output(tmp_path)
    assert usual.startswith("holds ")
    assert "failed " in usual
    for core in CORES:
        assert _output(tmp_path, "-m", "coverage", "run", core=core) == usual


@needs_native
def test_locks_and_accesses_of_a_trace_function_are_none_of_the_program() -> None:
    lock, again = threading.Lock(), threading.RLock()
    shared: dict[str, int] = {}
    seen: set[object] = set()

    def trace(frame: Any, event: str, argument: Any) -> None:
        with lock, again, again:
            shared["events"] = shared.get("events", 0) + 1
        seen.add((controlled() is None, in_tracer()))

    def test() -> None:
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            called_under_few_schedules(threading.Lock())
        finally:
            sys.settrace(before)

    without = bohrbug.explore(lambda: called_under_few_schedules(threading.Lock()))
    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.executions == without.executions
    assert seen == {(True, True)}
    assert not in_tracer()


@needs_native
def test_failures_are_found_under_a_trace_function() -> None:
    def test() -> None:
        before = sys.gettrace()
        sys.settrace(lambda frame, event, argument: None)
        try:
            called_under_few_schedules(nullcontext())
        finally:
            sys.settrace(before)

    assert bohrbug.explore(test).verdict.kind is VerdictKind.FAILED


AUDITED = """
import sys, threading
import bohrbug


def hook(event, arguments, *, watched=frozenset({"os.fork"})):
    if event in watched:
        raise RuntimeError(event)


def key(item):
    return -item


def test():
    def work():
        with lock:
            items.append(4)
            items.sort(key=key)
            items.remove(4)

    items, lock = [3, 1, 2], threading.Lock()
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert items == [3, 2, 1]


sys.addaudithook(hook)
print(bohrbug.explore(test, executions=30).verdict.kind.value)
"""


@needs_native
def test_an_audit_hook_of_the_program_is_none_of_its_functions() -> None:
    """It is called for what our own code does, too: seen there, it called itself without an end."""
    done = subprocess.run(
        [sys.executable, "-c", AUDITED], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.strip() in ("holds", "no failure found"), done.stderr[-2000:]
