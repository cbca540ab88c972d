"""Explorations that are killed at random moments and resumed give what an undisturbed one gives."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
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

    def work(self, number):
        seen = self.value
        self.value = seen + 1
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
import json, os, signal, sys
from pathlib import Path
from program import test
from bohrbug.exploration import store as stores
from bohrbug.exploration.explorer import Explorer
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.parallel import chief
from bohrbug.exploration.parallel.crew import Crew
from bohrbug.runtime.threads.runtime import ThreadsRuntime

# So that much is saved in the short life of these processes.
stores.SAVE_EVERY, stores.SHARE, chief.STATE_EVERY = 0.01, 0.5, 0.01


def tell(word, content=None):
    print(json.dumps([word, content]), flush=True)


def count_down(cls, name, number, seconds):
    method = getattr(cls, name)
    left = number

    def counted(*arguments, **named):
        nonlocal left
        left -= 1
        if left == 0:
            # The kernel ends it: another process might come too late.
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        return method(*arguments, **named)

    setattr(cls, name, counted)


def explore(folder, given, number, seconds):
    os.chdir(folder)
    path = Path("kept.exploration")
    options = ExploreOptions(
        keep_going=True, seconds=None, minimise=False, causes=0, **given
    )
    target = {"kind": "function", "name": "program:test", "path": None}
    subject = stores.Subject(target, "test", options)
    store = stores.ExplorationStore(subject, path, resume=path.exists())
    if number:
        if options.workers > 1:
            count_down(Crew, "_hear", number, seconds)
        else:
            count_down(ThreadsRuntime, "execute", number, seconds)
    surroundings = Surroundings(keeper=store)
    result = explorer_of(test, "test", options, surroundings).explore()
    tell("result", {
        "executions": result.executions,
        "failures": sorted(str(f.outcome.signature()) for f in result.failures),
        "occurrences": sorted(f.occurrences for f in result.failures),
        "races": sorted(race.label for race in result.races),
        "covered": result.verdict.covered,
        "verdict": result.verdict.kind.value,
    })


# A fork costs a hundredth of a start.
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        explore(*json.loads(line))
        os._exit(0)
    tell("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Processes:
    """Starts explorations in processes of their own.

    They are forked, in turns, from two processes in which names have different orders.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        (folder / "program.py").write_text(PROGRAM)
        (folder / "driver.py").write_text(DRIVER)
        self._parents = [
            subprocess.Popen(
                [sys.executable, "driver.py"],
                cwd=folder,
                env={**environment, "PYTHONHASHSEED": seed},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for seed in ("1", "2")
        ]

    def explore(
        self,
        folder: Path,
        options: dict[str, Any],
        number: int = 0,
        seconds: float = 0.0,
    ) -> dict[str, Any] | None:
        """What came of an exploration, or ``None`` if it was killed.

        Parameters:
            folder: where it is kept.
            options: of the exploration.
            number: kill it after so many executions, or messages of workers; 0: never.
            seconds: and after so much time, so that it is in the middle of anything.
        """
        parent = self._parents[0]
        self._parents.reverse()
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(json.dumps([str(folder), options, number, seconds]) + "\n")
        parent.stdin.flush()
        result = None
        while True:
            line = parent.stdout.readline()
            assert line, "the process has ended"
            word, content = json.loads(line)
            if word == "result":
                result = content
            elif word == "ended":
                assert content == 0 or (content == -signal.SIGALRM and number), content
                return result if content == 0 else None

    def close(self) -> None:
        for parent in self._parents:
            parent.communicate()


@pytest.fixture(scope="module")
def processes(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> Iterator[Processes]:
    made = Processes(tmp_path_factory.mktemp("driver"), environment)
    yield made
    made.close()


def until_done(
    processes: Processes, folder: Path, options: dict[str, Any], seed: int, most: int
) -> tuple[dict[str, Any], int]:
    """Kill and resume until it is done; how it ended, and how often it was killed.

    Parameters:
        processes: where.
        folder: where it is kept.
        options: of the exploration.
        seed: determines when it is killed.
        most: executions, or messages of workers, in the first life; then more and more.
    """
    random = Random(seed)
    for killed in range(100):
        # The first one dies at its very beginning; each of the others gets somewhat further.
        number = random.randrange(1, most) + most * (killed - 1) if killed else 1
        result = processes.explore(folder, options, number, random.random() * 0.01)
        if result is not None:
            assert not (folder / "kept.exploration").exists()
            return result, killed
    raise AssertionError("it does not come to an end")


EXACT = [
    {"strategy": "dfs", "executions": 400},
    {"strategy": "ipb", "bound": 1, "executions": 100_000},
    {"strategy": "pct", "executions": 300},
    {"strategy": "dpor", "executions": 100_000},
    {"strategy": "auto", "executions": 250},
]


@pytest.mark.parametrize("options", EXACT, ids=lambda options: options["strategy"])
def test_killed_and_resumed_is_the_same_as_undisturbed(
    processes: Processes, tmp_path: Path, options: dict[str, Any]
) -> None:
    expected = processes.explore(tmp_path, options)
    assert expected is not None
    assert not (tmp_path / "kept.exploration").exists()
    result, killed = until_done(processes, tmp_path, options, 1, expected["executions"] // 2)
    # How often a race was seen, and so on, may differ a little; what was found may not.
    assert result == expected
    assert killed > 1, "it ended before it could be killed"


@pytest.mark.parametrize("strategy", ["dpor", "auto", "rff"])
def test_killed_and_resumed_with_workers(
    processes: Processes, tmp_path: Path, strategy: str
) -> None:
    options = {"strategy": strategy, "executions": 1_000}
    expected = processes.explore(tmp_path, options)
    assert expected is not None
    result, killed = until_done(processes, tmp_path, {**options, "workers": 2}, 7, 10)
    assert killed > 1
    assert result["failures"] == expected["failures"]
    assert result["races"] == expected["races"]
    assert result["verdict"] == expected["verdict"]
    # Where executions fail, dpor may execute a graph twice, and how often depends on the order.
    if strategy == "rff":
        assert result["executions"] == expected["executions"]
        assert result["occurrences"] == expected["occurrences"]
