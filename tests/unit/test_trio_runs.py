"""``trio.run`` in an execution: its own chance is explored, and nothing of it outlives one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.report.verdict import one_line_verdict

trio = pytest.importorskip("trio")


def explore(main: Any, **options: Any) -> Result:
    return bohrbug.explore(lambda: trio.run(main), **options)


def test_tasks_of_a_round_run_in_order_and_in_reverse() -> None:
    orders = set()

    async def main() -> None:
        order: list[int] = []

        async def child(number: int) -> None:
            order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(child, number)
        orders.add(tuple(order))

    result = explore(main)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert not result.verdict.caveats
    assert orders == {(0, 1, 2), (2, 1, 0)}


def test_beside_hypothesis_tasks_run_in_every_order() -> None:
    orders = set()

    async def main() -> None:
        order: list[int] = []

        async def child(number: int) -> None:
            order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(child, number)
            # As hypothesis does when it is imported.
            trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING = True
        orders.add(tuple(order))

    assert explore(main).verdict.kind is VerdictKind.HOLDS
    assert orders == set(itertools.permutations(range(3)))


def test_what_depends_on_the_order_is_found_and_replayed() -> None:
    async def main() -> None:
        balance = 0

        async def add() -> None:
            nonlocal balance
            seen = balance
            await trio.lowlevel.checkpoint()
            balance = seen + 1

        async def check() -> None:
            await trio.lowlevel.checkpoint()
            assert balance != 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(add)
            nursery.start_soon(check)

    result = explore(main)
    (failure,) = result.failures
    assert failure.confirmed == 3
    assert failure.trace.arities


def test_rounds_with_one_task_are_no_choices() -> None:
    async def short() -> None:
        await trio.lowlevel.checkpoint()

    async def long() -> None:
        for _ in range(10):
            await trio.lowlevel.checkpoint()

    results = [explore(short), explore(long)]
    assert {result.verdict.kind for result in results} == {VerdictKind.HOLDS}
    assert results[0].executions == results[1].executions


def test_threads_of_one_execution_are_not_waited_for_in_the_next() -> None:
    names = set()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(trio.to_thread.run_sync, int)
        workers = trio._core._thread_cache
        worker = workers.WorkerThread(workers.ThreadCache())
        names.add(worker._default_name)

    result = explore(main, executions=30)
    assert not result.failures
    assert result.executions == 30
    assert not any("deterministic" in str(caveat) for caveat in result.verdict.caveats)
    # Numbers of threads go on within an execution, and begin anew with each.
    assert names == {"Trio thread 2", "Trio thread 1"} or names == {"Trio thread 2"}
    # Nor are they by what comes after the exploration.
    trio.run(trio.to_thread.run_sync, int)


@pytest.mark.filterwarnings("ignore:Trio guest run got abandoned")
def test_who_waits_for_ever_is_in_a_deadlock() -> None:
    async def main() -> None:
        await trio.Event().wait()

    (failure,) = explore(main).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK


@pytest.mark.parametrize("seconds", [1, 100_000])
def test_a_sleep_ends_when_nothing_else_can_go_on(seconds: int) -> None:
    begins = set()

    async def main() -> None:
        begin = trio.current_time()
        begins.add(begin)
        await trio.sleep(seconds)
        assert trio.current_time() - begin >= seconds

    result = explore(main, timeouts="late")
    assert not result.failures
    assert len(begins) == 1
    assert "taking timers of trio as firing only" in one_line_verdict(result)


@pytest.mark.parametrize("reverse", [False, True])
def test_deadlines_at_the_same_time_come_in_the_order_they_were_set(reverse: bool) -> None:
    orders = []

    async def main() -> None:
        order: list[int] = []
        scopes = sorted([trio.CancelScope() for _ in range(4)], key=id, reverse=reverse)
        deadline = trio.current_time() + 5

        async def child(number: int) -> None:
            scope = scopes[number]
            scope.deadline = deadline
            with scope:
                await trio.sleep_forever()
            order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(child, number)
                await trio.sleep(0)
        orders.append(order)

    assert not explore(main, executions=1).failures
    assert orders[0] in ([0, 1, 2, 3], [3, 2, 1, 0])


def test_what_tasks_and_scopes_are_called_stays_the_same() -> None:
    async def main() -> None:
        task = trio.lowlevel.current_task()
        scope = trio.CancelScope()
        assert repr(task) == repr(task)
        assert repr(scope) == repr(scope)

    assert explore(main).verdict.kind is VerdictKind.HOLDS
