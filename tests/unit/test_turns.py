"""What tasks of an event loop come to under control."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import runtime_of
from tests.unit.logs_of_loops import explored, reached


async def says(log: list[Any], name: str, pauses: int = 0) -> None:
    for _ in range(pauses):
        await asyncio.sleep(0)
    log.append(name)


@contextmanager
def pair_of_sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    receiving, sending = socket.socketpair()
    with receiving, sending:
        receiving.setblocking(False)
        yield receiving, sending


async def receives(log: list[Any], receiving: socket.socket) -> None:
    await asyncio.get_running_loop().sock_recv(receiving, 1)
    log.append("received")


def test_callbacks_are_never_reordered() -> None:
    async def main(log: list[Any]) -> None:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        for number in range(3):
            loop.call_soon(log.append, number)
            future.add_done_callback(lambda _, number=number: log.append(("done", number)))
        future.set_result(None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    expected = (0, 1, 2, ("done", 0), ("done", 1), ("done", 2))
    assert reached(main) == {expected}


def test_a_pause_may_take_more_than_one_turn() -> None:
    async def main(log: list[Any]) -> None:
        await asyncio.gather(says(log, "a", 1), says(log, "b", 2))

    assert reached(main) == {("a", "b"), ("b", "a")}


def test_in_the_order_fifo_a_pause_takes_one_turn() -> None:
    async def main(log: list[Any]) -> None:
        loop = asyncio.get_running_loop()
        late = loop.create_future()
        loop.call_later(1, late.set_result, None)
        await asyncio.gather(says(log, "a", 1), says(log, "b", 2))
        await late

    assert reached(main, async_order="fifo") == {("a", "b")}


def test_in_the_order_fifo_what_arrives_may_still_be_late() -> None:
    async def main(log: list[Any]) -> None:
        with pair_of_sockets() as (receiving, sending):

            async def send() -> None:
                sending.send(b"x")
                await says(log, "paused", 3)

            await asyncio.gather(receives(log, receiving), send())

    assert len(reached(main, async_order="fifo")) == 2


def test_tasks_that_do_not_pause_run_in_the_order_of_their_making() -> None:
    async def main(log: list[Any]) -> None:
        await asyncio.gather(*(says(log, name) for name in "abc"))

    assert reached(main) == {("a", "b", "c")}


def test_timers_come_in_their_order() -> None:
    async def main(log: list[Any]) -> None:
        async def later(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            log.append(name)

        times = {"c": 3, "a": 1, "b": 2, "d": 3}
        await asyncio.gather(*(later(name, seconds) for name, seconds in times.items()))

    assert reached(main) == {("a", "b", "c", "d")}


def test_a_timer_may_be_over_early() -> None:
    async def main(log: list[Any]) -> None:
        async def later() -> None:
            await asyncio.sleep(5)
            log.append("later")

        await asyncio.gather(later(), says(log, "now", 3))

    assert reached(main) == {("now", "later")}
    assert reached(main, timeouts="early") == {("now", "later"), ("later", "now")}


def test_a_lost_update_over_an_await_is_found_and_explained() -> None:
    class Account:
        balance = 0

    async def increment(account: Account) -> None:
        balance = account.balance
        await asyncio.sleep(0)
        account.balance = balance + 1

    async def later(account: Account) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        await increment(account)

    async def main() -> None:
        account = Account()
        await asyncio.gather(increment(account), later(account))
        assert account.balance == 2

    result = explored(main)
    assert result.verdict.kind is VerdictKind.FAILED
    failure = result.failures[0]
    assert failure.confirmed
    assert failure.cause is not None


def test_locked_it_holds() -> None:
    class Account:
        balance = 0

    async def main() -> None:
        account, lock = Account(), asyncio.Lock()

        async def increment(pauses: int) -> None:
            for _ in range(pauses):
                await asyncio.sleep(0)
            async with lock:
                balance = account.balance
                await asyncio.sleep(0)
                account.balance = balance + 1

        await asyncio.gather(increment(0), increment(2))
        assert account.balance == 2

    assert explored(main).verdict.kind is VerdictKind.HOLDS


def test_tasks_that_wait_for_each_other_are_in_a_deadlock() -> None:
    async def main() -> None:
        locks = asyncio.Lock(), asyncio.Lock()

        async def both(first: asyncio.Lock, second: asyncio.Lock, pauses: int) -> None:
            for _ in range(pauses):
                await asyncio.sleep(0)
            async with first:
                await asyncio.sleep(0)
                async with second:
                    pass

        await asyncio.gather(both(*locks, 0), both(*reversed(locks), 5))

    result = explored(main)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.DEADLOCK]
    assert result.failures[0].confirmed


def test_a_loop_that_spins_starves_nobody() -> None:
    async def main() -> None:
        done = threading.Event()
        thread = threading.Thread(target=done.set)
        thread.start()
        while not done.is_set():
            await asyncio.sleep(0)
        thread.join()

    assert not explored(main).failures


def test_a_loop_that_spins_comes_to_its_timer() -> None:
    async def main() -> None:
        over: list[int] = []
        asyncio.get_running_loop().call_later(5, over.append, 1)
        while not over:
            await asyncio.sleep(0)

    assert not explored(main).failures


def test_threads_and_tasks_are_under_one_schedule() -> None:
    class Counter:
        value = 0

    async def main() -> None:
        counter = Counter()

        def add() -> None:
            counter.value += 1

        future = asyncio.get_running_loop().run_in_executor(None, add)
        add()
        await future
        assert counter.value == 2

    result = explored(main)
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.failures[0].confirmed


def test_calls_from_two_threads_come_in_either_order() -> None:
    found = set()

    def test() -> None:
        log: list[int] = []
        loop = asyncio.new_event_loop()
        runs = threading.Thread(target=loop.run_forever)
        runs.start()

        async def add(number: int) -> None:
            log.append(number)

        def ask(number: int) -> None:
            asyncio.run_coroutine_threadsafe(add(number), loop).result()

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        loop.call_soon_threadsafe(loop.stop)
        runs.join()
        loop.close()
        found.add(tuple(log))

    assert not bohrbug.explore(test, executions=200).failures
    assert found == {(0, 1), (1, 0)}


def test_a_task_that_is_asked_to_be_cancelled_by_a_timer_is_no_step_of_it() -> None:
    async def main() -> None:
        task = asyncio.ensure_future(asyncio.sleep(100))
        asyncio.get_running_loop().call_later(1, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    assert explored(main).verdict.kind is VerdictKind.HOLDS


def test_streams_within_a_test_are_deterministic() -> None:
    async def main() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        async def ask(text: bytes) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(text)
            await writer.drain()
            line = await reader.readline()
            writer.close()
            await writer.wait_closed()
            return line

        assert await asyncio.gather(ask(b"a\n"), ask(b"b\n")) == [b"A\n", b"B\n"]
        server.close()

    result = bohrbug.explore(
        lambda: asyncio.run(main()), timeouts="late", executions=60, strategy="random"
    )
    assert not result.failures
    assert not result.verdict.caveats


def test_an_execution_that_ends_before_its_plan_has_diverged() -> None:
    def test() -> None:
        threads = [threading.Thread(target=threading.Event().set) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with runtime_of(test, ExploreOptions()) as runtime:
        choices = runtime.execute(Plan()).trace.choices
        divergence = runtime.execute(Plan((*choices, "0.9"))).trace.divergence
    assert divergence is not None
    assert divergence.step == len(choices)
    assert divergence.expected == "0.9"


def test_a_loop_that_is_stopped_before_it_has_anything_to_do_returns() -> None:
    def test() -> None:
        loop = asyncio.new_event_loop()
        loop.stop()
        loop.run_forever()
        loop.close()

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


# Most executions of a sampler are not watched for races.
@pytest.mark.parametrize(("strategy", "executions"), [("auto", 300), ("random", 80)])
def test_what_another_thread_cancels_does_not_run(strategy: str, executions: int) -> None:
    def test() -> None:
        errors: list[object] = []
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        handle = loop.call_soon(int)
        loop.call_soon(loop.stop)
        other = threading.Thread(target=handle.cancel)
        other.start()
        loop.run_forever()
        other.join()
        loop.close()
        assert not errors

    assert not bohrbug.explore(test, strategy=strategy, executions=executions, causes=0).failures


def test_what_a_loop_runs_is_not_divided_by_what_it_does_to_locks_of_threads() -> None:
    async def main(log: list[Any]) -> None:
        lock = threading.Lock()

        async def work(name: str) -> None:
            await asyncio.sleep(0)
            with lock:
                log.append(name)
            await asyncio.sleep(0)
            with lock:
                log.append(name)

        await asyncio.gather(work("a"), work("b"), work("c"))

    assert reached(main, strategy="dpor") == reached(main)


def test_all_that_is_late_may_come_in_one_turn() -> None:
    # The first one goes on in the turn of the child's pause, and what it calls for in the next.
    async def calls(log: list[Any]) -> None:
        await asyncio.sleep(0)
        log.append("calls")
        asyncio.get_running_loop().call_soon(log.append, "called")

    async def makes(log: list[Any]) -> None:
        child = asyncio.ensure_future(says(log, "child", 1))
        await says(log, "parent", 1)
        await child

    async def main(log: list[Any]) -> None:
        await asyncio.gather(calls(log), makes(log))

    found = reached(main)
    assert ("calls", "child", "parent", "called") in found
    assert found == reached(main, strategy="dpor")


def test_what_becomes_ready_meanwhile_may_pass_what_is_late() -> None:
    async def main(log: list[Any]) -> None:
        with pair_of_sockets() as (receiving, sending):

            async def send() -> None:
                await asyncio.sleep(0)
                sending.send(b"x")

            # Nothing was called for that could end the turn in which both pause.
            await asyncio.gather(receives(log, receiving), send(), says(log, "paused", 1))

    assert reached(main) == {("received", "paused"), ("paused", "received")}


def test_timers_of_one_virtual_time_need_not_come_in_one_turn() -> None:
    async def main(log: list[Any]) -> None:
        async def sleeps(name: str) -> None:
            await asyncio.sleep(1)
            log.append(name)
            asyncio.get_running_loop().call_soon(log.append, f"called by {name}")

        await asyncio.gather(sleeps("a"), sleeps("b"))
        await asyncio.sleep(0)

    found = reached(main)
    assert ("a", "b", "called by a", "called by b") in found
    assert ("a", "called by a", "b", "called by b") in found


def test_an_invariant_is_looked_at_between_the_steps_of_a_loop() -> None:
    account = {"balance": 0}

    async def spends() -> None:
        account["balance"] -= 1
        await asyncio.sleep(0)
        account["balance"] += 1

    async def main() -> None:
        account["balance"] = 0
        await asyncio.gather(spends(), spends())

    def never_below_minus_one() -> bool:
        return account["balance"] >= -1

    result = bohrbug.explore(lambda: asyncio.run(main()), invariant=never_below_minus_one)
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.INVARIANT
