"""Loops that wait come to an end, in whatever order they first run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.exploration.caveats import Caveats
from bohrbug.exploration.result import VerdictKind
from bohrbug.model.conditions import Level
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads import watchdog
from bohrbug.runtime.threads.data import sinks
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.together import together


def takes_what_is_put_unless_it_was_removed() -> None:
    """In turn, who removes always runs just before who takes: that one needs another order."""
    lock = threading.Lock()
    box: list[int] = []
    done = {"put": 0, "remove": 0, "take": 0}

    def repeat(name: str, work: Callable[[], bool]) -> Callable[[], None]:
        def loop() -> None:
            while min(done.values()) < 2:
                with lock:
                    done[name] += work()

        return loop

    def put() -> bool:
        box[:] = [1]
        return True

    def remove() -> bool:
        was_there = bool(box)
        box.clear()
        return was_there

    together(repeat("put", put), repeat("remove", remove), repeat("take", lambda: bool(box)))


def test_the_order_of_those_that_spin_varies() -> None:
    result = bohrbug.explore(
        takes_what_is_put_unless_it_was_removed, strategy="ipb", executions=1, level="sync"
    )
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.failures


def never_ends() -> None:
    """What it waits for is never set, whoever runs when."""
    done = [False]

    def spin() -> None:
        while not done[0]:
            pass

    def other() -> None:
        done[0] = False

    together(spin, other)


def test_who_takes_and_releases_a_lock_for_ever_is_named() -> None:
    lock = threading.Lock()

    def poll() -> None:
        while True:
            with lock:
                pass

    result = bohrbug.explore(lambda: together(poll, lock.locked), max_steps=1_000)
    line = poll.__code__.co_firstlineno + 2
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert f"release a lock at tests/unit/test_spinning.py:{line}" in result.verdict.reason


def test_what_never_ended_is_inconclusive_where_the_budget_allows_no_closer_look() -> None:
    """The first execution sees no accesses, so that it can only hang."""
    result = bohrbug.explore(never_ends, executions=1)
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "without reaching a scheduling point" in result.verdict.reason


def test_what_never_ends_is_a_livelock_once_it_is_seen() -> None:
    """What spins is given up long before it hangs, as soon as it is known where it looks."""
    result = bohrbug.explore(
        never_ends, seconds=None, hang_seconds=300, max_steps=5_000, causes=0, minimise=False
    )
    assert result.races
    assert all(race.first.stack and race.second.stack for race in result.races)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.LIVELOCK]


def test_a_livelock_that_no_replay_confirms_is_inconclusive() -> None:
    caveats = Caveats()
    caveats.note_unconfirmed([(OutcomeKind.ASSERTION, "AssertionError", None)])
    assert not caveats.hung
    caveats.note_unconfirmed([(OutcomeKind.LIVELOCK, None, None)])
    assert "not confirmed by replay (livelock)" in caveats.hung


def test_a_plan_that_hung_is_forgotten_once_it_was_executed_to_its_end() -> None:
    caveats = Caveats()
    caveats.note_unended(Plan(("0.1",)), "hangs")
    caveats.note_end(Plan(("0.2",)))
    caveats.note_end(Plan(("0.1",)))
    caveats.note_what_never_ended()
    assert not caveats.hung
    caveats.note_unended(Plan(("0.1",)), "hangs")
    caveats.note_what_never_ended()
    assert caveats.hung == "hangs"


def waits_for(wait: Callable[[list[int]], None]) -> Callable[[], None]:
    def test() -> None:
        done: list[int] = []
        thread = threading.Thread(target=lambda: done.append(1))
        thread.start()
        wait(done)
        thread.join()

    return test


def without_a_yield(done: list[int]) -> None:
    while not done:
        pass


def with_a_yield(done: list[int]) -> None:
    while not done:
        time.sleep(0)


def until_its_time_is_up(done: list[int]) -> None:
    """Nobody else can run meanwhile."""
    time.sleep(1)
    while not done:
        pass


def test_who_spins_while_others_could_run_is_named() -> None:
    found = bohrbug.explore(waits_for(without_a_yield))
    line = without_a_yield.__code__.co_firstlineno + 1
    (notice,) = found.notices
    assert f"test_spinning.py:{line} while others could run" in notice
    assert not found.verdict.caveats


@pytest.mark.parametrize("wait", [with_a_yield, until_its_time_is_up])
def test_who_yields_or_has_nobody_to_wait_for_is_not(wait: Callable[[list[int]], None]) -> None:
    assert not bohrbug.explore(waits_for(wait), timeouts="late").notices


@pytest.mark.parametrize("is_alone", [True, False])
def test_only_a_task_that_is_not_alone_is_made_to_yield(is_alone: bool) -> None:
    """A task that prepares something for long computes: its execution is to be repeatable."""
    boxes: list[list[int]] = []

    def add() -> None:
        boxes[0][0] += 1

    def nudged_at_an_access() -> None:
        execution = runtime.execution
        assert execution is not None
        assert execution.nudge is not None
        execution.nudge()
        add()

    def test() -> None:
        boxes[:] = [[0]]
        if is_alone:
            nudged_at_an_access()
        other = threading.Thread(target=add)
        other.start()
        if not is_alone:
            nudged_at_an_access()
        other.join()

    with threads_runtime(test, Settings(), Level.RACY, Scope()) as runtime:
        for _ in range(3):
            executed = runtime.execute(Plan(), watch=True)
    assert executed.trace.outcome.kind is OutcomeKind.PASSED, executed.trace.outcome
    assert executed.nudged is not is_alone


def test_what_is_given_up_before_its_points_are_known_is_executed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It computes, and only looks as if it spun; all of its functions are known by then."""
    monkeypatch.setattr(watchdog, "NUDGE", 0.05)
    monkeypatch.setattr(sinks, "MOST_NUDGES_BEFORE_POINTS", 1)

    def test() -> None:
        is_set, late, own = [False], [0], [0]

        def compute() -> None:
            if is_set[0]:
                late[0] = 1
                for _ in range(200_000):
                    own[0] = own[0]

        def write() -> None:
            late[0] = 2

        def allow() -> None:
            is_set[0] = True

        together(compute, write, allow)

    result = bohrbug.explore(test, seconds=None, strategy="dpor")
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict
