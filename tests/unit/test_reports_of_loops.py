"""Reports and causes of failures in event loops."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import bohrbug
from bohrbug.model.cause import Strength
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.serialise import trace_from_json, trace_to_json
from bohrbug.report.explanation import explain
from bohrbug.report.naming import Names
from bohrbug.report.text import failure_text
from tests.unit.logs_of_loops import explored


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
    assert sorted(blocked) == ["0.1", "0.1.1", "0.1.2"]
    assert blocked["0.1"].holders == ("0.1.1", "0.1.2")
    assert [frame.site.function for frame in blocked["0.1.1"].stack][-1].endswith("both")
    report = failure_text(failure)
    assert "waits for Lock" in report
    assert "waits for the end of task 0.1.1 and task 0.1.2" in " ".join(report.split())
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

    assert tasks_of_the_cause(test) == {"0.1", "0.1.1", "0.1.2"}


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

    assert tasks_of_the_cause(lambda: asyncio.run(main())) == {"0.1.1", "0.1.2"}


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
    assert "first) is late (test_reports_of_loops.py:" in report
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


def test_only_tasks_that_the_program_asks_for_are_counted() -> None:
    """The thread, the main coroutine and what it gathers: not the callbacks of asyncio."""

    async def main() -> None:
        await asyncio.gather(asyncio.sleep(0.01), asyncio.sleep(0))

    assert bohrbug.explore(lambda: asyncio.run(main())).tasks == 4
