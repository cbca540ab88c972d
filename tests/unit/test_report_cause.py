"""The sentence that heads a report, and what else is told of causes."""

from __future__ import annotations

import json
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration.minimisation.examples import way_of_failing
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import Reproduction, read_reproduction
from bohrbug.exploration.result import Failure
from bohrbug.model.cause import Cause, Strength
from bohrbug.model.history import events_of
from bohrbug.model.operation import SLEEP, WAIT, Site
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.outcome import Abandoned
from bohrbug.report.cause import cause_in_words, evidence_in_words
from bohrbug.report.explanation import sentence_on
from bohrbug.report.naming import Names
from bohrbug.report.text import failure_text
from tests.unit.report_samples import GOLD, lock_cycle, lost_notify, lost_update


@pytest.fixture(autouse=True)
def _in_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLD)


def cause_of_lost_update(failure: Failure, **changes: object) -> Cause:
    """Both reads before the other's write."""
    events = [event for event in events_of(failure.trace) if event is not None]

    def find(kind: str, task: str) -> Event:
        return next(e for e in events if e.kind.name == kind and e.task == task)

    orderings = (
        Ordering(find("read", "0.1"), find("write", "0.2")),
        Ordering(find("read", "0.2"), find("write", "0.1")),
    )
    cause = Cause(Strength.EXACT, orderings, 18, 18, 31, 0)
    return replace(cause, **changes)  # type: ignore[arg-type]


def words(cause: Cause, failure: Failure) -> str:
    return cause_in_words(cause, failure.trace, Names(failure.trace))


def test_if_and_only_if() -> None:
    failure = lost_update()
    cause = cause_of_lost_update(failure)
    assert words(cause, failure) == (
        "It fails if and only if the read of Account.balance (bank.py:12) in task 0.1 (Thread-1, "
        "Account.deposit) comes before the write (bank.py:13) in task 0.2 (Thread-2, "
        "Account.deposit), and the read (bank.py:12) in task 0.2 before the write (bank.py:13) in "
        "task 0.1."
    )
    assert evidence_in_words(cause) == (
        "Checked on different schedules: it fails in this way in all 18 that meet this "
        "condition, and in none of the 31 others."
    )
    assert evidence_in_words(replace(cause, complete=True)).startswith(
        "Checked on all schedules (up to the order of independent operations): it fails "
    )


def test_whenever_and_only_if_say_what_is_left_open() -> None:
    failure = lost_update()
    whenever = cause_of_lost_update(failure, strength=Strength.SUFFICIENT, unmet_failed=4)
    assert words(whenever, failure).startswith("It fails whenever the read of Account.balance ")
    assert evidence_in_words(whenever) == (
        "Checked: it fails in this way in all 18 different schedules that meet this condition, "
        "and in 4 of 31 others."
    )
    only = cause_of_lost_update(failure, strength=Strength.NECESSARY, met_failed=7)
    assert words(only, failure).startswith("It fails only if the read of Account.balance ")
    assert evidence_in_words(only) == (
        "Checked: it fails in this way in none of 31 different schedules that don't meet this "
        "condition, and in 7 of 18 others."
    )


def test_one_schedule_is_not_spoken_of_as_many() -> None:
    failure = lost_update()
    exact = cause_of_lost_update(failure, met=1, met_failed=1, unmet=1)
    assert evidence_in_words(exact) == (
        "Checked on different schedules: it fails in this way in the one that meets this "
        "condition, and not in the other one."
    )
    whenever = replace(exact, strength=Strength.SUFFICIENT)
    assert evidence_in_words(whenever) == (
        "Checked: it fails in this way in the one schedule that meets this condition, and not in "
        "the other one."
    )
    only = replace(exact, strength=Strength.NECESSARY, met=3)
    assert evidence_in_words(only) == (
        "Checked: it does not fail in this way in the one schedule that doesn't meet this "
        "condition, but does in 1 of 3 others."
    )


def test_whatever_the_schedule() -> None:
    failure = lost_update()
    cause = Cause(Strength.ALWAYS, (), 24, 24, 0, 0)
    assert words(cause, failure) == (
        "It fails under every schedule tried (24 executions with different schedules)."
    )
    assert evidence_in_words(cause) == ""
    failure.cause = cause
    names = Names(failure.trace)
    assert "preempted" in sentence_on(failure, names)
    failure.essential = ()
    assert sentence_on(failure, names) == "", "which schedule it was makes no difference"


def test_tasks_that_can_be_exchanged() -> None:
    failure = lost_update()
    two = cause_of_lost_update(failure, alike=(("0.1", "0.2"),))
    assert words(two, failure).endswith(
        "in task 0.1; or the same with tasks 0.1 and 0.2 exchanged (they run the same function)."
    )
    three = cause_of_lost_update(failure, alike=(("0.1", "0.2", "0.3"),))
    assert words(three, failure).endswith(
        "; or the same with others of the tasks 0.1, 0.2 and 0.3 (they run the same function)."
    )


class _Account:
    def __init__(self) -> None:
        self.balance = 100

    def pay(self, other: _Account) -> None:
        left = self.balance - 10
        self.balance = left
        other.balance += 10


def test_exchanged_tasks_may_act_on_other_objects_of_the_same_places() -> None:
    def test() -> None:
        one, other = _Account(), _Account()
        clerks = [
            threading.Thread(target=_Account.pay, args=accounts, name="a\n clerk")
            for accounts in ((one, other), (other, one))
        ]
        for clerk in clerks:
            clerk.start()
        for clerk in clerks:
            clerk.join()
        assert one.balance + other.balance == 200

    (failure,) = bohrbug.explore(test).failures
    assert failure.cause is not None
    assert failure.cause.alike
    told = words(failure.cause, failure)
    assert "_Account.balance #" in told
    assert told.endswith("(they run the same function), perhaps of another _Account.balance.")
    # A name is told on one line.
    assert "(a clerk, _Account.pay)" in told


def test_orderings_that_follow_each_other_are_told_as_one() -> None:
    failure = lost_update()
    (first, second) = cause_of_lost_update(failure).orderings
    chain = Cause(Strength.EXACT, (first, Ordering(first.second, second.second)), 5, 5, 5, 0)
    assert words(chain, failure) == (
        "It fails if and only if the read of Account.balance (bank.py:12) in task 0.1 (Thread-1, "
        "Account.deposit) comes before the write (bank.py:13) in task 0.2 (Thread-2, "
        "Account.deposit), and that before the write (bank.py:13) in task 0.1."
    )


def test_what_happens_more_than_once_has_a_number() -> None:
    failure = lost_update()
    (first, _) = cause_of_lost_update(failure).orderings
    third = Ordering(replace(first.first, occurrence=3), first.second)
    assert "the 3rd read of Account.balance" in words(
        Cause(Strength.EXACT, (third,), 5, 5, 5, 0), failure
    )


def test_timeouts_that_fire_and_sleeps_that_end() -> None:
    failure = lost_update()
    (first, _) = cause_of_lost_update(failure).orderings
    site = Site(str(GOLD / "bank.py"), 12, "deposit", 9)
    fires = Event("0.2", WAIT, "0:3", site, fired=True)
    wakes = Event("0.2", SLEEP, "clock", site, fired=True)
    text = words(Cause(Strength.EXACT, (Ordering(fires, first.first),), 5, 5, 5, 0), failure)
    assert "the timeout of the wait on 0:3 (bank.py:12) in task 0.2" in text
    text = words(Cause(Strength.EXACT, (Ordering(wakes, first.first),), 5, 5, 5, 0), failure)
    assert "the end of the sleep (bank.py:12) in task 0.2" in text


def test_the_sentence_heads_the_report_and_the_schedule_is_an_example() -> None:
    failure = lost_update()
    failure.cause = cause_of_lost_update(failure)
    text = failure_text(failure, width=1000)
    cause = text.index(
        """
  It fails if and only if
    the read of Account.balance (bank.py:12) in task 0.1 (Thread-1, Account.deposit)
      comes before the write (bank.py:13) in task 0.2 (Thread-2, Account.deposit), and
    the read (bank.py:12) in task 0.2
      before the write (bank.py:13) in task 0.1.
"""
    )
    checked = text.index("Checked on different schedules")
    example = text.index("In the schedule below task 0.1")
    assert cause < checked < example < text.index("Schedule\n")
    failure.cause = None
    assert "It fails when task 0.1" in failure_text(failure, width=1000)


def written(failure: Failure, folder: Path) -> Path:
    """A reproduction file of `failure`, of a test whose target could be found again."""
    target = {"kind": "function", "name": "bank:test"}
    return Reproduction(target, "t", ExploreOptions(), [], failure).write(folder)


@pytest.mark.parametrize("make", [lost_update, lock_cycle, lost_notify])
def test_reproductions_keep_the_cause(make: object, tmp_path: Path) -> None:
    failure = make()  # type: ignore[operator]
    failure.cause = cause_of_lost_update(lost_update(), complete=True, alike=(("0.1", "0.2"),))
    path = written(failure, tmp_path)
    assert read_reproduction(path).failure.cause == failure.cause


def test_a_reproduction_without_a_cause_is_read(tmp_path: Path) -> None:
    failure = lost_update()
    path = written(failure, tmp_path)
    data = json.loads(path.read_text())
    del data["cause"]
    path.write_text(json.dumps(data))
    assert read_reproduction(path).failure.cause is None


# -- whole explorations ----------------------------------------------------------


class Account:
    def __init__(self) -> None:
        self.balance = 0

    def deposit(self) -> None:
        old = self.balance
        self.balance = old + 1


def lost() -> None:
    account = Account()
    threads = [threading.Thread(target=account.deposit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.balance == 2


def test_an_exploration_finds_the_cause() -> None:
    (failure,) = bohrbug.explore(lost).failures
    cause = failure.cause
    assert cause is not None
    assert cause.strength is Strength.EXACT
    assert cause.complete
    # Which comes first depends on the schedule that was found.
    kinds = sorted(
        (o.first.task, o.first.kind.name, o.second.task, o.second.kind.name)
        for o in cause.orderings
    )
    assert kinds == [("0.1", "read", "0.2", "write"), ("0.2", "read", "0.1", "write")]


def test_looking_for_causes_can_be_switched_off() -> None:
    (failure,) = bohrbug.explore(lost, causes=0).failures
    assert failure.cause is None
    with pytest.raises(ValueError, match="causes"):
        ExploreOptions(causes=-1)
    with pytest.raises(ValueError, match="causes_seconds"):
        ExploreOptions(causes_seconds=0.0)
    with pytest.raises(ValueError, match="predict"):
        ExploreOptions(predict=-1)


def lock_is_kept() -> None:
    lock = threading.Lock()
    seen: list[int] = []

    def keep() -> None:
        lock.acquire()
        if not seen:
            return
        lock.release()

    def take() -> None:
        seen.append(1)
        with lock:
            pass

    threads = [threading.Thread(target=keep), threading.Thread(target=take)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_lock_kept_by_a_task_that_ended() -> None:
    (failure,) = bohrbug.explore(lock_is_kept).failures
    (blocked,) = [b for b in failure.outcome.blocked if b.task == "0.2"]
    assert isinstance(blocked.abandoned, Abandoned)
    assert blocked.abandoned.task == "0.1"
    text = " ".join(failure_text(failure, width=200).split())
    assert "which task 0.1 (Thread-1, keep) took at test_report_cause.py:" in text
    assert "and did not release before it ended." in text


def test_a_failure_of_the_first_execution_is_explained_by_data_all_the_same() -> None:
    (failure,) = bohrbug.explore(lock_is_kept).failures
    assert failure.execution == 1
    assert failure.cause is not None
    assert failure.cause.strength is Strength.EXACT
    (ordering,) = failure.cause.orderings
    assert (ordering.first.kind.name, ordering.second.kind.name) == ("read", "write")


def _one_call_fails_unseen() -> None:
    results: queue.Queue[float] = queue.Queue()
    with ThreadPoolExecutor(2) as pool:
        for number in (2, 0):
            pool.submit(lambda number=number: results.put(10 / number))
        for _ in range(2):
            results.get()


def test_in_how_many_threads_a_pool_waits_does_not_make_another_deadlock() -> None:
    """It starts a second thread only if the first is busy, and deadlocks all the same."""
    (failure,) = bohrbug.explore(_one_call_fails_unseen).failures
    assert failure.cause is not None
    assert failure.cause.strength is Strength.ALWAYS
    text = " ".join(failure_text(failure, width=200).split())
    assert "ended with an exception that nobody has asked its future for" in text
    assert "ZeroDivisionError: division by zero" in text


def test_who_else_waits_does_not_make_another_deadlock_of_a_cycle() -> None:
    failure = lock_cycle()
    outcome = failure.outcome
    in_cycle = tuple(each for each in outcome.blocked if each.task in outcome.cycle)
    assert len(in_cycle) < len(outcome.blocked)
    as_known = way_of_failing(outcome)
    assert way_of_failing(replace(outcome, blocked=in_cycle)) == as_known
    # Without a cycle all that wait say what it is.
    assert way_of_failing(replace(outcome, cycle=())) != as_known


def test_of_exceptions_that_somebody_was_told_of_a_deadlock_says_nothing() -> None:
    def test() -> None:
        with ThreadPoolExecutor(1) as pool:
            with pytest.raises(ZeroDivisionError):
                pool.submit(lambda: 1 / 0).result()
            queue.Queue[int]().get()

    (failure,) = bohrbug.explore(test).failures
    assert "ZeroDivisionError" not in failure_text(failure)
