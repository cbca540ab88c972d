"""``trio.run`` in an execution: its own chance is explored, and nothing of it outlives one."""

from __future__ import annotations

import asyncio
import gc
import itertools
import queue
import threading
import weakref
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.report.verdict import one_line_verdict

trio = pytest.importorskip("trio")
pytest.importorskip("trio.testing")


def explore(main: Any, **options: Any) -> Result:
    return bohrbug.explore(lambda: trio.run(main), **options)


@pytest.mark.parametrize("strategy", ["auto", "dfs", "dpor"])
def test_tasks_of_a_turn_run_in_order_and_in_reverse(strategy: str) -> None:
    orders = set()

    async def main() -> None:
        order: list[int] = []

        async def child(number: int) -> None:
            order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(child, number)
        orders.add(tuple(order))

    result = explore(main, strategy=strategy)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert not result.verdict.caveats
    assert orders == {(0, 1, 2), (2, 1, 0)}


def test_what_trio_does_between_turns_stays_where_it_is() -> None:
    """Else searches would try orders that there are not, and give schedules up."""

    async def main() -> None:
        with trio.move_on_after(1):
            async with trio.open_nursery() as nursery:
                for _ in range(2):
                    nursery.start_soon(trio.lowlevel.checkpoint)

    result = bohrbug.explore(
        lambda: trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)),
        strategy="dpor",
        timeouts="late",
    )
    assert result.verdict.kind is VerdictKind.HOLDS
    assert not result.verdict.caveats


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
    assert failure.trace.defaults
    assert not failure.trace.arities


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


_kept: list[object] = []
"""What keeps runs alive that nobody goes on with."""


def _guest_for_ever() -> None:
    calls: queue.Queue[Any] = queue.Queue()

    def call_soon(function: object) -> None:
        _kept.append(function)
        calls.put(function)

    trio.lowlevel.start_guest_run(
        trio.sleep_forever, run_sync_soon_threadsafe=call_soon, done_callback=print
    )
    while True:
        calls.get()()


def test_a_run_that_was_ended_is_left_by_nobody() -> None:
    """Its thread can run trio again, in the next execution and after the last one."""
    (failure,) = bohrbug.explore(_guest_for_ever).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed == 3
    # Not the thread that waits for the guest.
    (blocked,) = failure.outcome.blocked
    assert blocked.task == "0.1"
    trio.run(trio.sleep, 0)


def test_a_guest_of_asyncio_is_explored() -> None:
    orders = set()

    async def in_trio() -> None:
        order: list[int] = []

        async def note(number: int) -> None:
            order.append(number)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(note, 1)
            nursery.start_soon(note, 2)
        orders.add(tuple(order))

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        trio.lowlevel.start_guest_run(
            in_trio,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            run_sync_soon_not_threadsafe=loop.call_soon,
            done_callback=done.set_result,
        )
        (await done).unwrap()

    result = bohrbug.explore(lambda: asyncio.run(main()))
    assert not result.failures
    assert orders == {(1, 2), (2, 1)}


def test_a_loop_that_spins_until_a_deadline_ends() -> None:
    async def main() -> None:
        with trio.move_on_after(5):
            while True:
                await trio.lowlevel.checkpoint()

    assert explore(main, timeouts="late").verdict.kind is VerdictKind.HOLDS


def test_no_time_passes_for_tasks_that_come_further() -> None:
    async def main() -> None:
        send, receive = trio.open_memory_channel[int](0)

        async def feed() -> None:
            async with send:
                for number in range(1_300):
                    await send.send(number)

        with trio.fail_after(1):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(feed)
                async for _ in receive:
                    pass

    result = bohrbug.explore(lambda: trio.run(main), executions=1, timeouts="late")
    assert not result.failures
    assert result.virtual_seconds < 1


@pytest.mark.parametrize("strategy", ["auto", "dpor"])
def test_other_threads_run_between_the_steps_of_tasks(strategy: str) -> None:
    seen = set()

    def test() -> None:
        values: list[int] = []

        async def main() -> None:
            await trio.lowlevel.checkpoint()
            values.append(0)
            await trio.lowlevel.checkpoint()
            values.append(1)

        thread = threading.Thread(target=lambda: values.append(7))
        thread.start()
        trio.run(main)
        thread.join()
        seen.add(tuple(values))

    assert not bohrbug.explore(test, strategy=strategy, executions=400).failures
    assert seen == {(7, 0, 1), (0, 7, 1), (0, 1, 7)}


@pytest.mark.parametrize("by", ["an event", "a scope"])
def test_who_becomes_ready_together_goes_on_in_any_order(by: str) -> None:
    """Trio has them in a set, whose order is that of addresses."""
    orders = set()

    async def main() -> None:
        order: list[int] = []
        event, scope = trio.Event(), trio.CancelScope()

        async def child(number: int) -> None:
            try:
                await event.wait()
            finally:
                order.append(number)

        with scope:
            async with trio.open_nursery() as nursery:
                for number in range(3):
                    nursery.start_soon(child, number)
                await trio.testing.wait_all_tasks_blocked()
                event.set() if by == "an event" else scope.cancel()
        orders.add(tuple(order))

    result = explore(main)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert orders == set(itertools.permutations(range(3)))


def test_an_execution_leaves_no_run_and_no_worker() -> None:
    """They would pile up, and each collection between two executions would look at all of them."""
    left: list[weakref.ref[Any]] = []

    async def main() -> None:
        left.append(weakref.ref(trio.lowlevel.current_trio_token()))
        await trio.to_thread.run_sync(lambda: left.append(weakref.ref(threading.current_thread())))

    result = bohrbug.explore(lambda: trio.run(main), executions=20)
    assert not result.failures
    gc.collect()
    assert len(left) > 4
    assert [each() for each in left if each() is not None] == []


def test_what_a_thread_hands_to_a_run_is_ordered_before_what_the_run_does_with_it() -> None:
    """Also if the run was awake for another thread: the second one has not told it anything."""

    class Answer:
        def __init__(self) -> None:
            self.value = 1

    async def main() -> None:
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                answer = await trio.to_thread.run_sync(Answer)
                assert answer.value == 1

            for _ in range(2):
                nursery.start_soon(ask)

    result = explore(main, executions=60)
    assert not result.failures
    assert not result.races


@pytest.mark.parametrize("idempotent", [False, True])
def test_jobs_of_threads_come_in_the_order_in_which_they_are_handed_over(idempotent: bool) -> None:
    turns = set()

    async def main() -> None:
        token = trio.lowlevel.current_trio_token()
        done = trio.Event()
        order: list[str] = []

        def job(name: str) -> None:
            order.append(name)
            if len(order) == 2:
                done.set()

        def ask(name: str) -> None:
            token.run_sync_soon(job, name, idempotent=idempotent)

        threads = [threading.Thread(target=ask, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        await done.wait()
        for thread in threads:
            thread.join()
        turns.add("".join(order))

    result = explore(main, strategy="dpor", executions=200)
    assert not result.failures
    assert not result.races
    assert turns == {"ab", "ba"}
