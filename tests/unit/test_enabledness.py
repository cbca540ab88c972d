"""Whether an operation would have blocked where no task stood before it yet."""

from __future__ import annotations

import pytest

from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    CLEAR,
    END,
    GET,
    JOIN,
    NOTIFY,
    PUT,
    READ,
    RELEASE,
    SET,
    SPAWN,
    TRY_ACQUIRE,
    WAIT,
    WAKE,
    YIELD,
    Kind,
    Operation,
)
from bohrbug.model.trace import Gate, Trace
from bohrbug.search.enabledness import was_open


def was(
    kind: Kind,
    type_name: str,
    *done: Kind,
    resource: str = "0:0",
    gate: Gate | None = None,
    on: str = "",
    several: tuple[int, ...] = (),
    step: Kind = RELEASE,
) -> bool | None:
    """Whether an operation was possible after others, all of which write its resource.

    Parameters:
        kind: of the operation.
        type_name: of the resource.
        done: what was done before; behind it comes the step that is asked about.
        resource: its name.
        gate: what is noted at that step.
        on: what the operations before were on, if not on that resource itself.
        several: steps that did more than one thing with the resource.
        step: what is done in the step that is asked about.
    """
    steps = len(done) + 1
    trace = Trace(
        choices=["0.1"] * steps,
        tasks=["0.1"] * steps,
        operations=[Operation(each, on or resource) for each in (*done, step)],
        enabled=[("0.1",)] * steps,
        timed=[()] * steps,
        yielded=[False] * steps,
        gates={} if gate is None else {len(done): gate},
    )
    return was_open(
        trace,
        Operation(kind, resource),
        None,
        lambda trace, resource: type_name,
        len(done),
        lambda step, resource: step - 1,
        {(step, resource) for step in several},
    )


@pytest.mark.parametrize("lock", ["Lock", "RLock"])
def test_a_lock_is_free_at_first_and_after_its_release(lock: str) -> None:
    assert was(ACQUIRE, lock) is True
    assert was(ACQUIRE, lock, ACQUIRE) is False
    assert was(ACQUIRE, lock, TRY_ACQUIRE) is False
    assert was(ACQUIRE, lock, ACQUIRE, RELEASE) is True
    assert was(ACQUIRE, lock, ACQUIRE, RELEASE, ACQUIRE) is False


def test_who_waits_gives_the_lock_back_and_who_wakes_takes_it() -> None:
    assert was(ACQUIRE, "Lock", WAIT, on="0:1") is True
    assert was(ACQUIRE, "Lock", WAIT, WAKE, on="0:1") is False


def test_an_event_is_set_by_a_set_alone() -> None:
    assert was(WAIT, "Event") is False
    assert was(WAIT, "Event", SET) is True
    assert was(WAIT, "Event", SET, CLEAR) is False


def test_a_thread_can_be_joined_once_it_has_ended() -> None:
    assert was(JOIN, "Thread") is False
    assert was(JOIN, "Thread", SPAWN) is False
    assert was(JOIN, "Thread", SPAWN, BEGIN) is False
    assert was(JOIN, "Thread", SPAWN, BEGIN, END) is True


@pytest.mark.parametrize("kind", [RELEASE, TRY_ACQUIRE, NOTIFY, SET, READ, YIELD])
def test_some_operations_never_block(kind: Kind) -> None:
    assert was(kind, "Lock", ACQUIRE) is True


def test_semaphores_and_queues_say_it_themselves() -> None:
    assert was(ACQUIRE, "Semaphore", gate=Gate(False, True, False)) is False
    assert was(ACQUIRE, "Semaphore", gate=Gate(True, True, False)) is True
    assert was(GET, "Queue", gate=Gate(True, False, False)) is True
    assert was(GET, "Queue", gate=Gate(False, True, False)) is False
    assert was(PUT, "Queue", gate=Gate(True, False, False)) is False
    assert was(PUT, "Queue", gate=Gate(False, True, False)) is True


def test_what_nobody_knows_is_not_guessed() -> None:
    assert was(ACQUIRE, "Semaphore", ACQUIRE) is None
    # An older lock may have been left in any state.
    assert was(ACQUIRE, "Lock", resource="before:0") is None
    # To take the mutex of a queue there need be nothing in it.
    assert was(ACQUIRE, "Queue", gate=Gate(False, True, False), step=PUT) is None
    # A step that did two things may have left it in either.
    assert was(ACQUIRE, "Lock", ACQUIRE, several=(0,)) is None
