"""The happens-before graph: clocks and hashes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bohrbug.model.happens_before import (
    canonical_hash,
    clocks,
    happens_before,
    options_digest,
    state_hashes,
)
from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    CHOOSE,
    END,
    JOIN,
    READ,
    RELEASE,
    SPAWN,
    WAIT,
    WRITE,
    Kind,
    Operation,
)
from bohrbug.model.trace import Trace
from bohrbug.model.vector_clock import VectorClock


def made(*steps: tuple[str, Kind, str]) -> Trace:
    """A trace of the given steps, as far as happens-before looks at it."""
    tasks = [task for task, _, _ in steps]
    everyone = tuple(sorted(set(tasks)))
    return Trace(
        choices=list(tasks),
        tasks=tasks,
        operations=[Operation(kind, resource) for _, kind, resource in steps],
        enabled=[everyone] * len(steps),
        timed=[()] * len(steps),
        yielded=[False] * len(steps),
    )


def test_reads_commute() -> None:
    one = made(("0", READ, "x"), ("0.1", READ, "x"))
    other = made(("0.1", READ, "x"), ("0", READ, "x"))
    assert canonical_hash(one) == canonical_hash(other)
    assert not happens_before(one, 0, 1)


@pytest.mark.parametrize(("first", "second"), [(READ, WRITE), (WRITE, READ), (WRITE, WRITE)])
def test_a_write_commutes_with_nothing_on_its_resource(first: Kind, second: Kind) -> None:
    one = made(("0", first, "x"), ("0.1", second, "x"))
    other = made(("0.1", second, "x"), ("0", first, "x"))
    assert canonical_hash(one) != canonical_hash(other)
    assert happens_before(one, 0, 1)


def test_different_resources_commute() -> None:
    one = made(("0", WRITE, "x"), ("0.1", WRITE, "y"))
    other = made(("0.1", WRITE, "y"), ("0", WRITE, "x"))
    assert canonical_hash(one) == canonical_hash(other)
    assert state_hashes(one)[1] != state_hashes(other)[1]


def test_order_passes_through_a_lock() -> None:
    trace = made(
        ("0", WRITE, "x"),
        ("0", ACQUIRE, "k"),
        ("0", RELEASE, "k"),
        ("0.1", ACQUIRE, "k"),
        ("0.1", READ, "y"),
        ("0.2", READ, "y"),
    )
    assert happens_before(trace, 0, 4)
    assert not happens_before(trace, 0, 5)
    assert not happens_before(trace, 4, 0)


def test_creation_and_joining_of_a_task_are_ordered_through_its_resource() -> None:
    trace = made(
        ("0", WRITE, "x"),
        ("0", SPAWN, "thread"),
        ("0.1", BEGIN, "thread"),
        ("0.1", WRITE, "y"),
        ("0.1", END, "thread"),
        ("0", JOIN, "thread"),
    )
    for i in range(5):
        assert happens_before(trace, i, i + 1)
    assert clocks(trace)[5] == VectorClock({"0": 3, "0.1": 3})


def test_the_task_the_kind_and_the_resource_are_part_of_the_hash() -> None:
    steps = [("0", READ, "x"), ("0.1", READ, "x"), ("0", ACQUIRE, "x"), ("0", READ, "y")]
    assert len({canonical_hash(made(step)) for step in steps}) == len(steps)


def test_the_place_is_no_part_of_the_hash() -> None:
    trace = made(("0", READ, "x"))
    same = made(("0", READ, "x"))
    same.operations = [Operation(READ, "x", (made.__code__, 0))]
    assert canonical_hash(trace) == canonical_hash(same)


def test_an_effect_orders_as_its_operation_would() -> None:
    waits = made(("0", WAIT, "condition"), ("0.1", ACQUIRE, "lock"))
    assert not happens_before(waits, 0, 1)
    independent = canonical_hash(waits)
    waits.effects = [(0, "0", "lock", True)]
    assert happens_before(waits, 0, 1)
    assert canonical_hash(waits) != independent


def test_the_order_of_an_effect_and_an_operation_is_part_of_the_hash() -> None:
    one = made(("0", WAIT, "condition"), ("0.1", ACQUIRE, "lock"))
    one.effects = [(0, "0", "lock", True)]
    other = made(("0.1", ACQUIRE, "lock"), ("0", WAIT, "condition"))
    other.effects = [(1, "0", "lock", True)]
    assert canonical_hash(one) != canonical_hash(other)


def test_an_effect_that_reads_commutes_with_reads() -> None:
    one = made(("0", WRITE, "x"), ("0.1", READ, "y"))
    one.effects = [(0, "0", "y", False)]
    other = made(("0.1", READ, "y"), ("0", WRITE, "x"))
    other.effects = [(1, "0", "y", False)]
    assert canonical_hash(one) == canonical_hash(other)


def test_an_effect_on_the_operations_own_resource_counts_once() -> None:
    trace = made(("0", READ, "x"), ("0.1", WRITE, "x"))
    trace.effects = [(0, "0", "x", False)]
    other = made(("0.1", WRITE, "x"), ("0", READ, "x"))
    other.effects = [(1, "0", "x", False)]
    assert happens_before(trace, 0, 1)
    assert canonical_hash(trace) != canonical_hash(other)


def test_an_effect_of_another_task_orders_that_task_too() -> None:
    trace = made(("0", WRITE, "x"), ("0.1", READ, "y"))
    trace.effects = [(0, "0.1", "z", True)]
    assert happens_before(trace, 0, 1)


def test_the_value_of_a_data_choice_is_part_of_the_hash() -> None:
    hashes = set()
    for value in range(3):
        trace = made(("0", CHOOSE, "choices"))
        trace.choices = [value]
        trace.arities = {0: 3}
        hashes.add(canonical_hash(trace))
    assert len(hashes) == 3


def test_a_fired_timeout_is_part_of_the_hash() -> None:
    acquired = made(("0", ACQUIRE, "k"))
    timed_out = made(("0", ACQUIRE, "k"))
    timed_out.enabled = [()]
    timed_out.timed = [("0",)]
    assert canonical_hash(acquired) != canonical_hash(timed_out)


def test_a_timeout_that_could_have_fired_elsewhere_is_not() -> None:
    plain = made(("0", WRITE, "x"))
    beside = made(("0", WRITE, "x"))
    beside.timed = [("0.1",)]
    assert canonical_hash(plain) == canonical_hash(beside)


def test_state_hashes_are_one_more_than_the_steps_and_can_be_limited() -> None:
    trace = made(*[("0", WRITE, "x")] * 5)
    states = state_hashes(trace)
    assert len(set(states)) == len(states) == 6
    assert state_hashes(trace, 2) == states[:3]
    assert state_hashes(trace, 99) == states
    trace.effects = [(4, "0", "y", True)]
    assert state_hashes(trace, 2) == states[:3]
    assert state_hashes(Trace()) == [0]


def test_options_differ_in_who_may_go_on_and_in_who_only_by_a_timeout() -> None:
    options = [((), ()), (("0",), ()), ((), ("0",)), (("0", "0.1"), ()), (("0",), ("0.1",))]
    assert len({options_digest(*each) for each in options}) == len(options)


EXPECTED = 16401593151646626344
SCRIPT = """
from bohrbug.model.happens_before import canonical_hash
from bohrbug.model.operation import READ, WRITE, Operation
from bohrbug.model.trace import Trace
print(canonical_hash(Trace(
    choices=["0", "0.1"], tasks=["0", "0.1"],
    operations=[Operation(READ, "0:1.x"), Operation(WRITE, "0:1.x")],
    enabled=[("0", "0.1"), ("0.1",)], timed=[(), ()], yielded=[False, False],
)))
"""


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_hashes_are_the_same_in_every_process_and_version(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    assert int(result.stdout) == EXPECTED


def test_vector_clocks_join_compare_and_advance() -> None:
    one = VectorClock({"0": 2})
    other = VectorClock({"0": 1, "0.1": 1})
    both = one.joined_with(other)
    assert both == VectorClock({"0": 2, "0.1": 1})
    assert one <= both
    assert other <= both
    assert not both <= one
    assert not one <= other
    assert not other <= one
    assert one.advanced("0.1") == both
    assert one["0.7"] == 0
