"""Reports call a timer of asyncio by where the program has set it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import bohrbug
from bohrbug.exploration.minimisation.ranks import LoopEvents
from bohrbug.model.operation import CALLBACK
from bohrbug.report.explanation import who_goes_on
from bohrbug.report.naming import Names
from bohrbug.report.stories import TaskSteps
from bohrbug.report.text import failure_text


def _receive_in_time() -> None:
    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue()

        async def produce() -> None:
            await asyncio.sleep(0.04)
            await queue.put(1)

        async def receive() -> int:
            return await asyncio.wait_for(queue.get(), 0.05)  # early

        received, _ = await asyncio.gather(receive(), produce())
        assert received == 1

    asyncio.run(main())


def _wait_in_vain() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(int)
        await asyncio.wait_for(asyncio.Event().wait(), 0.05)  # in its time

    asyncio.run(main())


def _within_a_timeout() -> None:
    async def fetch() -> None:
        await asyncio.sleep(0.04)  # short

    async def main() -> None:
        async with asyncio.timeout(0.05):  # longer
            await fetch()

    asyncio.run(main())


def _of_a_task() -> None:
    async def fetch() -> None:
        await asyncio.sleep(0.04)  # in a task

    async def main() -> None:
        await asyncio.wait_for(asyncio.create_task(fetch()), 0.05)  # waits

    asyncio.run(main())


def _visit_twice() -> None:
    links = {"/": ["/a", "/b"], "/a": ["/c"], "/b": ["/c"], "/c": []}
    seen: set[str] = set()
    fetched: list[str] = []

    async def visit(page: str) -> None:
        if page not in seen:
            await asyncio.sleep(0.01)  # of a fetch
            fetched.append(page)
            seen.add(page)
            await asyncio.gather(*map(visit, links[page]))

    asyncio.run(visit("/"))
    assert len(fetched) == len(seen)


def _load_thrice() -> None:
    data: dict[str, int] = {}
    loaded: list[str] = []

    async def get(key: str, turn: asyncio.Lock) -> None:
        async with turn:
            await asyncio.sleep(0)  # before it looks
        if key not in data:
            loaded.append(key)
            await asyncio.sleep(0)  # before it stores
            data[key] = 1

    async def main() -> None:
        turn = asyncio.Lock()
        await asyncio.gather(*(get("a", turn) for _ in range(3)))

    asyncio.run(main())
    assert len(loaded) < 3


def _line_of(comment: str) -> int:
    with open(__file__) as file:
        lines = enumerate(file, 1)
        return next(number for number, line in lines if line.rstrip().endswith(comment))


def test_a_timer_that_is_over_early_has_the_place_where_it_was_set() -> None:
    result = bohrbug.explore(_receive_in_time, executions=300, seconds=None)
    (failure,) = result.failures
    text = " ".join(failure_text(failure).split())
    early = f"timeout at test_timers_in_reports.py:{_line_of('# early')} in task "
    assert re.search(rf"{re.escape(early)}[0-9.]+ [(]receive[)] fires although", text)
    assert "timeout fires early" in text
    for jargon in ("_release_waiter", "_on_timeout"):
        assert jargon not in text.partition("Traceback")[0]


def test_so_has_one_that_is_over_in_its_time_and_no_other_callback() -> None:
    result = bohrbug.explore(_wait_in_vain, executions=1, seconds=None)
    (failure,) = result.failures
    trace = failure.trace
    names = Names(trace)
    found = [
        site.line
        for task, operation in zip(trace.tasks, trace.operations, strict=True)
        if operation.kind is CALLBACK and (site := names.timer_set(operation, task)) is not None
    ]
    assert found == [_line_of("# in its time")]


def _cause_of(test: Callable[[], None]) -> str:
    (failure,) = bohrbug.explore(test, executions=300, seconds=None).failures
    return " ".join(failure_text(failure).split())


def test_a_timeout_is_told_as_the_timer_that_ends_the_wait() -> None:
    timer = f"the timeout (test_timers_in_reports.py:{_line_of('# longer')}) in task "
    wait = f"comes before the resume (test_timers_in_reports.py:{_line_of('# short')}) in task "
    assert re.search(
        f"if and only if {re.escape(timer)}[^)]*[)] {re.escape(wait)}", _cause_of(_within_a_timeout)
    )


def test_the_end_of_a_sleep_is_no_timeout() -> None:
    result = bohrbug.explore(_receive_in_time, executions=300, seconds=None)
    (failure,) = result.failures
    timeouts = LoopEvents(failure.trace).timeouts
    assert timeouts
    targets = {failure.trace.task_infos[event.task].target for event in timeouts}
    assert not any("sleep" in target or "set_result" in target for target in targets)


def test_that_a_task_goes_on_behind_its_own_sleep_is_no_cause() -> None:
    # It does wherever it sleeps, so that it would only say that the second fetch was made.
    fetch = rf"[(]test_timers_in_reports.py:{_line_of('# of a fetch')}[)] in task"
    told = re.search(
        rf"if and only if the resume {fetch} ([0-9.]+) [^)]*[)] comes before"
        rf" the end of the sleep {fetch} ([0-9.]+) ",
        _cause_of(_visit_twice),
    )
    assert told
    assert told[1] != told[2]


def test_that_who_waits_for_a_task_goes_on_behind_it_is_no_cause() -> None:
    looks, stores = _line_of("# before it looks"), _line_of("# before it stores")
    told = _cause_of(_load_thrice).partition("Checked")[0]
    assert "if and only if" in told
    assert told.count(f"test_timers_in_reports.py:{looks})") == 2
    assert told.count(f"test_timers_in_reports.py:{stores})") == 2


def test_what_only_asyncio_does_is_no_part_of_a_cause() -> None:
    cause = _cause_of(_of_a_task)
    told = cause[cause.index("if and only if") : cause.index("Checked")]
    assert f"resume (test_timers_in_reports.py:{_line_of('# waits')})" in told.replace("1st ", "")
    assert not re.search(r"(tasks|timeouts|futures)[.]py|cancellation|BaseEventLoop|task 0 ", told)


def test_a_callback_in_c_is_called_by_its_name() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.01, future.set_result, 1)
        await asyncio.sleep(0)
        assert future.done()

    (failure,) = bohrbug.explore(lambda: asyncio.run(main())).failures
    report = " ".join(failure_text(failure, width=200).split())
    assert re.search(r"callback \(\S+:\d+\) in task 0.1.1 \(Future.set_result\)", report)


def test_what_asyncio_passes_on_is_told_of_whose_doing_it_is() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(int)
        await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))
        raise AssertionError

    (failure,) = bohrbug.explore(lambda: asyncio.run(main()), executions=1).failures
    trace = failure.trace
    names = Names(trace)
    told = {
        trace.task_infos[task].target: (task, names.passed_on(operation, task))
        for task, operation in zip(trace.tasks, trace.operations, strict=True)
        if operation.kind is CALLBACK
    }
    callback, task = told[next(name for name in told if "_done_callback" in name)]
    assert task is not None
    assert callback.rpartition(".")[0] == task
    assert trace.task_infos[task].target == "sleep"
    assert told["int"][1] is None
    steps = TaskSteps(trace)
    assert who_goes_on(trace, callback, 0, steps, names, str) == (
        f"asyncio's callback {callback} for {task}"
    )
    assert who_goes_on(trace, task, 0, steps, names, str) == task
