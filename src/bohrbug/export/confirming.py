"""Running an exported test as its reader will, and comparing how it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from bohrbug.model.operation import Site
from bohrbug.model.outcome import Frame, Outcome, OutcomeKind
from bohrbug.model.site import site_of
from bohrbug.paths import is_standard_file

DEADLOCKS = (OutcomeKind.DEADLOCK, OutcomeKind.LEAK)
LONGEST_RUN = 60.0
"""Seconds that one run may take."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How the exported test has to fail.

    Parameters:
        exception: the name of the type, without its module; ``Deadlock`` where threads wait.
        places: file name and line of each frame that has to be in its traceback: where it was
            raised, or where the threads of a deadlock stand.
    """

    exception: str
    places: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter that exported tests are run by.

    Parameters:
        path: of it.
        version: such as ``3.11.2``.
        has_gil: it switches threads only here and there.
        has_pytest: it can import pytest.
    """

    path: str
    version: str
    has_gil: bool
    has_pytest: bool

    @property
    def name(self) -> str:
        """Such as ``Python 3.13.0 (free-threaded)``."""
        return f"Python {self.version}{'' if self.has_gil else ' (free-threaded)'}"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What runs of an exported test showed.

    Parameters:
        interpreter: what ran it.
        runs: how often.
        failed: in how many it failed as expected.
        otherwise: what the first other run did, for people.
    """

    interpreter: Interpreter
    runs: int
    failed: int
    otherwise: str = ""

    @property
    def is_sure(self) -> bool:
        """Whether it failed as expected in each run."""
        return 0 < self.runs == self.failed


_ASK = """\
import importlib.util, json, platform, sys
print(json.dumps([platform.python_version(), getattr(sys, "_is_gil_enabled", lambda: True)(),
                  importlib.util.find_spec("pytest") is not None]))
"""


def interpreter_at(path: str) -> Interpreter:
    """What there is to know of an interpreter.

    Raises:
        ValueError: there is none.
    """
    try:
        run = subprocess.run([path, "-c", _ASK], capture_output=True, timeout=60, check=True)
        version, has_gil, has_pytest = json.loads(run.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ValueError(f"{path} is not a Python interpreter: {error}") from error
    return Interpreter(path, version, has_gil, has_pytest)


def expected_of(outcome: Outcome) -> Expected:
    """How a test that fails like this has to fail with ordinary threads.

    Of a stack counts the innermost line outside of the standard library, whose lines differ between
    versions of Python.
    """
    if outcome.kind in DEADLOCKS:
        sites = [
            _innermost(blocked.stack) or site_of(blocked.operation.place)
            for blocked in outcome.blocked
        ]
        return Expected("Deadlock", tuple(_place(site) for site in sites if site is not None))
    raised = _innermost(outcome.stack)
    name = (outcome.exception or "").rpartition(".")[2]
    return Expected(name, () if raised is None else (_place(raised),))


def _innermost(stack: Sequence[Frame]) -> Site | None:
    sites = [frame.site for frame in stack]
    outside = [site for site in sites if not is_standard_file(site.filename)]
    return next(reversed(outside or sites), None)


def _place(site: Site) -> tuple[str, int]:
    return PurePath(site.filename).name, site.line


def confirm(file: Path, expected: Expected, interpreter: Interpreter, runs: int) -> Confirmation:
    """Run an exported test.

    Parameters:
        file: the exported test.
        expected: how it has to fail.
        interpreter: to run it by, with pytest if it has that.
        runs: how often.
    """
    failed, otherwise = 0, ""
    for _ in range(runs):
        difference = difference_from(expected, *_run(file, interpreter))
        if difference is None:
            failed += 1
        else:
            otherwise = otherwise or difference
    return Confirmation(interpreter, runs, failed, otherwise)


_WITH_PYTEST = ("-m", "pytest", "-q", "--tb=native", "-o", "addopts=", "-p", "no:cacheprovider")


def _run(file: Path, interpreter: Interpreter) -> tuple[int, str]:
    """One run: its exit code and what it printed; -1 if it had to be ended."""
    arguments = [*_WITH_PYTEST, "-p", "no:bohrbug"] if interpreter.has_pytest else []
    command = [interpreter.path, *arguments, str(file)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        printed, _ = process.communicate(timeout=LONGEST_RUN)
    except subprocess.TimeoutExpired:
        process.kill()
        printed, _ = process.communicate()
        return -1, printed.decode("utf-8", "replace")
    return process.returncode, printed.decode("utf-8", "replace")


_FRAME = re.compile(r'File "([^"]*)", line (\d+)')
_RAISED = re.compile(r"^(?:[EF] +)?((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::|$)", re.MULTILINE)
_NOT_FORCED = re.compile(r"NotForced: (.*)")


def difference_from(expected: Expected, code: int, printed: str) -> str | None:
    """What a run did in place of failing as expected, for people; ``None`` if it did.

    Parameters:
        expected: how it has to fail.
        code: its exit code.
        printed: all that it printed.
    """
    if code == 0:
        return "it passed"
    if code == -1:
        return f"it had not ended after {LONGEST_RUN:.0f} s"
    missed = _NOT_FORCED.search(printed)
    if missed is not None:
        return missed.group(1).strip()
    names = {name.rpartition(".")[2] for name in _RAISED.findall(printed)}
    if expected.exception not in names:
        last = [line for line in printed.splitlines() if line.strip()][-1:]
        return f"it failed without {expected.exception}: {''.join(last).strip()[:200]}"
    frames = {(PurePath(name).name, int(line)) for name, line in _FRAME.findall(printed)}
    missing = [place for place in expected.places if place not in frames]
    if missing:
        name, line = missing[0]
        return f"{expected.exception} came, but not from {name}:{line}"
    return None
