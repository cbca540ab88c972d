"""Tasks of event loops that may be cancelled wherever they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import trio

import bohrbug
from bohrbug.exploration.reproduction import options_from_json, options_to_json
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.operation import CANCELLED
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.site import site_of
from bohrbug.report.text import failure_text

Main = Callable[[list[Any]], Awaitable[None]]


def explored(main: Main, *cancel: str, **options: Any) -> tuple[set[frozenset[Any]], Result]:
    """What the logs of all executions had, and how the exploration ended."""
    found: set[frozenset[Any]] = set()

    def test() -> None:
        log: list[Any] = []
        asyncio.run(main(log))  # type: ignore[arg-type]
        found.add(frozenset(log))

    options = {"timeouts": "late", "bound": None, "executions": 3_000, **options}
    return found, bohrbug.explore(test, cancel=cancel, **options)


async def waits(log: list[Any], name: str, event: asyncio.Event) -> None:
    try:
        await event.wait()
        log.append((name, "woken"))
    except asyncio.CancelledError:
        log.append((name, "cancelled", event.is_set()))


async def two_wait(log: list[Any]) -> None:
    event = asyncio.Event()
    tasks = [
        asyncio.create_task(waits(log, "a", event), name="first"),
        asyncio.create_task(waits(log, "b", event), name="second"),
    ]
    await asyncio.sleep(0)
    event.set()
    await asyncio.wait(tasks)


UNDISTURBED = frozenset({("a", "woken"), ("b", "woken")})
A_CANCELLED_BEFORE = frozenset({("a", "cancelled", False), ("b", "woken")})
A_CANCELLED_BEHIND = frozenset({("a", "cancelled", True), ("b", "woken")})
B_CANCELLED_BEFORE = frozenset({("a", "woken"), ("b", "cancelled", False)})
B_CANCELLED_BEHIND = frozenset({("a", "woken"), ("b", "cancelled", True)})


@pytest.mark.parametrize("strategy", ["dfs", "dpor", "ipb", "idb"])
def test_a_task_is_cancelled_while_it_waits_and_when_it_is_about_to_go_on(strategy: str) -> None:
    found, result = explored(two_wait, "first", strategy=strategy)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert found == {UNDISTURBED, A_CANCELLED_BEFORE, A_CANCELLED_BEHIND}


def test_only_one_is_cancelled_in_an_execution() -> None:
    found, _ = explored(two_wait, "wait?")
    of_one = {A_CANCELLED_BEFORE, A_CANCELLED_BEHIND, B_CANCELLED_BEFORE, B_CANCELLED_BEHIND}
    assert found == {UNDISTURBED, *of_one}


def test_nobody_is_cancelled_unless_asked() -> None:
    found, _ = explored(two_wait)
    assert found == {UNDISTURBED}


@pytest.mark.parametrize("strategy", ["dfs", "random"])
def test_only_one_is_cancelled_whatever_loop_it_is_of(strategy: str) -> None:
    logs: set[tuple[Any, ...]] = set()

    def test() -> None:
        log: list[Any] = []
        for _ in range(2):
            asyncio.run(two_wait(log))
        logs.add(tuple(log))

    bohrbug.explore(test, cancel=("first",), strategy=strategy, timeouts="late", executions=300)
    assert {sum("cancelled" in each for each in log) for log in logs} == {0, 1}


def test_a_note_tells_of_a_name_that_no_task_has() -> None:
    _, result = explored(two_wait, "thirst", "first")
    assert result.verdict.kind is VerdictKind.HOLDS
    assert "at most one cancellation, of thirst, first" in str(result.verdict.conditions)
    told = "no task of an event loop is called thirst, so none was cancelled"
    assert result.notices == [told]
    assert told in bohrbug.explore(lambda: None, cancel="thirst").notices


def test_no_note_tells_of_tasks_that_are_there_under_some_schedules_only() -> None:
    async def main(log: list[Any]) -> None:
        await asyncio.gather(pauses(log, 1), pauses(log, 2))
        if log == [2, 1]:
            await asyncio.create_task(pauses(log, 3), name="seldom")

    async def pauses(log: list[Any], number: int) -> None:
        await asyncio.sleep(0)
        log.append(number)

    found, result = explored(main, "seldom")
    assert frozenset({1, 2, 3}) in found
    assert result.notices == []


async def in_a_group(log: list[Any]) -> None:
    event = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(waits(log, "a", event))
        await asyncio.sleep(0)
        event.set()


async def in_a_timeout(log: list[Any]) -> None:
    event = asyncio.Event()

    async def waits_for_long() -> None:
        async with asyncio.timeout(100):
            await waits(log, "a", event)

    task = asyncio.create_task(waits_for_long())
    await asyncio.sleep(0)
    event.set()
    await asyncio.wait([task])


async def in_wait_for(log: list[Any]) -> None:
    event = asyncio.Event()
    task = asyncio.create_task(asyncio.wait_for(waits(log, "a", event), 100))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    event.set()
    await asyncio.wait([task])


@pytest.mark.parametrize("main", [in_a_group, in_a_timeout, in_wait_for])
def test_scopes_are_all_that_something_may_cancel(main: Main) -> None:
    found, result = explored(main, "scopes")
    assert not result.failures, failure_text(result.failures[0])
    seen = {each for log in found for each in log}
    assert seen == {("a", "woken"), ("a", "cancelled", False), ("a", "cancelled", True)}


def test_outside_of_scopes_nobody_is_cancelled() -> None:
    found, _ = explored(two_wait, "scopes")
    assert found == {UNDISTURBED}


class Slots:
    """Hands out a slot; who is cancelled while using it never gives it back."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(1)

    async def use(self) -> None:
        await self.free.acquire()
        await asyncio.sleep(0)
        self.free.release()


async def slots_are_used(_: list[Any]) -> None:
    slots = Slots()
    await asyncio.wait([asyncio.create_task(slots.use()) for _ in range(2)])


def test_a_report_says_who_is_cancelled_where() -> None:
    _, result = explored(slots_are_used, "Slots.use")
    (failure,) = result.failures
    assert failure.confirmed
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert len(failure.trace.faults()) == 1
    text = " ".join(failure_text(failure).split())
    assert "It needs a fault: task 0.1.1 (Slots.use) is cancelled while it waits" in text


def test_files_keep_who_may_be_cancelled() -> None:
    options = bohrbug.exploration.options.ExploreOptions(cancel=("first",), async_order="fifo")
    again = options_from_json(options_to_json(options))
    assert (again.cancel, again.async_order) == (("first",), "fifo")


class CountedSlots:
    """The slot is lost of who is cancelled while it has one."""

    def __init__(self) -> None:
        self.free = 1

    async def use(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        self.free -= 1
        await sleep(1)
        self.free += 1


def lost_by_asyncio() -> None:
    async def main() -> None:
        slots = CountedSlots()
        user = asyncio.create_task(slots.use(asyncio.sleep))
        await asyncio.sleep(0.5)
        user.cancel()
        await asyncio.wait([user])
        assert slots.free == 1

    asyncio.run(main())


def lost_by_a_timeout() -> None:
    async def main() -> None:
        slots = CountedSlots()
        with suppress(TimeoutError):
            await asyncio.wait_for(slots.use(asyncio.sleep), 0.5)
        assert slots.free == 1

    asyncio.run(main())


def lost_by_a_cancelled_future() -> None:
    async def main() -> None:
        slots = CountedSlots()
        future = asyncio.get_running_loop().create_future()
        user = asyncio.create_task(slots.use(lambda _: future))
        await asyncio.sleep(0.5)
        future.cancel()
        await asyncio.wait([user])
        assert slots.free == 1

    asyncio.run(main())


def lost_by_trio() -> None:
    async def main() -> None:
        slots = CountedSlots()
        with trio.move_on_after(0.5):
            await slots.use(trio.sleep)
        assert slots.free == 1

    trio.run(main)


@pytest.mark.parametrize("test", [lost_by_asyncio, lost_by_a_cancelled_future, lost_by_trio])
def test_a_schedule_tells_who_was_cancelled(test: Callable[[], None]) -> None:
    failure = bohrbug.explore(test, timeouts="late", executions=3, causes=0).failures[0]
    cancelled = [each for each in failure.trace.operations if each.kind is CANCELLED]
    sites = [site_of(operation.place) for operation in cancelled]
    functions = [site.function for site in sites if site is not None]
    # Trio cancels a task of its own at the end of a run.
    assert [each for each in functions if each != "EntryQueue.task"] == ["CountedSlots.use"]
    assert "await sleep(1)" in failure_text(failure)
    assert "cancelled" in failure_text(failure)


def test_a_schedule_tells_what_a_timeout_has_cancelled() -> None:
    failure = bohrbug.explore(lost_by_a_timeout, timeouts="late", causes=0).failures[0]
    # From 3.12 on it is the task itself that waits for what has a timeout.
    assert sum(each.kind is CANCELLED for each in failure.trace.operations) == 1
    assert "cancelled" in failure_text(failure)


def test_who_is_not_cancelled_resumes() -> None:
    async def main() -> None:
        await CountedSlots().use(asyncio.sleep)
        raise AssertionError

    failure = bohrbug.explore(lambda: asyncio.run(main()), executions=1, causes=0).failures[0]
    assert CANCELLED not in {operation.kind for operation in failure.trace.operations}
