"""What tasks of an event loop come to under control."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.cause import Strength
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.serialise import trace_from_json, trace_to_json
from bohrbug.platforms.threads.platform import runtime_of
from bohrbug.report.explanation import explain
from bohrbug.report.naming import Names
from bohrbug.report.text import failure_text
from tests.unit.logs_of_loops import reached


def explored(main: Callable[[], Awaitable[None]]) -> Result:
    return bohrbug.explore(lambda: asyncio.run(main()), timeouts="late")  # type: ignore[arg-type]


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


def test_a_deadlock_names_the_tasks_that_wait_and_what_for() -> None:
    async def main() -> None:
        first, second = asyncio.Lock(), asyncio.Lock()

        async def both(one: asyncio.Lock, other: asyncio.Lock) -> None:
            async with one:
                await asyncio.sleep(0)
                async with other:
                    pass

        await asyncio.gather(both(first, second), both(second, first))

    (failure,) = explored(main).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    blocked = {each.task: each for each in failure.outcome.blocked}
    assert sorted(blocked) == ["0.2", "0.2.1", "0.2.2"]
    assert blocked["0.2"].holders == ("0.2.1", "0.2.2")
    assert [frame.site.function for frame in blocked["0.2.1"].stack][-1].endswith("both")
    report = failure_text(failure)
    assert "waits for Lock" in report
    assert "waits for the end of task 0.2.1 and task 0.2.2" in " ".join(report.split())
    assert "It deadlocks under every schedule tried" in " ".join(report.split())
    in_words = explain(failure.trace, failure.essential, Names(failure.trace))
    assert in_words.endswith(
        "without any preemption, as its event loop runs the tasks if nothing is late."
    )


def test_a_report_tells_of_each_stretch_of_a_loop_once() -> None:
    """A run of a loop has several: the main task, and what closes it."""

    def test() -> None:
        added = []
        thread = threading.Thread(target=lambda: added.append(1))
        thread.start()
        asyncio.run(asyncio.sleep(0))
        first = added[:]
        thread.join()
        assert first

    (failure,) = bohrbug.explore(test, strategy="dfs", executions=1).failures
    in_words = explain(failure.trace, failure.essential, Names(failure.trace))
    assert in_words.count("what comes next in its event loop") == 1


def test_a_cause_is_nothing_that_follows_from_the_failure() -> None:
    """Both results are there when the first wait ends, and one of them is dropped."""
    results = []

    async def main() -> None:
        async def job(turns: int) -> int:
            for _ in range(turns):
                await asyncio.sleep(0)
            return turns

        pending = {asyncio.create_task(job(1)), asyncio.create_task(job(2))}
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            results.append(done.pop().result())

    def test() -> None:
        results.clear()
        asyncio.run(main())
        assert len(results) == 2

    assert tasks_of_the_cause(test) == {"0.2", "0.2.1", "0.2.2"}


def test_what_comes_after_an_exception_that_c_code_has_raised_is_no_cause() -> None:
    async def main() -> None:
        items = ["one"]

        @asynccontextmanager
        async def taken() -> AsyncIterator[str]:
            while not items:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            item = items.pop()
            try:
                yield item
            finally:
                items.append(item)

        async def use(turns: int) -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            async with taken():
                await asyncio.sleep(0)

        await asyncio.gather(use(0), use(2))

    assert tasks_of_the_cause(lambda: asyncio.run(main())) == {"0.2.1", "0.2.2"}


def tasks_of_the_cause(test: Callable[[], object]) -> set[str]:
    """The tasks that the cause of the only failure of a test speaks of."""
    (failure,) = bohrbug.explore(test, strategy="dpor", executions=100).failures
    assert failure.cause is not None
    assert failure.cause.strength is Strength.EXACT
    return {event.task for each in failure.cause.orderings for event in (each.first, each.second)}


def test_a_report_says_who_is_late_and_who_comes_first() -> None:
    async def main() -> None:
        log: list[Any] = []

        async def first() -> None:
            await asyncio.sleep(0)
            log.append("first")

        async def second() -> None:
            for _ in range(3):
                await asyncio.sleep(0)
            log.append("second")

        await asyncio.gather(first(), second())
        assert log == ["first", "second"]

    (failure,) = explored(main).failures
    report = " ".join(failure_text(failure).split())
    assert "first) is late (test_turns.py:" in report
    assert "goes on first" in report
    assert "preempted" not in report
    # Another process reads from its file what was to go on.
    again = trace_from_json(json.loads(json.dumps(trace_to_json(failure.trace))))
    assert again.preemptions() == failure.trace.preemptions()
    assert again.defaults == failure.trace.defaults


def test_who_is_late_for_several_others_is_told_once() -> None:
    async def main() -> None:
        log: list[str] = []

        async def late() -> None:
            await asyncio.sleep(0)
            log.append("late")

        async def relay(left: int) -> None:
            if left:
                await asyncio.sleep(0)
                await asyncio.create_task(relay(left - 1))
            else:
                log.append("relayed")

        await asyncio.gather(late(), relay(4))
        assert log == ["late", "relayed"]

    (failure,) = explored(main).failures
    report = " ".join(failure_text(failure).split())
    assert len(failure.essential) > 3
    assert f"others go on first {len(failure.essential)} times, the last of them task" in report
    assert report.count("is late") == 1
    assert "more preemption" not in report


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


def test_a_schedule_leaves_out_what_asyncio_runs_of_its_own() -> None:
    async def waits(event: asyncio.Event) -> None:
        await event.wait()

    async def main() -> None:
        event = asyncio.Event()
        done = asyncio.ensure_future(asyncio.sleep(0))
        await asyncio.wait([done])
        await asyncio.wait([asyncio.ensure_future(waits(event))])

    (failure,) = explored(main).failures
    own = {info.target for info in failure.trace.task_infos.values()}
    assert "_wait.<locals>._on_completion" in own
    text = failure_text(failure)
    assert "_on_completion" not in text
    assert "waits" in text
    assert "_on_completion" in failure_text(failure, full=True)


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
