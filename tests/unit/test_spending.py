"""The time of an exploration, and what of it goes to following up failures."""

from __future__ import annotations

import builtins
import importlib
import math
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType

import pytest

import bohrbug
from bohrbug.exploration import explorer, spending
from bohrbug.exploration.minimisation import budget
from bohrbug.exploration.spending import OVERTIME, Spending
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads import imports, late_code
from bohrbug.runtime.threads.instrumentation import Instrumentation
from tests.programs.together import together


class Watch:
    """Tells the time that it is set to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr(spending, "_now", watch)
    monkeypatch.setattr(budget, "_now", watch)
    return watch


def test_a_failure_that_is_found_last_gets_a_share_of_the_overtime(watch: Watch) -> None:
    time = Spending(10.0)
    watch.now += 10.0
    assert time.is_over
    share = time.share(0.5, 7)
    assert share.executions == 7
    assert share.until == pytest.approx(watch.now + 0.5 * 10.0 * OVERTIME)


def test_all_shares_together_end_with_the_overtime(watch: Watch) -> None:
    time = Spending(10.0)
    watch.now += 9.0
    for part in (0.5, 0.5, 0.5, 0.5, 1.0):
        watch.now = time.share(part, 1).until
    assert watch.now == pytest.approx(1_000.0 + 10.0 * (1 + OVERTIME))
    assert time.share(1.0, 1).is_spent()


def test_a_share_is_at_most_so_many_seconds(watch: Watch) -> None:
    assert Spending(100.0).share(0.5, 1, 3.0).until == watch.now + 3.0


def test_without_a_limit_shares_have_none_either(watch: Watch) -> None:
    time = Spending(None)
    watch.now += 1e9
    assert not time.is_over
    assert time.share(0.1, 1).until == math.inf
    assert time.share(0.1, 1, 3.0).until == watch.now + 3.0


def test_what_an_earlier_process_has_spent_counts(watch: Watch) -> None:
    time = Spending(10.0)
    time.begin(spent=8.0)
    watch.now += 1.0
    assert time.spent == 9.0
    assert not time.is_over
    watch.now += 1.0
    assert time.is_over


def test_an_execution_that_would_end_after_the_overtime_is_not_begun(watch: Watch) -> None:
    time = Spending(10.0)
    watch.now += 8.0
    time.note_execution(3.4)
    assert not time.is_over, "8 + 3.4 seconds are within 11.5"
    time.note_execution(5.0)
    assert not time.is_over, "one of them was shorter"
    watch.now += 0.2
    assert time.is_over
    assert time.is_overdrawn


def test_the_first_execution_is_begun_however_little_time_there_is(watch: Watch) -> None:
    time = Spending(0.01)
    assert time.another_takes == 0.0
    assert not time.is_over


def test_nothing_is_spent_on_what_was_found_after_an_interrupt() -> None:
    stopped: list[bool] = []
    budget = Spending(None, lambda: bool(stopped)).share(0.5, 10)
    others = budget.part(0.5), budget.anew(10)
    assert not any(each.is_spent() for each in (budget, *others))
    stopped.append(True)
    assert all(each.is_spent() for each in (budget, *others))


@pytest.fixture
def watched_by_all(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> Watch:
    for module in (explorer, imports, late_code):
        monkeypatch.setattr(module, "_now", watch)
    return watch


def adding(amount: int) -> None:
    """Correct, with many schedules."""
    numbers: list[int] = []
    together(*[lambda: numbers.append(amount)] * 4)
    assert len(numbers) == 4


def test_what_only_the_first_execution_loads_leaves_time_for_others(
    watched_by_all: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    within, around = tmp_path / "takes_six_seconds.py", tmp_path / "imports_it.py"
    within.write_text("import builtins\nbuiltins.the_watch.now += 6.0\n")
    around.write_text("import takes_six_seconds\n")
    monkeypatch.setattr(builtins, "the_watch", watched_by_all, raising=False)
    monkeypatch.syspath_prepend(tmp_path)

    def test() -> None:
        importlib.import_module("imports_it")
        adding(0)

    result = bohrbug.explore(test, seconds=10, executions=4)
    assert result.executions == 4


def test_what_is_rewritten_after_the_first_execution_leaves_time_for_others(
    watched_by_all: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Instrumentation.rewrite
    begun: list[int] = []

    def rewrite(self: Instrumentation, codes: Iterable[CodeType]) -> list[CodeType]:
        if not begun:
            begun.append(1)
            watched_by_all.now += 6.0
        return original(self, codes)

    monkeypatch.setattr(Instrumentation, "rewrite", rewrite)
    result = bohrbug.explore(lambda: adding(0), seconds=10, executions=4)
    assert result.executions == 4


def _takes_long_once_executed() -> Callable[[], None]:
    weights = iter([10])

    def work(lock: threading.Lock, weight: int) -> None:
        for _ in range(200):
            with lock:
                sum(range(weight))

    def test() -> None:
        weight = next(weights, 1_000_000)
        lock = threading.Lock()
        together(lambda: work(lock, weight), lambda: work(lock, weight))

    return test


def test_an_execution_is_cut_where_the_time_is_up() -> None:
    result = bohrbug.explore(_takes_long_once_executed(), seconds=1)
    assert result.executions == 1
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert result.verdict.reason.endswith("was spent in the middle of an execution")
    assert not result.interrupted


def test_the_first_execution_is_never_cut() -> None:
    test = _takes_long_once_executed()
    test()
    result = bohrbug.explore(test, seconds=0.01)
    assert result.executions == 1
    assert result.tasks == 3
