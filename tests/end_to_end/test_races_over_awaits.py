"""Races over an await, in programs of asyncio and trio: found, named, classified, confirmed."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import threading
import weakref
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.exploration import follow_up
from bohrbug.exploration.closer_look import LEFT_BEHIND
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.cause import Cause, Strength
from bohrbug.model.history import events_of
from bohrbug.model.ordering import Ordering
from bohrbug.model.outcome import OutcomeKind, RacePattern
from bohrbug.model.serialise import trace_from_json, trace_to_json
from bohrbug.model.trace import Trace
from bohrbug.report.html.failure import failure_page
from bohrbug.report.text import failure_text
from tests.programs.awaits import racy, sound

Test = Callable[[], None]

HAS_TRIO = importlib.util.find_spec("trio") is not None


def _tests(module: object) -> list[Test]:
    return [
        each
        for each in vars(module).values()
        if inspect.isfunction(each) and each.__module__ == getattr(module, "__name__", "")
    ]


RACY, SOUND = _tests(racy), _tests(sound)
if HAS_TRIO:
    from tests.programs.awaits import with_trio

    for each in _tests(with_trio):
        (SOUND if (each.__doc__ or "").startswith("Sound") else RACY).append(each)


def _name(test: Test) -> str:
    return f"{test.__module__.rpartition('.')[2]}:{test.__name__}"


@pytest.mark.parametrize("test", RACY, ids=_name)
def test_a_race_is_told_and_classified(test: Test) -> None:
    pattern, label = (test.__doc__ or "").partition(". ")[0].rstrip(".").split(": ")
    if "[" not in label and "." not in label:
        label = "dict names[1]"
    result = bohrbug.explore(test, executions=60)
    assert result.verdict.kind is not VerdictKind.FAILED
    found = {(race.pattern.value, race.label) for race in result.races if race.stale is not None}
    assert found == {(pattern, label)}


@pytest.mark.parametrize("test", SOUND, ids=_name)
def test_no_race_is_told_of_a_sound_program(test: Test) -> None:
    result = bohrbug.explore(test, executions=60)
    assert result.verdict.kind is not VerdictKind.FAILED
    assert result.races == []


def test_both_tasks_and_all_places_are_told() -> None:
    (race,) = bohrbug.explore(racy.deposits, executions=60).races
    assert race.stale is not None
    lines = inspect.getsource(racy).splitlines()

    def text(number: int) -> str:
        return lines[number - 1].strip()

    read, between, write = (
        access.stack[-1].site for access in (race.stale.access, race.first, race.second)
    )
    assert text(read.line) == "balance = account.balance"
    assert text(between.line) == text(write.line) == "account.balance = balance + amount"
    assert race.stale.awaited is not None
    assert text(race.stale.awaited.line) == "await asyncio.sleep(0)"
    assert race.stale.reader == race.stale.other == "deposit"
    assert race.stale.access.task == race.second.task != race.first.task


def test_as_a_failure_it_is_replayed() -> None:
    result = bohrbug.explore(racy.deposits, races="fail")
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.RACE
    assert failure.outcome.message == "race over an await on Account.balance"
    assert failure.confirmed == 3
    read = json.loads(json.dumps(trace_to_json(failure.trace)))
    race = trace_from_json(read).outcome.race
    assert race is not None
    assert race.stale is not None
    assert race.pattern is RacePattern.LOST_UPDATE
    assert race.title == "race over an await on Account.balance"
    assert race.stale.reader == "deposit"


def _always_fails() -> None:
    deposited = racy.Account()

    async def deposit(amount: int) -> None:
        balance = deposited.balance
        await asyncio.sleep(0)
        deposited.balance = balance + amount

    async def main() -> None:
        await asyncio.gather(deposit(1), deposit(2))

    asyncio.run(main())
    assert deposited.balance == 3


def test_it_explains_a_failure_that_no_schedule_avoids() -> None:
    (failure,) = bohrbug.explore(_always_fails).failures
    report = failure_text(failure)
    before, after = report.split("What was out of date")
    assert "It fails under every schedule tried" in before
    told, _ = after.split("Schedule")
    for words in ("Race over an await on Account.balance", "it awaits at", "meanwhile task 0.1.1"):
        assert words in told
    # In the page of it, too: the read, the write that came between, and the one that rests on it.
    page = failure_page(failure)
    assert [(page.tasks[each.task].id, each.words) for each in page.moments] == [
        ("0.1.2", "reads Account.balance"),
        ("0.1.1", "writes Account.balance"),
        ("0.1.2", "writes Account.balance"),
    ]
    assert all(moment.step is not None for moment in page.moments)


def test_it_explains_nothing_where_a_schedule_does() -> None:
    async def main() -> None:
        account = racy.Account()
        order: list[str] = []

        async def deposit(name: str, amount: int) -> None:
            balance = account.balance
            await asyncio.sleep(0)
            account.balance = balance + amount
            order.append(name)

        await asyncio.gather(deposit("first", 1), deposit("second", 2))
        assert order == ["first", "second"]

    (failure,) = bohrbug.explore(main).failures
    assert failure.cause is not None
    assert failure.cause.orderings
    assert "What was out of date" not in failure_text(failure)


async def _fails_if_late() -> None:
    account = racy.Account()

    async def deposit(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        balance = account.balance
        await asyncio.sleep(0)
        account.balance = balance + 1

    await asyncio.gather(deposit(0), deposit(2))
    assert account.balance == 2


def test_it_says_what_happens_in_the_turns_that_make_a_test_fail() -> None:
    (failure,) = bohrbug.explore(_fails_if_late).failures
    assert failure.cause is not None
    assert failure.cause.explains_all
    report = failure_text(failure)
    before, after = report.split("What was out of date")
    assert "It fails if and only if" in before
    assert "Race over an await on Account.balance" in after
    assert [each.words for each in failure_page(failure).moments] == [
        "reads Account.balance",
        "writes Account.balance",
        "writes Account.balance",
    ]


def test_it_is_told_beside_orderings_that_are_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_some(failing: Trace, *_: object) -> Cause:
        events = [event for event in events_of(failing) if event is not None]
        return Cause(Strength.SUFFICIENT, (Ordering(events[0], events[-1]),), 9, 9, 9, 3)

    monkeypatch.setattr(follow_up, "find_cause", find_some)
    (failure,) = bohrbug.explore(_always_fails).failures
    report = failure_text(failure)
    assert "It fails whenever" in report
    assert "What was out of date" in report


def test_it_can_be_ignored() -> None:
    assert bohrbug.explore(racy.deposits, races="ignore").races == []


def test_without_data_accesses_there_is_none() -> None:
    assert bohrbug.explore(racy.deposits, level="sync").races == []


def test_what_one_coroutine_does_alone_is_not_looked_at() -> None:
    """A test without company is executed once, as it is."""

    def alone() -> None:
        asyncio.run(asyncio.sleep(0))

    result = bohrbug.explore(alone)
    assert result.executions == 1
    assert result.tasks > 1
    assert not result.is_concurrent


class _Cache:
    def __init__(self) -> None:
        self.data: dict[str, str] = {}
        self.loads = 0

    async def get(self, key: str) -> str:
        if key not in self.data:
            self.loads += 1
            await asyncio.sleep(0.1)
            self.data[key] = key.upper()
        return self.data[key]


async def _loads_once() -> None:
    cache = _Cache()

    async def user(delay: float) -> str:
        await asyncio.sleep(delay)
        return await cache.get("a")

    assert await asyncio.gather(user(0), user(0.2)) == ["A", "A"]
    assert cache.loads == 1


def test_the_end_of_a_sleep_is_told_of_who_sleeps() -> None:
    """And not of the callback by which asyncio ends it, nor of the loop that waits for it."""
    (failure,) = bohrbug.explore(_loads_once).failures
    report = failure_text(failure, width=80)
    why, schedule = report.split("Schedule", 1)
    assert "the end of the sleep" in why
    assert "the sleep of task 0.1.2 (user)" in why
    rows = schedule.splitlines()
    (number,) = [number for number, row in enumerate(rows) if "sleep ends early" in row]
    assert rows[number].startswith("  0.1.2 ")
    assert "await asyncio.sleep(delay)" in rows[number] + rows[number - 1]
    for jargon in ("_set_result_unless_cancelled", "futures.py", "coroutine_functions.py"):
        assert jargon not in report


_stock = {"book": 1}


def test_who_leaves_something_behind_is_told_so() -> None:
    """The second execution fails at the same assertion, as nothing is left to sell."""

    async def main() -> None:
        async def buy() -> bool:
            if _stock["book"] < 1:
                return False
            await asyncio.sleep(0)
            _stock["book"] -= 1
            return True

        assert sum(await asyncio.gather(buy(), buy())) == 1

    _stock["book"] = 1
    assert LEFT_BEHIND in bohrbug.explore(main).notices
    assert LEFT_BEHIND not in bohrbug.explore(_always_fails).notices


class _Filled:
    def __init__(self) -> None:
        self.is_ready = asyncio.Event()

    def fill(self) -> None:
        self.is_ready.set()


def test_to_see_more_of_the_next_execution_is_not_to_find_something_left_behind() -> None:
    """What a thread does to asyncio's own objects shows only once their code is rewritten."""

    async def main() -> None:
        filled = _Filled()
        thread = threading.Thread(target=filled.fill)
        thread.start()
        await filled.is_ready.wait()
        thread.join()

    result = bohrbug.explore(main)
    assert result.failures
    assert LEFT_BEHIND not in result.notices


class _Item:
    __slots__ = ("payload",)

    def __init__(self, payload: object) -> None:
        self.payload = payload


class _Payload:
    pass


def _dies_in_time() -> None:
    payload = _Payload()
    life = weakref.ref(payload)
    items = {1: _Item(payload)}
    del payload

    async def take() -> None:
        assert items[1].payload is not None
        await asyncio.sleep(0)
        del items[1]
        assert life() is None

    async def main() -> None:
        await asyncio.gather(take(), asyncio.sleep(0))

    asyncio.run(main())


def test_lives_are_not_prolonged() -> None:
    """Objects that can't be referenced weakly are not held to know them again."""
    assert bohrbug.explore(_dies_in_time).verdict.kind is VerdictKind.HOLDS
