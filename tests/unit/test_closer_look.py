"""Failures that are the first executions to show the accesses that make them fail."""

from __future__ import annotations

import asyncio
import threading

import pytest

import bohrbug
from bohrbug.exploration.realignment import Alignment, marks_of
from bohrbug.model.cause import Strength
from bohrbug.model.following import tasks_followed
from bohrbug.model.operation import END, READ, WRITE


class _Service:
    """Its thread is seen only by executions that let it run before the program ends."""

    def __init__(self) -> None:
        self.jobs: list[int] = [1]

    def work(self) -> None:
        # No assertion: pytest's reads what it shows, which only failing executions do.
        if not self.jobs:
            raise LookupError


def _ends_before_its_thread_begins() -> None:
    service = _Service()
    threading.Thread(target=service.work, daemon=True).start()
    service.jobs.clear()


def _explored(**settings: object) -> bohrbug.Failure:
    (failure,) = bohrbug.explore(
        _ends_before_its_thread_begins,
        executions=100,
        seconds=None,
        **settings,  # type: ignore[arg-type]
    ).failures
    return failure


@pytest.mark.parametrize("strategy", ["auto", "dpor", "ipb", "pos", "rff", "random"])
def test_a_cause_names_accesses_that_the_failure_was_the_first_to_show(strategy: str) -> None:
    failure = _explored(strategy=strategy)
    assert failure.cause is not None
    assert failure.cause.strength is Strength.EXACT
    kinds = [(each.first.kind, each.second.kind) for each in failure.cause.orderings]
    # The end of the program would have ended its daemon thread.
    assert kinds == [(WRITE, READ), (READ, END)]


def test_they_are_steps_of_its_schedule() -> None:
    failure = _explored()
    assert {WRITE, READ} <= {operation.kind for operation in failure.trace.operations}
    assert failure.confirmed == 3


def test_a_schedule_that_is_not_minimised_stays_as_it_was_found() -> None:
    failure = _explored(minimise=False, causes=0)
    assert READ not in [operation.kind for operation in failure.trace.operations]


def test_the_steps_of_tasks_that_a_task_of_an_event_loop_starts_are_found_again() -> None:
    def run() -> None:
        seen: list[int] = []

        async def main() -> None:
            run = asyncio.get_running_loop().run_in_executor
            await asyncio.gather(*(run(None, seen.append, number) for number in range(2)))

        asyncio.run(main())
        if seen != [0, 1]:
            raise LookupError

    (failure,) = bohrbug.explore(run, seconds=None).failures
    policy = marks_of(failure.trace, Alignment()).policy
    ids = {task for task in failure.trace.task_infos if "." in task}
    assert tasks_followed(policy, failure.trace) == {"0": "0", **{task: task for task in ids}}
    assert failure.cause is not None
    assert failure.cause.strength is Strength.EXACT
    assert WRITE in [each.first.kind for each in failure.cause.orderings]
