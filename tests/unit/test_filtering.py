"""Which steps are no decisions, with and without the accelerator, of the tasks of an execution."""

from __future__ import annotations

import threading
import time
from itertools import product

import pytest

import bohrbug
from bohrbug.model.conditions import Level
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.site import point_of
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.policies.filtering import runs_at_once
from bohrbug.runtime.policies.in_c import partial_order_decider
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.together import together


def test_the_same_tasks_run_at_once_with_and_without_the_accelerator() -> None:
    found: set[str | None] = set()

    def test() -> None:
        first, second = threading.Lock(), threading.Lock()

        def take(lock: threading.Lock) -> None:
            with lock:
                pass

        threads = [threading.Thread(target=take, args=(lock,)) for lock in (first, second)]
        for thread in threads:
            thread.start()
        execution = runtime.execution
        assert execution is not None
        tasks = [task for task in execution.alive if task.pending is not None]
        assert len(tasks) >= 2
        operations = [task.pending for task in tasks]
        some_points = [frozenset(), *({point_of(each)} for each in operations)]
        some_names = [(), *((each.resource,) for each in operations)]
        for points, named, running, yielded in product(
            some_points, some_names, tasks, (False, True)
        ):
            decider = partial_order_decider(0, frozenset(points), named)
            chosen = decider.runs_at_once(running, tasks, yielded)
            assert chosen is runs_at_once(frozenset(points), running, tasks, yielded, named)
            found.add(None if chosen is None else chosen.id)
        for thread in threads:
            thread.join()

    with threads_runtime(test, Settings(), Level.SYNC, Scope()) as runtime:
        outcome = runtime.execute(Plan()).trace.outcome
    assert outcome.kind is OutcomeKind.PASSED, outcome
    assert len(found) >= 3


@pytest.mark.parametrize("strategy", ["pos", "surw", "rff"])
def test_steps_that_are_no_decisions_let_a_task_go_on_that_yields(strategy: str) -> None:
    """What is read after the yield may be as old as what was read before it."""
    seen = set()

    def test() -> None:
        lock = threading.Lock()
        box = [0]
        reads = []

        def read_twice() -> None:
            reads.append(box[0])
            time.sleep(0)
            reads.append(box[0])

        def write() -> None:
            # That the lock is acquired conflicts with nothing, and decides nothing.
            with lock:
                box[0] = 1

        together(read_twice, write)
        seen.add(tuple(reads))

    bohrbug.explore(test, strategy=strategy, executions=200)
    assert seen == {(0, 0), (0, 1), (1, 1)}
