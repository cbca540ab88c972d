"""Explorations that are killed at random moments and resumed give what an undisturbed one gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

PROGRAM = """
import threading


class Counter:
    def __init__(self):
        self.value = 0
        self.other = 0
        self.lock = threading.Lock()

    def work(self, number):
        seen = self.value
        self.value = seen + 1
        with self.lock:
            self.other += 1
        if number == 2 and self.value == 1:
            raise KeyError(number)


def test():
    counter = Counter()
    threads = [threading.Thread(target=counter.work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value > 1, "lost"
"""

DRIVER = """
import json, sys
from pathlib import Path
from program import test
from bohrbug.exploration import store as stores
from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.parallel import chief

# So that much is saved in the short life of these processes.
stores.SAVE_EVERY, stores.SHARE, chief.STATE_EVERY = 0.02, 1.0, 0.02
given = json.loads(sys.argv[1])
path = Path("kept.exploration")
options = ExploreOptions(keep_going=True, seconds=None, minimise=False, **given)
target = {"kind": "function", "name": "program:test", "path": None}
subject = stores.Subject(target, "test", options)
store = stores.ExplorationStore(subject, path, resume=path.exists())
print("exploring", flush=True)
result = Explorer(test, "test", options, keeper=store).explore()
print(json.dumps({
    "executions": result.executions,
    "failures": sorted(str(f.outcome.signature()) for f in result.failures),
    "occurrences": sorted(f.occurrences for f in result.failures),
    "races": sorted(race.label for race in result.races),
    "covered": result.verdict.covered,
    "verdict": result.verdict.kind.value,
}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "driver.py").write_text(DRIVER)
    return tmp_path


def start(
    folder: Path, environment: dict[str, str], options: dict[str, Any]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "driver.py", json.dumps(options)],
        cwd=folder,
        # Names must not have another order in the next process.
        env={**environment, "PYTHONHASHSEED": "random"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    """What a process printed, or ``None`` if it was killed."""
    out, err = process.communicate(timeout=300)
    if process.returncode == -signal.SIGKILL:
        return None
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def until_done(
    folder: Path, environment: dict[str, str], options: dict[str, Any], seed: int
) -> tuple[dict[str, Any], int]:
    """Kill and resume until it is done; how it ended, and how often it was killed."""
    random = Random(seed)
    kept = folder / "kept.exploration"
    for killed in range(100):
        process = start(folder, environment, options)
        assert process.stdout is not None
        # Its life begins here: how long a start takes, differs from machine to machine.
        assert process.stdout.readline() == "exploring\n"
        # The first one dies at its very beginning; each of the others gets somewhat further.
        life = random.random() * (0.2 + killed / 4) if killed else 0.0
        try:
            process.wait(timeout=life)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        result = finish(process)
        if result is not None:
            assert not kept.exists()
            return result, killed
    raise AssertionError("it does not come to an end")


EXACT = [
    {"strategy": "dfs", "executions": 1500},
    {"strategy": "ipb", "bound": 2, "executions": 100_000},
    {"strategy": "pct", "executions": 800},
    {"strategy": "dpor", "executions": 100_000},
    {"strategy": "auto", "executions": 600},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", EXACT, ids=lambda options: options["strategy"])
def test_killed_and_resumed_is_the_same_as_undisturbed(
    folder: Path, environment: dict[str, str], options: dict[str, Any]
) -> None:
    expected = finish(start(folder, environment, options))
    assert expected is not None
    assert not (folder / "kept.exploration").exists()
    result, killed = until_done(folder, environment, options, 1)
    # How often a race was seen, and so on, may differ a little; what was found may not.
    assert result == expected
    assert killed, "it ended before it could be killed"


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["dpor", "auto", "random"])
def test_killed_and_resumed_with_workers(
    folder: Path, environment: dict[str, str], strategy: str
) -> None:
    options = {"strategy": strategy, "executions": 1200 if strategy == "dpor" else 800}
    expected = finish(start(folder, environment, options))
    assert expected is not None
    result, killed = until_done(folder, environment, {**options, "workers": 2}, 7)
    assert killed
    assert result["failures"] == expected["failures"]
    assert result["races"] == expected["races"]
    assert result["verdict"] == expected["verdict"]
    # Where executions fail, dpor may execute a graph twice, and how often depends on the order.
    if strategy == "random":
        assert result["executions"] == expected["executions"]
        assert result["occurrences"] == expected["occurrences"]
