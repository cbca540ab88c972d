"""What is in sight at the steps of a replay."""

from __future__ import annotations

import threading

import pytest

import bohrbug
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import Reproduction, reproduction_of
from bohrbug.platforms.threads import sights
from bohrbug.platforms.threads.sights import sights_in_replay


class Box:
    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()

    def add(self, rounds: int) -> None:
        for _ in range(rounds):
            with self.lock:
                pass
        seen = self.value
        self.value = seen + 1


ROUNDS = 8


def lose_an_update() -> None:
    box = Box()
    threads = [threading.Thread(target=box.add, args=(ROUNDS,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box.value == 2


def found() -> Reproduction:
    result = bohrbug.explore(lose_an_update, executions=300)
    (failure,) = result.failures
    return reproduction_of(failure, {}, "test", ExploreOptions(executions=300))


def test_each_step_shows_what_its_task_sees() -> None:
    reproduction = found()
    seen = sights_in_replay(reproduction, lose_an_update)

    assert seen is not None
    trace = reproduction.failure.trace
    writes = [i for i, operation in enumerate(trace.operations) if operation.kind.name == "write"]
    for number, step in enumerate(writes):
        values = dict(seen.by_step[step].values)
        assert values["seen"] == "0"
        assert values["self"] == f"Box(value={number}, lock=<lock>)"
        assert seen.by_step[step].stack[-1].site.function == "Box.add"


def test_in_long_executions_values_are_seen_near_what_matters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sights, "ALL_VALUES", 10)
    monkeypatch.setattr(sights, "NEAR", 2)
    reproduction = found()
    trace = reproduction.failure.trace
    (essential,) = reproduction.failure.essential
    seen = sights_in_replay(reproduction, lose_an_update)

    assert seen is not None
    with_values = {step for step, sight in seen.by_step.items() if sight.values}
    near = {step + by for step in (0, essential, len(trace) - 1) for by in (-2, -1, 0, 1, 2)}
    assert with_values <= near
    assert essential in with_values or essential + 1 in with_values
    # Stacks are known everywhere.
    assert len(seen.by_step) > len(with_values) + ROUNDS


def test_another_execution_has_nothing_to_see() -> None:
    reproduction = found()

    def passes() -> None:
        lock = threading.Lock()
        with lock:
            pass

    assert sights_in_replay(reproduction, passes) is None
