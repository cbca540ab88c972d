"""What suites of published libraries take with ``pytest --bohrbug``, the first and the second time.

The sources are downloaded as they were published, with their tests, and installed into one virtual
environment with this checkout.  Each suite runs without Bohrbug, then with it in a folder in which
nothing is remembered, then once more.  What the first run may take: as long as without Bohrbug,
and for each test with several tasks the seconds that it was given.  Behind a slash is the time of
the processor, which says more on a machine that has other work to do.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from environments import ROOT, default_cache


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of a library.

    Parameters:
        requirement: the library, with its version.
        tests: what pytest is given, in the folder of the sources.
    """

    requirement: str
    tests: tuple[str, ...] = ("tests",)


SUITES = (
    Suite("blinker==1.9.0"),
    Suite("boltons==26.2.0"),
    Suite("cachetools==8.0.2"),
    Suite("click==8.5.1"),
    Suite("dogpile.cache==1.5.0", ("tests/cache/test_region.py", "tests/test_lock.py")),
    Suite("itsdangerous==2.2.0"),
    Suite("janus==2.0.0"),
    Suite("jinja2==3.1.6"),
    Suite("markdown-it-py==4.3.0"),
    Suite("mistune==3.4.0"),
    Suite("more-itertools==11.2.1"),
    Suite("pluggy==1.7.0", ("testing",)),
    Suite("pyee==13.0.1"),
    Suite("sqlparse==0.6.1"),
    Suite("tenacity==9.2.1"),
    Suite("toolz==1.2.0", ("toolz",)),
    Suite("wrapt==2.5.2"),
)

NEEDED = (
    "cloudpickle freezegun hypothesis mako pympler pytest-asyncio pytest-cov pytest-regressions"
    " pytest-trio tornado trio twisted typeguard"
)
"""What the tests import beside the libraries."""

LOOPS = ("-o", "asyncio_default_fixture_loop_scope=function")
"""Else pytest-asyncio warns, which is an error in some suites."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a suite.

    Parameters:
        seconds: of real time, the start of pytest included.
        worked: seconds of the processor.
        explored, concurrent: tests that were explored, and those of them with several tasks.
        last: pytest's last line.
    """

    seconds: float
    worked: float
    explored: int
    concurrent: int
    last: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seconds", type=float, default=2.0, help="for each test")
    parser.add_argument("--suite", action="append", help="only these, by their names")
    given = parser.parse_args(arguments)
    suites = [
        suite
        for suite in SUITES
        if not given.suite or suite.requirement.partition("==")[0] in given.suite
    ]
    python = environment(given.python, given.cache)
    header = "suite", "tests", "several tasks", "plain", "first", "may take", "second"
    print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|")
    totals = [0.0] * 4
    for suite in suites:
        folder = sources(python, suite, given.cache)
        plain, first, second = _measure(python, folder, suite, given.seconds)
        most = plain.seconds + first.concurrent * given.seconds
        figures = plain.seconds, first.seconds, most, second.seconds
        totals = [total + figure for total, figure in zip(totals, figures, strict=True)]
        shown = [f"{run.seconds:.1f} / {run.worked:.1f}" for run in (plain, first, second)]
        shown.insert(2, f"{most:.1f}")
        seconds = " | ".join(shown)
        name = suite.requirement.replace("==", " ")
        print(f"| {name} | {first.explored:,} | {first.concurrent} | {seconds} |", flush=True)
        print(f"{name}: {plain.last}; {first.last}; {second.last}", file=sys.stderr)
    plain_all, first_all, most_all, second_all = totals
    print(
        f"\nall: plain {plain_all:.1f} s, first {first_all:.1f} s ({first_all / most_all:.2f} of"
        f" what it may take), second {second_all:.1f} s ({second_all / first_all:.2f} of the first)"
    )


def environment(base: Path, cache: Path) -> Path:
    """The interpreter of an environment with all suites and this checkout."""
    version = subprocess.run(
        [base, "-c", "import platform; print(platform.python_version())"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    folder = cache / f"suites-{version}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        subprocess.run([base, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-e", str(ROOT), "pytest"], check=True)
    libraries = [suite.requirement for suite in SUITES]
    subprocess.run([*pip, *libraries, *NEEDED.split()], check=True)
    return python


def sources(python: Path, suite: Suite, cache: Path) -> Path:
    """The folder with the sources of a suite, as published."""
    name = suite.requirement.replace("==", "-")
    folder = cache / "sources" / name
    if not folder.exists():
        download = ["download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        into = cache / "sources" / f"{name}.download"
        command = [python, "-m", "pip", *download, "--dest", into, suite.requirement]
        subprocess.run(command, check=True)
        (archive,) = into.iterdir()
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")
        (unpacked,) = (each for each in into.iterdir() if each.is_dir())
        unpacked.rename(folder)
        shutil.rmtree(into)
    return folder


def _measure(python: Path, folder: Path, suite: Suite, seconds: float) -> tuple[Run, Run, Run]:
    shutil.rmtree(folder / ".bohrbug", ignore_errors=True)
    # Modules are compiled before anything is measured.
    _run(python, folder, suite, "--collect-only")
    plain = _run(python, folder, suite)
    options = ("--bohrbug", f"--bohrbug-seconds={seconds:g}")
    return plain, _run(python, folder, suite, *options), _run(python, folder, suite, *options)


def _run(python: Path, folder: Path, suite: Suite, *options: str) -> Run:
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *LOOPS,
        *suite.tests,
        *options,
    ]
    variables = {**os.environ, "PYTHONHASHSEED": "0"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    worked = _processor_seconds()
    began = time.perf_counter()
    done = subprocess.run(
        command, check=False, cwd=folder, env=variables, capture_output=True, text=True
    )
    taken = time.perf_counter() - began
    found = re.search(r"([\d,]+) tests? explored(?:, ([\d,]+) of them)?", done.stdout)
    explored, concurrent = (0, 0) if found is None else (_number(found[1]), _number(found[2]))
    if found is not None and found[2] is None:
        concurrent = explored
    lines = done.stdout.strip().splitlines() or [done.stderr.strip()[-200:]]
    return Run(taken, _processor_seconds() - worked, explored, concurrent, lines[-1])


def _processor_seconds() -> float:
    """What the processes have taken that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _number(text: str | None) -> int:
    return int((text or "0").replace(",", ""))


if __name__ == "__main__":
    main()
