"""Reports of programs that use anyio above asyncio name the program's lines and anyio's locks."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.report.text import failure_text

anyio = pytest.importorskip("anyio")


def both_ways() -> None:
    first, second = anyio.Lock(), anyio.Lock()

    async def here() -> None:
        async with first:
            await anyio.sleep(0)
            async with second:
                pass

    async def there() -> None:
        async with second:
            await anyio.sleep(0)
            async with first:
                pass

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(here, name="here")
            group.start_soon(there, name="there")

    anyio.run(main)


def lost_update() -> None:
    seen = [0]

    async def add() -> None:
        before = seen[0]
        await anyio.sleep(0)
        seen[0] = before + 1

    async def later() -> None:
        await anyio.sleep(0.001)
        await add()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(add, name="add")
            group.start_soon(later, name="later")

    anyio.run(main)
    assert seen == [2]


def report_on(test: Callable[[], None]) -> str:
    (failure,) = bohrbug.explore(test).failures
    return " ".join(failure_text(failure, width=200).split())


def at(test: Callable[[], None], text: str) -> str:
    """The place of a line of a function, as reports write it."""
    lines, first = inspect.getsourcelines(test)
    return f"test_layers_above_loops.py:{first + next(n for n, x in enumerate(lines) if text in x)}"


def test_who_has_a_lock_and_who_waits_for_it_is_told() -> None:
    report = report_on(both_ways)
    taken = at(both_ways, "async with first")
    assert f"holds LockAdapter first (taken at {taken}) and waits for LockAdapter second" in report
    assert "TaskHandle" not in report.partition("stands at")[0]
    assert "Task 0.1 (main) waits for the end of task 0.1.1 and task 0.1.2" in report


def test_steps_are_those_of_the_program() -> None:
    report = report_on(lost_update)
    cause, schedule = report.split("Schedule")[:2]
    assert at(lost_update, "await anyio.sleep(0)") in cause, report
    assert "_asyncio.py" not in cause + schedule.partition("Traceback")[0], report


def needs_a_cancellation() -> None:
    done: list[int] = []

    async def use() -> None:
        await anyio.sleep(0)
        done.append(1)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(use)

    anyio.run(main)
    assert done


def test_tasks_have_the_names_of_their_functions() -> None:
    """By which they can be cancelled, too."""
    (failure,) = bohrbug.explore(needs_a_cancellation, cancel=["use"]).failures
    assert "task 0.1.1 (use) is cancelled" in " ".join(failure_text(failure, width=200).split())
