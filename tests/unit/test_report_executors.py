"""Reports of tests with executors: what workers do in the standard library takes little room."""

from __future__ import annotations

import asyncio
import operator
import sys
import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import bohrbug
from bohrbug.model.operation import INSPECT
from bohrbug.model.site import site_of
from bohrbug.report.naming import Names
from bohrbug.report.schedule import Line, _words, schedule_of
from bohrbug.report.text import failure_text


def failing() -> None:
    seen: list[int] = []
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(seen.append, 1).result()
    raise ValueError(seen)


def test_stretches_in_the_standard_library_are_one_row() -> None:
    result = bohrbug.explore(failing, executions=2, causes=0, predict=0)
    trace = result.failures[0].trace
    rows = [row for row in schedule_of(trace, (), Names(trace)).rows if isinstance(row, Line)]
    # From the queue of work to the result of the future, without a source line.
    working = next(row for row in rows if row.task == "0.1" and row.place.startswith("thread.py"))
    assert not working.source
    assert any(words.startswith("resolve Future") for words in working.operations)
    assert any(words.startswith("begin work for Future") for words in working.operations)
    # The end of the executor is the end of its workers.
    assert rows[-1].operations[-1].startswith("join task 0.1")


def test_a_future_is_not_said_to_be_resolved_before_it_is() -> None:
    def test() -> None:
        with ThreadPoolExecutor(max_workers=1) as executor:
            executor.submit(int).add_done_callback(str)
        raise ValueError

    trace = bohrbug.explore(test, executions=2, causes=0, predict=0).failures[0].trace
    future = next(id for id, resource in trace.resources.items() if resource.type == "Future")
    kinds = [each.kind.name for each in trace.operations if each.resource == future]
    assert sorted(kinds) == ["add_callback", "resolve", "set_running"]
    rows = [row for row in schedule_of(trace, (), Names(trace)).rows if isinstance(row, Line)]
    words = [each for row in rows if row.task == "0" for each in row.operations]
    assert any(each.startswith("add callback to Future") for each in words)
    assert not any(each.startswith("resolve") for each in words)


def test_operations_on_one_resource_are_told_together() -> None:
    lock = ["acquire RLock lock", "release RLock lock"]
    assert _words(lock) == ["acquire and release RLock lock"]
    assert _words(["get Queue q", *lock, "put Queue q"]) == [
        "get Queue q",
        "acquire and release RLock lock",
        "put Queue q",
    ]
    assert _words(["read x", "write x", "delete x"]) == ["read, write and delete x"]
    assert _words([*lock, *lock]) == ["acquire RLock lock x2", "release RLock lock x2"]
    assert _words(["start task 0.1", "start task 0.2"]) == ["start task 0.1", "start task 0.2"]
    assert _words(["sleep", "yield"]) == ["sleep", "yield"]


def report(test: Callable[[], object]) -> str:
    """The report of a test that fails, on one line."""
    (failure,) = bohrbug.explore(test, seconds=None, timeouts="early").failures
    return " ".join(failure_text(failure).split())


class Results:
    def __init__(self) -> None:
        self.kept: list[int] = []

    def collect(self) -> None:
        with ThreadPoolExecutor(2) as executor:
            list(executor.map(self.kept.append, range(2)))


def collected_by_a_method() -> None:
    results = Results()
    results.collect()
    assert results.kept == [0, 1]


def collected_by_a_partial() -> None:
    results: list[int] = []
    threads = [threading.Thread(target=partial(results.append, number)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0, 1]


def collected_by_timers() -> None:
    results = Results()
    timers = [threading.Timer(0.1, results.kept.append, [number]) for number in range(2)]
    for timer in timers:
        timer.start()
    for timer in timers:
        timer.join()
    assert results.kept == [0, 1]


def collected_for_an_event_loop() -> None:
    results: list[int] = []

    async def main() -> None:
        run = asyncio.get_running_loop().run_in_executor
        await asyncio.gather(*(run(None, results.append, number) for number in range(2)))

    asyncio.run(main())
    assert results == [0, 1]


def collected_by_a_function_of_a_module() -> None:
    results: dict[str, int] = {}
    with ThreadPoolExecutor(2) as executor:
        for number in range(2):
            executor.submit(operator.setitem, results, "last", number)
    last = results.pop("last")
    assert last == 1


@pytest.mark.parametrize(
    ("test", "name"),
    [
        (collected_by_a_method, "list Results.kept"),
        (collected_by_a_partial, "list results"),
        (collected_by_timers, "list results.kept"),
        (collected_for_an_event_loop, "list results"),
        (collected_by_a_function_of_a_module, "dict['last']"),
    ],
)
def test_what_a_function_in_c_works_on_has_the_name_of_the_program(
    test: Callable[[], object], name: str
) -> None:
    text = report(test)
    assert f"the write of {name} in task" in text
    assert "callables.py" not in text


def waits_for_the_first() -> None:
    with ThreadPoolExecutor(2) as executor:
        made = [executor.submit(int) for _ in range(2)]
        done, _ = futures.wait(made, return_when=futures.FIRST_COMPLETED)
    assert len(done) != 1


def test_an_executor_is_used_where_the_program_does() -> None:
    (failure,) = bohrbug.explore(waits_for_the_first, seconds=None).failures
    names = Names(failure.trace)
    told = {
        row.source
        for row in schedule_of(failure.trace, (), names).rows
        if isinstance(row, Line) and row.task == "0" and row.place
    }
    assert told == {
        "made = [executor.submit(int) for _ in range(2)]",
        "done, _ = futures.wait(made, return_when=futures.FIRST_COMPLETED)",
        "with ThreadPoolExecutor(2) as executor:",
    }
    text = " ".join(failure_text(failure).split())
    assert "· submit to ThreadPoolExecutor executor x2" in text
    assert "waits for futures" in text
    assert "get ThreadPoolExecutor work queue" in text


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="copies futures without methods of theirs")
def test_what_an_event_loop_calls_is_not_where_the_loop_was_run() -> None:
    (failure,) = bohrbug.explore(collected_for_an_event_loop, seconds=None).failures
    trace = failure.trace
    sites = [
        site_of(operation.place)
        for task, operation in zip(trace.tasks, trace.operations, strict=True)
        # What the loop calls once a future is done.
        if operation.kind is INSPECT and trace.task_infos[task].target.endswith("_set_state")
    ]
    assert sites
    assert {site and Path(site.filename).name for site in sites} == {"futures.py"}
