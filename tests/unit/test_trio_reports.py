"""Reports of programs of trio name its tasks, lines of the program, and who waits for what."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.exploration.result import Failure
from bohrbug.export.refusals import CannotExport, check_exportable
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.serialise import trace_from_json, trace_to_json
from bohrbug.report.text import failure_text

pytest.importorskip("trio")

from tests.programs.awaits import trio_faults


def failure_of(test: Callable[[], None]) -> Failure:
    (failure,) = bohrbug.explore(test).failures
    assert failure.confirmed == 3
    return failure


def report_on(failure: Failure) -> str:
    return " ".join(failure_text(failure, width=200).split())


def at(function: str, text: str) -> str:
    """The place of a line of a function, as reports write it."""
    lines = inspect.getsource(trio_faults).splitlines()
    begin = next(n for n, line in enumerate(lines) if f"def {function}(" in line)
    line = next(n for n, line in enumerate(lines[begin:], begin) if text in line)
    return f"trio_faults.py:{line + 1}"


SLEEP = "await trio.sleep(0)"

ONE_ORDER = {
    trio_faults.lost_update: f"the resume ({at('later', SLEEP)}) in task 0.1.2 (later) comes before"
    f" the resume ({at('deposit', SLEEP)}) in task 0.1.1 (Account.deposit)",
    trio_faults.lost_wakeup: f"the resume ({at('notifier', SLEEP)}) in task 0.1.2 (notifier) comes"
    f" before the resume ({at('waiter', SLEEP)}) in task 0.1.1 (waiter)",
    trio_faults.lost_slot: "the beginning of task 0.1.1 (cancel) comes before the resume"
    f" ({at('get', SLEEP)}) in task 0.1 (main)",
    trio_faults.fails_in_a_nursery: f"the resume ({at('send', SLEEP)}) in task 0.1.2 (send) comes"
    f" before the resume ({at('connect', SLEEP)}) in task 0.1.1 (connect)",
}


@pytest.mark.parametrize("test", ONE_ORDER, ids=lambda test: test.__name__)
def test_the_order_that_fails_is_told_in_words(test: Callable[[], None]) -> None:
    failure = failure_of(test)
    report = report_on(failure)
    assert f"if and only if {ONE_ORDER[test]}" in report
    assert "choose" not in report
    assert "data choice" not in report
    # Nothing of trio's own machinery is in the schedule.
    schedule = report.partition("Schedule")[2].partition("Traceback")[0]
    for own in ("_run.py", "_io_epoll.py", "_entry_queue.py", "_wakeup", "TrioToken"):
        assert own not in schedule


def test_which_task_is_late_is_told() -> None:
    report = report_on(failure_of(trio_faults.lost_update))
    assert (
        f"In the schedule below task 0.1.1 (Account.deposit) is late ({at('deposit', SLEEP)}), and"
        f" task 0.1.2 (later) goes on first ({at('later', SLEEP)})." in report
    )


def test_a_cycle_of_locks_is_told_with_the_places_where_they_were_taken() -> None:
    failure = failure_of(trio_faults.two_locks)
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.outcome.cycle == ("0.1.1", "0.1.2")
    blocked = {each.task: each for each in failure.outcome.blocked}
    assert sorted(blocked) == ["0.1", "0.1.1", "0.1.2"]
    there = blocked["0.1.1"]
    assert [frame.site.function.rpartition(".")[2] for frame in there.stack] == ["there"]
    assert there.holders == ("0.1.2",)
    assert there.holding[0].resource == blocked["0.1.2"].operation.resource
    report = report_on(failure)
    assert "2 tasks wait for each other" in report
    first, second = "async with self.first", "async with self.second"
    assert (
        f"Task 0.1.1 (Bank.there) holds Lock Bank.first (taken at {at('there', first)}) and waits"
        f" for Lock Bank.second ({at('there', second)}), held by task 0.1.2 (Bank.back; taken at"
        f" {at('back', second)}), which waits for Lock Bank.first ({at('back', first)}), held by"
        " task 0.1.1." in report
    )
    assert "Task 0.1 (main) waits for the end of task 0.1.1 and task 0.1.2" in report


def test_a_deadlock_of_channels_is_told() -> None:
    report = report_on(failure_of(trio_faults.two_channels))
    for number, name in enumerate(("client", "server"), 1):
        assert (
            f"Task 0.1.{number} ({name}) waits for MemorySendChannel #{number}"
            f" ({at(name, 'send')}); nobody is left who could receive from it." in report
        )


def test_what_is_waited_for_is_in_a_file() -> None:
    failure = failure_of(trio_faults.two_locks)
    read = trace_from_json(json.loads(json.dumps(trace_to_json(failure.trace))))
    for one, other in zip(read.outcome.blocked, failure.outcome.blocked, strict=True):
        assert (one.task, one.holders, one.since) == (other.task, other.holders, other.since)
        assert one.holding == other.holding
        assert one.stack == other.stack
    assert read.task_infos == dict(failure.trace.task_infos)
    assert read.task_infos["0.1.1"].target == "Bank.there"


def test_the_order_of_tasks_of_trio_can_not_be_forced() -> None:
    with pytest.raises(CannotExport, match="the order in which trio runs its tasks"):
        check_exportable(failure_of(trio_faults.lost_update).trace)
