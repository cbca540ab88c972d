"""What a task waits for by a function of asyncio, as reports of deadlocks say it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import bohrbug
from bohrbug.report.text import failure_text


def report_on(main: Callable[[], Coroutine[Any, Any, None]]) -> str:
    (failure,) = bohrbug.explore(lambda: asyncio.run(main())).failures
    return " ".join(failure_text(failure, width=200).split())


def test_tasks_are_waited_for() -> None:
    async def ever(event: asyncio.Event) -> None:
        await event.wait()

    async def main() -> None:
        event = asyncio.Event()
        await asyncio.wait([asyncio.create_task(ever(event)) for _ in range(2)])

    report = report_on(main)
    assert "Task 0.1 (main) waits for the end of task 0.1.1 and task 0.1.2" in report
    assert "waits for Event event" in report


def test_a_module_is_no_name_of_a_future() -> None:
    async def main() -> None:
        await asyncio.wait([asyncio.get_running_loop().create_future()])

    assert "Task 0.1 (main) waits for a future (" in report_on(main)
