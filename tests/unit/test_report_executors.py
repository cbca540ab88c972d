"""Reports of tests with executors: what workers do in the standard library takes little room."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import bohrbug
from bohrbug.report.naming import Names
from bohrbug.report.schedule import Line, _words, schedule_of


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
    # The end of the executor is the end of its workers.
    assert rows[-1].operations[-1].startswith("join task 0.1")


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
