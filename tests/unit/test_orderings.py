"""Events, orderings, the policy that keeps them, and their JSON form."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bohrbug.model.cause import Cause, Strength
from bohrbug.model.cause_json import (
    cause_from_json,
    cause_to_json,
    orderings_from_json,
    orderings_to_json,
)
from bohrbug.model.history import data_choices, events_of, history_of, in_order, pending_events
from bohrbug.model.operation import ACQUIRE, READ, WAIT, WRITE, Operation, Site
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.plan import Ordered, Plan
from bohrbug.model.serialise import FileFormatError, plan_from_json, plan_to_json
from bohrbug.model.trace import Trace
from tests.simulated import Instruction, Program, execute

SITE = Site("bank.py", 12, "deposit", 5)
READS = Event("0.1", READ, "0:0.balance", SITE)
WRITES = Event("0.2", WRITE, "0:0.balance", SITE._replace(line=13), 2)
FIRES = Event("0.2", WAIT, "0:1", None, fired=True)

LOST_UPDATE = Program(
    (
        ("0", (Instruction("read", "x"), Instruction("write", "x", 1))),
        ("0.1", (Instruction("read", "x"), Instruction("write", "x", 1))),
    )
)


def own(event_kind: str, task: str) -> Event:
    return Event(task, READ if event_kind == "read" else WRITE, "0:x", None)


def test_an_event_is_the_same_whatever_a_variable_is_called_in_an_execution() -> None:
    assert replace(READS, resource="0.1:4.balance") == READS
    assert hash(replace(READS, resource="0.1:4.balance")) == hash(READS)
    assert replace(READS, occurrence=2) != READS
    assert replace(READS, task="0.2") != READS
    assert replace(READS, fired=True) != READS
    # Without a site the resource is all there is.
    assert replace(FIRES, resource="0:2") != FIRES


def trace_of(*steps: tuple[str, Operation]) -> Trace:
    trace = Trace()
    for task, operation in steps:
        trace.tasks.append(task)
        trace.choices.append(task)
        trace.operations.append(operation)
        trace.enabled.append((task,))
        trace.timed.append(())
        trace.yielded.append(False)
    return trace


def test_events_are_numbered_where_they_repeat() -> None:
    read = Operation(READ, "0:0.balance", SITE)
    elsewhere = Operation(READ, "0:0.balance", SITE._replace(column=20))
    trace = trace_of(("0.1", read), ("0.2", read), ("0.1", elsewhere), ("0.1", read))
    assert [e and (e.task, e.occurrence) for e in events_of(trace)] == [
        ("0.1", 1),
        ("0.2", 1),
        ("0.1", 1),
        ("0.1", 2),
    ]
    history = history_of(trace)
    assert history.step_of(replace(READS, occurrence=2)) == 3
    assert history.step_of(replace(READS, occurrence=3)) is None


def test_a_timeout_that_fires_is_another_event() -> None:
    trace = trace_of(("0.1", Operation(WAIT, "0:1", SITE)), ("0.1", Operation(WAIT, "0:1", SITE)))
    trace.enabled[0], trace.timed[0] = ("0",), ("0.1",)
    first, second = events_of(trace)
    assert first is not None
    assert second is not None
    assert (first.fired, first.occurrence) == (True, 1)
    assert (second.fired, second.occurrence) == (False, 1)
    assert history_of(trace).step_of(second) == 1


def test_an_ordering_is_met_if_the_second_never_comes_but_not_without_the_first() -> None:
    acquire = Operation(ACQUIRE, "0:0", None)
    trace = trace_of(("0.1", acquire))
    trace.final_pending["0.2"] = acquire
    first, second = Event("0.1", ACQUIRE, "0:0", None), Event("0.2", ACQUIRE, "0:0", None)
    history = history_of(trace)
    assert pending_events(trace) == {"0.2": second}
    assert history.meets(Ordering(first, second))
    assert not history.meets(Ordering(second, first))
    assert not history.meets(Ordering(second, replace(second, occurrence=2)))


def test_what_a_task_was_about_to_do_is_numbered_after_what_it_did() -> None:
    acquire = Operation(ACQUIRE, "0:0", SITE)
    trace = trace_of(("0.1", acquire), ("0.1", acquire))
    trace.final_pending["0.1"] = acquire
    assert pending_events(trace)["0.1"].occurrence == 3


def test_data_choices_are_told_by_task() -> None:
    program = Program(
        (("0", (Instruction("read", "x"), Instruction("choose", "", 3), Instruction("read", "x"))),)
    )
    trace, _ = execute(program, Plan(("0", 2)))
    assert data_choices(trace) == (("0", (2,)),)
    again, _ = execute(program, Plan(policy=Ordered((), 5, (("0", (2,)),))))
    assert data_choices(again) == (("0", (2,)),)


def test_orderings_are_told_in_the_order_in_which_they_were_met() -> None:
    trace, _ = execute(LOST_UPDATE, Plan(("0", "0.1", "0.1", "0")))
    late = Ordering(own("read", "0.1"), own("write", "0"))
    early = Ordering(own("read", "0"), own("write", "0.1"))
    assert in_order([late, early], history_of(trace)) == (early, late)


@pytest.mark.parametrize("seed", range(12))
def test_the_policy_keeps_orderings_whatever_the_seed(seed: int) -> None:
    lost = (
        Ordering(own("read", "0"), own("write", "0.1")),
        Ordering(own("read", "0.1"), own("write", "0")),
    )
    trace, (_, variables, _) = execute(LOST_UPDATE, Plan(policy=Ordered(lost, seed)))
    assert all(history_of(trace).meets(ordering) for ordering in lost)
    assert dict(variables) == {"x": 1}
    kept = (lost[0].reversed(),)
    _, (_, variables, _) = execute(LOST_UPDATE, Plan(policy=Ordered(kept, seed)))
    assert dict(variables) == {"x": 2}


def test_the_policy_breaks_an_ordering_rather_than_hang() -> None:
    impossible = (Ordering(own("write", "0"), own("read", "0")),)
    trace, _ = execute(LOST_UPDATE, Plan(policy=Ordered(impossible, 3)))
    assert len(trace) == 4


def test_seed_0_goes_on_without_preemptions() -> None:
    trace, _ = execute(LOST_UPDATE, Plan(policy=Ordered((), 0)))
    assert trace.tasks == ["0", "0", "0.1", "0.1"]


def test_other_seeds_give_other_schedules() -> None:
    schedules = {
        tuple(execute(LOST_UPDATE, Plan(policy=Ordered((), seed)))[0].tasks) for seed in range(200)
    }
    assert len(schedules) == 6


def test_the_json_form() -> None:
    orderings = (Ordering(READS, WRITES), Ordering(FIRES, READS))
    plan = Plan((), Ordered(orderings, 7, (("0.1", (1, 0)),)))
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    cause = Cause(Strength.EXACT, orderings, 5, 5, 9, 0, True, (("0.1", "0.2"),))
    assert cause_from_json(json.loads(json.dumps(cause_to_json(cause)))) == cause
    assert cause_from_json(cause_to_json(None)) is None
    assert cause.executions == 14


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("kind",), "teleport", "teleport"),
        (("occurrence",), 0, "count from 1"),
        (("occurrence",), True, "occurrence"),
        (("site",), ["bank.py", "12", "f", 0], "a site is"),
        (("task",), 7, "task"),
        (("fired",), 1, "timeout"),
    ],
)
def test_a_damaged_ordering_is_refused(path: tuple[str], value: object, words: str) -> None:
    data = orderings_to_json((Ordering(READS, WRITES),))
    data[0][1][path[0]] = value
    with pytest.raises(ValueError, match=words):
        orderings_from_json(data)
    plan = plan_to_json(Plan((), Ordered((Ordering(READS, WRITES),))))
    plan["policy"]["orderings"] = data
    with pytest.raises(FileFormatError, match=words):
        plan_from_json(plan)


def test_a_cause_that_lacks_something_is_refused() -> None:
    data = cause_to_json(Cause(Strength.ALWAYS, (), 5, 5, 0, 0))
    del data["met"]
    with pytest.raises(ValueError, match="'met' of a cause is missing"):
        cause_from_json(data)
    with pytest.raises(ValueError, match="sometimes"):
        cause_from_json(
            {**cause_to_json(Cause(Strength.ALWAYS, (), 5, 5, 0, 0)), "strength": "sometimes"}
        )
