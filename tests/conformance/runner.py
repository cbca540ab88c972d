"""Runs CPython's tests of threading and asyncio, natively and under control, and compares.

    python tests/conformance/runner.py [--seeds N] [--mode MODE] [--module M] [--test NAME] [-v]

The tests are those of the interpreter that runs this program. A test counts when
it passes natively and is not in the table of :mod:`left_out`; it passes under
control when it does so for every seed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).parent))

from child import Report
from left_out import reason_for

CHILD = Path(__file__).with_name("child.py")

MODULES = (
    "test.test_thread",
    "test.test_threading",
    "test.test_threading_local",
    "test.test_queue",
    "test.test_sched",
    "test.test_concurrent_futures.test_thread_pool",
    "test.test_concurrent_futures.test_as_completed",
    "test.test_concurrent_futures.test_future",
    "test.test_concurrent_futures.test_init",
    "test.test_concurrent_futures.test_shutdown",
    "test.test_concurrent_futures.test_wait",
    "test._test_multiprocessing",
)
"""``test.lock_tests`` has no tests of its own: ``test_thread`` and ``test_threading`` run them."""

ASYNCIO = (
    "buffered_proto",
    "context",
    "eager_task_factory",
    "futures",
    "futures2",
    "locks",
    "pep492",
    "protocols",
    "queues",
    "runners",
    "server",
    "server_context",
    "sock_lowlevel",
    "staggered",
    "streams",
    "taskgroups",
    "threads",
    "timeouts",
    "transports",
    "waitfor",
)
"""Those of asyncio's tests that take few seconds."""

ASYNCIO_SLOW = (
    "base_events",
    "events",
    "free_threading",
    "graph",
    "proactor_events",
    "selector_events",
    "sendfile",
    "ssl",
    "sslproto",
    "subprocess",
    "tasks",
    "tools",
    "unix_events",
)
"""The others, but for those of Windows."""


def module_of_asyncio(name: str) -> str:
    """The module of one of asyncio's tests."""
    return f"test.test_asyncio.test_{name}"


ALL_MODULES = (*MODULES, *map(module_of_asyncio, (*ASYNCIO, *ASYNCIO_SLOW)))

MOST_DEATHS = 12
"""Tests of a module that may hang or crash before the rest is not tried any more."""


def is_there(module: str) -> bool:
    """Whether this interpreter was installed with a test module."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _start(arguments: Sequence[str], errors: IO[str] | None = None) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    source = str(CHILD.parents[2] / "src")
    environment["PYTHONPATH"] = os.pathsep.join(
        [source, *filter(None, [environment.get("PYTHONPATH")])]
    )
    return subprocess.Popen(
        [sys.executable, str(CHILD), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
    )


def names_of(module: str) -> list[str]:
    """The names of all tests of a module."""
    process = _start([module, "native"])
    out, _ = process.communicate("")
    if process.returncode:
        raise RuntimeError(f"{module} can't be loaded, see the error above")
    return list(json.loads(out))


def run(module: str, mode: str, names: Iterable[str], seeds: Sequence[int] = ()) -> list[Report]:
    """Run tests of a module; a test that hangs or crashes costs only itself."""
    reports: list[Report] = []
    left = list(names)
    deaths = 0
    while left:
        running: tuple[str, int] | None = None
        with tempfile.TemporaryFile("w+") as errors:
            with _start([module, mode, *map(str, seeds)], errors) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write("\n".join(left))
                process.stdin.close()
                for line in process.stdout:
                    try:
                        data = json.loads(line)
                    except ValueError:
                        # Something that a test wrote.
                        continue
                    if "begin" in data:
                        running = (data["begin"], data["seed"])
                    else:
                        running = None
                        reports.append(Report(**data))
            errors.seek(0)
            stacks = errors.read()[-6000:]
        if running is None:
            break
        name, seed = running
        deaths += 1
        if deaths > MOST_DEATHS:
            reports.extend(
                Report(other, "hung", "not run", seed=seed) for other in left[left.index(name) :]
            )
            break
        reports.append(
            Report(name, "hung", f"exit status {process.returncode}\n{stacks}", seed=seed)
        )
        left = left[left.index(name) + 1 :]
    return reports


@dataclass
class Figures:
    """What came out for one module.

    Parameters:
        module: its name.
        passed: tests that pass natively and under control.
        failed: tests that pass natively only, with the reports of their failures.
        left_out: tests of the table.
        skipped: tests that don't apply here, or fail natively too.
        seconds: that each execution took.
    """

    module: str
    passed: list[str] = field(default_factory=list)
    failed: dict[str, Report] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: list[tuple[float, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Of the tests that count, how many pass under control."""
        counted = len(self.passed) + len(self.failed)
        return len(self.passed) / counted if counted else 1.0


def compare(
    module: str, seeds: Sequence[int], mode: str = "controlled", only: Sequence[str] = ()
) -> Figures:
    """Run a module's tests under control, and those that fail also natively."""
    figures = Figures(module)
    names = []
    for name in names_of(module):
        if only and name not in only:
            continue
        if reason_for(module, name) is not None and not only:
            figures.left_out.append(name)
        else:
            names.append(name)
    reports = run(module, mode, names, seeds)
    figures.seconds = [(r.seconds, r.test) for r in reports]
    failed = {r.test: r for r in reports if r.verdict in ("failed", "hung")}
    natively = {r.test: r for r in run(module, "native", failed)}
    for name in names:
        own = [r for r in reports if r.test == name]
        if name in failed:
            if natively[name].verdict == "passed":
                figures.failed[name] = failed[name]
            else:
                figures.skipped.append(name)
        elif any(r.verdict == "skipped" for r in own):
            figures.skipped.append(name)
        else:
            figures.passed.append(name)
    return figures


def main() -> int:
    """Compare everything and print a table; 1 if a module falls below 95%."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--mode", default="controlled")
    parser.add_argument("--module", action="append")
    parser.add_argument("--test", action="append", default=[])
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    modules = options.module or [module for module in ALL_MODULES if is_there(module)]
    seeds = range(options.seeds) if options.mode == "controlled" else ()
    worst = 1.0
    with ThreadPoolExecutor(2) as pool:
        compared = pool.map(
            lambda module: compare(module, seeds, options.mode, options.test), modules
        )
        for figures in compared:
            counted = len(figures.passed) + len(figures.failed)
            print(
                f"{figures.module:50} {len(figures.passed):4} of {counted:4} "
                f"({figures.share:.1%}), left out {len(figures.left_out)}, "
                f"not here {len(figures.skipped)}",
                flush=True,
            )
            if options.verbose:
                for seconds, name in sorted(figures.seconds, reverse=True)[:5]:
                    print(f"        {seconds:5.1f} s {name}")
            for name, report in sorted(figures.failed.items()):
                print(f"    {name} (seed {report.seed}): {report.verdict}")
                if options.verbose:
                    print(report.detail)
            worst = min(worst, figures.share)
    return 0 if worst >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
