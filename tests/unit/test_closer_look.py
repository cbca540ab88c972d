"""Failures that are the first executions to show the accesses that make them fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.realignment import Alignment, marks_of
from bohrbug.exploration.remembered import REMEMBERED, Remembered
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.model.cause import Strength
from bohrbug.model.following import tasks_followed
from bohrbug.model.operation import END, READ, WRITE
from bohrbug.platforms.threads.platform import explorer_of


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


class _Closing(_Service):
    """Its thread looks at the jobs only if it gets the lock before the program does."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.is_closed = False

    def close(self) -> None:
        self.jobs.clear()
        with self.lock:
            self.is_closed = True

    def work(self) -> None:
        with self.lock:
            is_closed = self.is_closed
        if not is_closed:
            super().work()


def _closes_while_its_thread_works() -> None:
    service = _Closing()
    thread = threading.Thread(target=service.work)
    thread.start()
    service.close()
    thread.join()


class _Rare(_Closing):
    """Only an early preemption, which a depth-first search tries last, lets its thread look."""

    def close(self) -> None:
        super().close()
        for _ in range(4):
            with self.lock:
                pass

    def work(self) -> None:
        with self.lock:
            is_closed = self.is_closed
        for _ in range(3):
            with self.lock:
                pass
        if not is_closed:
            _Service.work(self)


def _looks_in_few_schedules() -> None:
    service = _Rare()
    thread = threading.Thread(target=service.work)
    thread.start()
    service.close()
    thread.join()


def _sells_twice() -> None:
    """The order of what is sold is seen first by the execution that fails, and does not matter."""
    tickets, sold = [1], []

    def customer() -> None:
        if tickets[0]:
            tickets[0] -= 1
            sold.append("ticket")

    threads = [threading.Thread(target=customer) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(sold) > 1:
        raise LookupError


def _explored(
    test: Callable[[], None] = _ends_before_its_thread_begins, **settings: object
) -> bohrbug.Failure:
    (failure,) = bohrbug.explore(
        test,
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


def test_an_order_of_locks_is_not_all_there_is_to_a_cause() -> None:
    cause = _explored(_closes_while_its_thread_works).cause
    assert cause is not None
    assert cause.strength is Strength.EXACT
    kinds = {frozenset((each.first.kind, each.second.kind)) for each in cause.orderings}
    assert {READ, WRITE} in kinds


def test_what_its_cause_does_not_speak_of_is_no_step_of_its_schedule() -> None:
    failure = _explored(_sells_twice)
    assert failure.cause is not None
    assert failure.cause.strength is Strength.EXACT
    accessed = [o.resource for o in failure.trace.operations if o.kind in (READ, WRITE)]
    assert {failure.trace.resources[resource].label for resource in accessed} == {"list tickets[0]"}


def test_a_cause_without_what_was_seen_first_rests_on_some_schedules_only() -> None:
    failure = _explored(_closes_while_its_thread_works, minimise=False)
    assert failure.cause is not None
    assert not failure.cause.complete


def test_a_schedule_that_is_not_minimised_stays_as_it_was_found() -> None:
    failure = _explored(minimise=False, causes=0)
    assert READ not in [operation.kind for operation in failure.trace.operations]


def test_a_failure_that_a_worker_finds_is_looked_at_as_closely() -> None:
    options: dict[str, object] = {"strategy": "dfs", "executions": 2_000, "seconds": None}
    causes = [
        bohrbug.explore(_looks_in_few_schedules, workers=workers, **options).failures[0].cause  # type: ignore[arg-type]
        for workers in (1, 2)
    ]
    assert causes[0] == causes[1]
    assert causes[1] is not None
    assert {READ, WRITE} <= {each.first.kind for each in causes[1].orderings} | {
        each.second.kind for each in causes[1].orderings
    }


def test_a_remembered_failure_is_looked_at_as_closely() -> None:
    # As an exploration that had not looked closer would have kept it.
    kept = _explored(_closes_while_its_thread_works, minimise=False, causes=0)
    remembered = Remembered("a test", "", kept.plan, kept.points, "", 0.0)
    surroundings = Surroundings(None, remembered=[remembered])
    options = ExploreOptions(seconds=None)
    explorer = explorer_of(_closes_while_its_thread_works, "a test", options, surroundings)
    (failure,) = explorer.explore().failures
    assert failure.strategy == REMEMBERED
    assert failure.cause is not None
    kinds = {frozenset((each.first.kind, each.second.kind)) for each in failure.cause.orderings}
    assert {READ, WRITE} in kinds


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
