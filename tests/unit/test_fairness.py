"""Whom a yield holds back, and what the verdict says of it."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import ClassVar

import pytest

import bohrbug
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.outcome import REPEATED_YIELDS
from bohrbug.runtime.threads.fairness import YIELDS_THAT_ARE_ONE
from bohrbug.runtime.threads.pace import SPIN_READS
from bohrbug.runtime.threads.standing import Standing, standing
from tests.programs.together import together

Between = Callable[[list[int], list[int]], None]


def explored(between: Between, strategy: str, level: str = "racy") -> tuple[set[str], Result]:
    """What a task reads before and after something, while another writes."""
    seen: set[str] = set()

    def test() -> None:
        box = [0]
        reads: list[int] = []

        def read() -> None:
            reads.append(box[0])
            between(reads, box)
            reads.append(box[0])

        def write() -> None:
            box[0] = 1

        together(read, write)
        seen.add("".join(map(str, reads)))

    result = bohrbug.explore(test, strategy=strategy, level=level, executions=1_000, seconds=None)
    return seen, result


def one_yield(reads: list[int], box: list[int]) -> None:
    time.sleep(0)


def ten_yields(reads: list[int], box: list[int]) -> None:
    for _ in range(10):
        time.sleep(0)


def some_yields_of_the_system(reads: list[int], box: list[int]) -> None:
    for _ in range(10):
        os.sched_yield()


def one_sleep(reads: list[int], box: list[int]) -> None:
    time.sleep(0.01)


def three_looks(reads: list[int], box: list[int]) -> None:
    for _ in range(3):
        time.sleep(0)
        reads.append(box[0])


def three_looks_at_equal_places(reads: list[int], box: list[int]) -> None:
    """No variable shows how often the loop goes round."""
    for _ in itertools.repeat(None, 3):
        time.sleep(0)
        box[0]


STRATEGIES = ("dpor", "dfs", "ipb", "auto", "pct", "pos", "surw", "rff")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("between", [one_yield, ten_yields, one_sleep])
def test_what_is_read_after_a_yield_may_be_old(between: Between, strategy: str) -> None:
    seen, result = explored(between, strategy)
    assert seen == {"00", "01", "11"}
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


@pytest.mark.skipif(not hasattr(os, "sched_yield"), reason="no os.sched_yield")
def test_yields_of_the_system_are_yields() -> None:
    seen, _ = explored(some_yields_of_the_system, "dpor")
    assert seen == {"00", "01", "11"}


@pytest.mark.parametrize("between", [three_looks, three_looks_at_equal_places])
def test_a_few_looks_between_yields_see_what_is_old(between: Between) -> None:
    seen, result = explored(between, "dpor")
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking
    assert {reads.strip("1") for reads in seen} >= {"", "0", "00"}
    assert {reads for reads in seen if "1" not in reads}


def many_looks(reads: list[int], box: list[int]) -> None:
    for _ in range(8):
        time.sleep(0)
        box[0]


def many_yields(reads: list[int], box: list[int]) -> None:
    for _ in range(6 * YIELDS_THAT_ARE_ONE):
        time.sleep(0)


def many_looks_between_sleeps(reads: list[int], box: list[int]) -> None:
    for _ in range(8):
        time.sleep(0.001)
        box[0]


def many_looks_without_yield(reads: list[int], box: list[int]) -> None:
    for _ in range(9 * SPIN_READS):
        box[0]


BETWEEN = [many_looks, many_yields, many_looks_between_sleeps, many_looks_without_yield]


@pytest.mark.parametrize("between", BETWEEN)
def test_who_is_held_back_though_it_may_go_on_is_a_condition(between: Between) -> None:
    _, result = explored(between, "dpor")
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == (REPEATED_YIELDS,)


def wait_for_one(reads: list[int], box: list[int]) -> None:
    while not box[0]:
        time.sleep(0)


def wait_for_one_asleep(reads: list[int], box: list[int]) -> None:
    while not box[0]:
        time.sleep(0.001)


def wait_with_a_count(reads: list[int], box: list[int]) -> None:
    count = 0
    while not box[0]:
        time.sleep(0)
        count += 1


def spin_for_one(reads: list[int], box: list[int]) -> None:
    while not box[0]:
        pass


@pytest.mark.parametrize("between", [wait_for_one, wait_for_one_asleep, spin_for_one])
def test_a_loop_that_only_waits_is_no_condition(between: Between) -> None:
    seen, result = explored(between, "dpor")
    assert seen == {"01", "11"}
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_a_loop_that_counts_may_do_more_than_wait() -> None:
    seen, result = explored(wait_with_a_count, "dpor")
    assert seen == {"01", "11"}
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == (REPEATED_YIELDS,)


def test_who_has_not_begun_goes_first_at_any_yield() -> None:
    """That they begin changes nothing, and need not be tried in every order: 16 and not 21."""
    _, result = explored(one_yield, "dpor")
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.executions <= 16


def test_yields_are_points_of_their_own_where_accesses_are_none() -> None:
    def between(reads: list[int], box: list[int]) -> None:
        time.sleep(0)
        reads.append(box[0])
        time.sleep(0)

    seen, _ = explored(between, "dfs", level="sync")
    assert {"000", "001", "011"} <= seen


# -- where a task stands --------------------------------------------------------------------------


class Counts:
    """Objects with attributes."""

    def __init__(self) -> None:
        self.tries = 0
        self.other = object()


class Slots:
    """Objects without a dict."""

    __slots__ = ("tries", "unset")

    def __init__(self) -> None:
        self.tries = 0


class Found:
    """Where a task stood. A class, as nothing of classes is looked at."""

    standings: ClassVar[list[Standing]] = []

    @classmethod
    def note(cls, stands: Standing) -> None:
        cls.standings.append(stands)

    @classmethod
    def are_equal(cls) -> bool:
        first, second = cls.standings
        cls.standings.clear()
        return first == second


def stands_again(change: Callable[[], object], shown: object) -> bool:
    """Whether a task that goes round a loop, and does something, stands where it stood."""
    while len(Found.standings) < 2:
        Found.note(standing(sys._getframe()))
        change()
    return Found.are_equal()


ITEMS: list[int] = [0]
TABLE = {"tries": 0}
MEMBERS: set[object] = set()
COUNTS = Counts()
SLOTS = Slots()
ITERATOR = iter(range(9))
ENDLESS = itertools.repeat(None)
COUNTER = itertools.count()
global_tries = 0


def count_globally() -> None:
    global global_tries
    global_tries += 1


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (lambda: ITEMS.append(0), ITEMS),
        (lambda: ITEMS.__setitem__(0, ITEMS[0] + 1), ITEMS),
        (lambda: TABLE.update(tries=TABLE["tries"] + 1), TABLE),
        (lambda: MEMBERS.add(object()), MEMBERS),
        (lambda: setattr(COUNTS, "tries", COUNTS.tries + 1), COUNTS),
        (lambda: setattr(COUNTS, "other", object()), COUNTS),
        (lambda: setattr(SLOTS, "tries", SLOTS.tries + 1), SLOTS),
        (lambda: next(ITERATOR), ITERATOR),
        (lambda: next(COUNTER), COUNTER),
    ],
)
def test_what_has_changed_shows(change: Callable[[], object], shown: object) -> None:
    assert not stands_again(change, shown)


@pytest.mark.parametrize("shown", [ITEMS, TABLE, MEMBERS, COUNTS, SLOTS, ENDLESS, object(), 7, "x"])
def test_who_changes_nothing_stands_where_it_stood(shown: object) -> None:
    assert stands_again(lambda: None, shown)


def test_local_and_global_variables_show() -> None:
    tries = 0
    while len(Found.standings) < 2:
        Found.note(standing(sys._getframe()))
        tries += 1
    assert not Found.are_equal()
    while len(Found.standings) < 2:
        Found.note(standing(sys._getframe()))
        count_globally()
    assert global_tries
    assert not Found.are_equal()


def test_other_places_and_for_loops_show() -> None:
    Found.note(standing(sys._getframe()))
    Found.note(standing(sys._getframe()))
    assert not Found.are_equal()
    for _ in itertools.repeat(None, 2):
        Found.note(standing(sys._getframe()))
    assert not Found.are_equal()
    for _ in itertools.repeat(None, 2):
        while len(Found.standings) < 2:
            Found.note(standing(sys._getframe()))
        assert Found.are_equal()


@pytest.mark.parametrize("pause", [None, 0.0, 0.001], ids=["", "yields", "sleeps"])
def test_who_gives_up_after_some_tries_may_do_so(pause: float | None) -> None:
    """A loop with a limit is a loop that makes progress, whatever it looks like."""
    tries = 8 * SPIN_READS - 1 if pause is None else 4

    def test() -> None:
        event = threading.Event()

        def look() -> None:
            for _ in range(tries):
                if event.is_set():
                    return
                if pause is not None:
                    time.sleep(pause)
            raise AssertionError("gives up")

        together(event.set, look)

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.FAILED
