"""Explorations by several worker processes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bohrbug.api import explore
from bohrbug.exploration.explorer import BEFORE_WORKERS
from bohrbug.exploration.parallel import worker
from bohrbug.exploration.result import Result, VerdictKind
from tests.end_to_end.conftest import Folder
from tests.programs.together import together

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


class Counter:
    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()

    def add(self) -> None:
        seen = self.value
        with self.lock:
            pass
        self.value = seen + 1


class Plain:
    """A counter without any lock."""

    def __init__(self) -> None:
        self.value = 0

    def add(self) -> None:
        seen = self.value
        self.value = seen + 1


def loses_some() -> None:
    counter = Counter()
    together(*[counter.add] * 3)
    assert counter.value > 1


def four_add() -> None:
    counter = Counter()
    together(*[counter.add] * 4)
    assert counter.value > 1


def keeps() -> None:
    counter = Counter()
    together(*[counter.add] * 2)


def signatures(result: Result) -> list[str]:
    return sorted(str(failure.outcome.signature()) for failure in result.failures)


def run(test: Callable[[], object], workers: int, **options: Any) -> Result:
    fixed = {"seconds": None, "workers": workers, "minimise": False, "causes": 0}
    return explore(test, **{**fixed, **options})


@pytest.mark.parametrize("strategy", ["dfs", "ipb", "dpor", "bpor", "auto"])
def test_an_exhausted_exploration_finds_the_same(strategy: str) -> None:
    options = {"strategy": strategy, "bound": None, "executions": 100_000, "keep_going": True}
    alone = run(keeps, 1, **options)
    for workers in (2, 3):
        together = run(keeps, workers, **options)
        assert together.verdict.kind is alone.verdict.kind is VerdictKind.HOLDS
        assert signatures(together) == signatures(alone)
        assert {race.label for race in together.races} == {race.label for race in alone.races}
        if strategy in ("dfs", "dpor", "bpor"):
            assert together.verdict == alone.verdict
            assert together.executions == alone.executions


@pytest.mark.parametrize("strategy", ["random", "pct", "pos", "surw", "rff"])
def test_the_same_plans_are_executed_whatever_the_number(strategy: str) -> None:
    options = {"strategy": strategy, "executions": 200, "keep_going": True}
    results = [run(loses_some, workers, **options) for workers in (1, 2, 3)]
    assert len({result.executions for result in results}) == 1
    assert len({str(result.verdict) for result in results}) == 1
    occurrences = [[failure.occurrences for failure in result.failures] for result in results]
    assert occurrences[0]
    assert occurrences == [occurrences[0]] * 3


def loses_in_four_ways() -> None:
    counter = Counter()
    together(*[counter.add] * 5)
    if counter.value < 5:
        raise (KeyError, ValueError, IndexError, AttributeError)[counter.value - 1]()


def test_a_portfolio_that_is_cut_short_finds_the_same() -> None:
    options = {"strategy": "auto", "executions": 250, "keep_going": True}
    found = [signatures(run(loses_in_four_ways, workers, **options)) for workers in (1, 3)]
    assert len(found[0]) == 4
    assert found[1] == found[0]


def orders_locks_rarely() -> None:
    """Takes two locks in both orders, one after the other, in one schedule of 30 or so."""
    counter = Plain()
    one, two = threading.Lock(), threading.Lock()
    done = threading.Event()

    def first() -> None:
        counter.add()
        if counter.value == 4:
            with one, two:
                pass
        done.set()

    def second() -> None:
        counter.add()
        done.wait()
        with two, one:
            pass

    together(first, second, counter.add, counter.add)


def test_the_same_deadlocks_are_predicted() -> None:
    options = {"strategy": "random", "seed": 1, "keep_going": True}
    assert not run(orders_locks_rarely, 1, executions=BEFORE_WORKERS, **options).unconfirmed
    for workers in (1, 2):
        result = run(orders_locks_rarely, workers, executions=600, **options)
        assert len(result.unconfirmed) == 1
        assert result.executions == 600


def test_the_first_failure_of_the_sequence_is_reported() -> None:
    plans = set()
    for workers in (1, 2, 3):
        result = run(loses_some, workers, strategy="random", seed=30, executions=3_000)
        (failure,) = result.failures
        assert failure.confirmed == 3
        plans.add(failure.plan)
    assert len(plans) == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers give their pieces back after each execution."""
    monkeypatch.setattr(worker, "AT_MOST", 0.0)
    monkeypatch.setattr(worker, "COST", 0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("strategy", ["dfs", "ipb", "dpor", "bpor"])
def test_what_is_left_of_a_piece_goes_on_elsewhere(strategy: str) -> None:
    options = {"strategy": strategy, "executions": 100_000, "bound": None, "keep_going": True}
    alone, together = (run(keeps, workers, **options) for workers in (1, 3))
    assert together.verdict.kind is alone.verdict.kind is VerdictKind.HOLDS
    assert together.executions >= alone.executions
    if strategy != "ipb":
        assert together.executions == alone.executions


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("strategy", ["random", "pct", "pos", "surw", "rff"])
def test_pieces_that_come_back_early_leave_no_gap(strategy: str) -> None:
    options = {"strategy": strategy, "executions": 150, "seed": 30, "keep_going": True}
    assert len({str(run(loses_some, workers, **options).verdict) for workers in (1, 2)}) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seed", [81, 132, 153])
def test_a_later_failure_does_not_stop_those_before_it(seed: int) -> None:
    """One worker comes to the second failure of these sequences before another to the first."""
    parent = os.getpid()

    def five_add() -> None:
        if os.getpid() != parent:
            # So long that what has failed is told of meanwhile.
            sum(range(200_000))
        counter = Plain()
        together(*[counter.add] * 5)
        assert counter.value > 1

    results = [run(five_add, number, strategy="random", seed=seed) for number in (1, 2)]
    assert len({failure.plan for result in results for failure in result.failures}) == 1


def test_the_budget_is_kept_to() -> None:
    for strategy in ("dfs", "bpor", "pct", "uniform", "rff", "dpor", "auto"):
        result = run(four_add, 3, strategy=strategy, executions=333, keep_going=True, bound=None)
        assert result.executions == 333


def test_workers_need_a_sensible_number() -> None:
    with pytest.raises(ValueError, match="workers must be at least 1"):
        run(keeps, 0)


def kill_this_process() -> None:
    """As somebody else would: signals that a test itself sends by ``os.kill`` end its execution."""
    ctypes.CDLL(None).kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    parent, mark = os.getpid(), tmp_path / "died"

    def dies_once() -> None:
        keeps()
        if os.getpid() != parent and not mark.exists():
            mark.touch()
            kill_this_process()

    options = {"strategy": "dfs", "executions": 100_000, "keep_going": True}
    disturbed = run(dies_once, 2, **options)
    assert mark.exists()
    assert disturbed.verdict == run(keeps, 1, **options).verdict


def test_a_part_in_which_workers_die_is_given_up() -> None:
    parent = os.getpid()

    def dies() -> None:
        counter = Counter()
        together(*[counter.add] * 2)
        if counter.value == 1 and os.getpid() != parent:
            kill_this_process()

    result = run(dies, 2, strategy="dfs", executions=100_000)
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    (caveat,) = {text for text in result.verdict.caveats if "given up" in text}
    assert "died of SIGKILL" in caveat


def test_workers_that_all_die_at_once_end_the_exploration() -> None:
    parent = os.getpid()

    def dies() -> None:
        if os.getpid() != parent:
            kill_this_process()
        keeps()

    result = run(dies, 2, strategy="random", executions=100_000, seconds=60.0)
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "end again and again" in result.verdict.reason
    assert result.seconds < 60.0


def test_an_exploration_in_another_thread_can_use_workers() -> None:
    results: list[Result] = []
    thread = threading.Thread(
        target=lambda: results.append(run(keeps, 2, strategy="dfs", executions=100_000))
    )
    thread.start()
    thread.join()
    assert results[0].verdict.kind is VerdictKind.HOLDS


SCRIPT = """
import threading

class Counter:
    value = 0

def add():
    for _ in range(3):
        counter.value += 1

counter = Counter()
threads = [threading.Thread(target=add) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def start(folder: Folder) -> Any:
    import subprocess

    folder.write("script.py", SCRIPT)
    process = subprocess.Popen(
        folder.command(
            "run",
            "-j",
            "2",
            "--strategy",
            "dfs",
            "--executions",
            "9000000",
            "--seconds",
            "none",
            "script.py",
        ),
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    # Until both workers are there.
    deadline = time.monotonic() + 60
    while len(processes_of(process.pid)) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    time.sleep(0.3)
    return process


def processes_of(session: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if folder.name.isdigit() and int(fields[3]) == session and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def wait_until_gone(session: int) -> None:
    deadline = time.monotonic() + 30
    while processes_of(session):
        assert time.monotonic() < deadline, "workers are left behind"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_interrupt_ends_all_workers_and_says_how_to_go_on(folder: Folder) -> None:
    process = start(folder)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3, out
    wait_until_gone(process.pid)
    assert "Interrupted. To go on: bohrbug resume .bohrbug/script.py-" in out
    assert "Traceback" not in out
    listed = folder.bohrbug("explorations")
    assert "script.py-" in listed.out
    assert "executions, saved" in listed.out
    # With another number of workers, and for a moment only.
    resumed = folder.bohrbug("resume", "--seconds", "0.01", "-q")
    assert resumed.code == 0, resumed.err
    assert "To go on, with more time: bohrbug resume" in resumed.out


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_worker_outlives_a_killed_exploration(folder: Folder) -> None:
    process = start(folder)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until_gone(process.pid)


def test_a_changed_program_is_not_resumed(folder: Folder) -> None:
    folder.write("script.py", SCRIPT)
    given = ("--strategy", "random", "--executions", "900000", "--seconds", "1.5", "-q")
    first = folder.bohrbug("run", *given, "script.py")
    assert "To go on, with more time" in first.out, first.out + first.err
    folder.write("script.py", SCRIPT + "\nprint(1)\n")
    again = folder.bohrbug("resume")
    assert again.code == 2
    assert "script.py has changed" in again.err
    other = folder.bohrbug("run", *given, "--seed", "5", "--resume", "script.py")
    assert other.code == 2
    assert "there is no such exploration" in other.err


def test_there_is_nothing_to_resume(folder: Folder) -> None:
    done = folder.bohrbug("resume")
    assert done.code == 2
    assert "there is nothing to resume" in done.err
    assert "there is nothing to resume" in folder.bohrbug("explorations").out
    folder.write("other.exploration", "text")
    assert folder.bohrbug("resume", "other.exploration").code == 2
