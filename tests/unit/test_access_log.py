"""What is known of the order of steps in an event loop, where there are many tasks."""

from __future__ import annotations

import asyncio

import pytest

import bohrbug
from bohrbug.runtime.threads.loops import access_log
from bohrbug.runtime.threads.loops.access_log import AccessLog

MANY = 4 * access_log.SHORT_CLOCK


class Box:
    value = 0


async def add(box: Box) -> None:
    value = box.value
    await asyncio.sleep(0)
    box.value = value + 1


def longest_clock(monkeypatch: pytest.MonkeyPatch, program: object) -> int:
    """How many entries a clock has at most in one execution."""
    sizes = [0]
    usual = AccessLog._of_use

    def of_use(self: AccessLog, clock: dict[str, int]) -> dict[str, int]:
        kept = usual(self, clock)
        sizes.append(len(kept))
        return kept

    monkeypatch.setattr(AccessLog, "_of_use", of_use)
    bohrbug.explore(program, executions=1, strategy="random")  # type: ignore[arg-type]
    return max(sizes)


def test_clocks_do_not_grow_with_tasks_that_access_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        for _ in range(MANY):
            await asyncio.create_task(asyncio.sleep(0))

    longest = longest_clock(monkeypatch, lambda: asyncio.run(main()))
    assert 1 < longest <= access_log.SHORT_CLOCK + 2


def test_clocks_know_of_all_tasks_that_access_something(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        box = Box()
        for _ in range(MANY):
            await asyncio.create_task(add(box))

    longest = longest_clock(monkeypatch, lambda: asyncio.run(main()))
    assert longest >= MANY


def in_order_and_then_not() -> None:
    async def main() -> None:
        ordered, raced = Box(), Box()
        for _ in range(MANY):
            await asyncio.create_task(add(ordered))
        await asyncio.gather(add(raced), add(raced))

    asyncio.run(main())


def test_after_many_tasks_only_what_races_is_reported() -> None:
    result = bohrbug.explore(in_order_and_then_not, executions=3)
    [race] = result.races
    assert {race.first.task, race.second.task} == {f"0.1.{MANY + 1}", f"0.1.{MANY + 2}"}


def test_what_takes_too_much_memory_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "MOST_KNOWN", MANY)
    assert not bohrbug.explore(in_order_and_then_not, executions=3).races
