"""What exported tests contain, used as it is there: ordinary threads and event loops."""

from __future__ import annotations

import asyncio
import dis
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bohrbug.export import forced_loop, forced_threads
from bohrbug.export.forced_threads import Deadlock, Forced, NotForced
from tests.programs.together import together

FILE = "tests/unit/test_forced_threads.py"


class Journal:
    """Keeps who came in which order."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def one(self) -> None:
        self.names.append("one begins")
        self.names.append("one ends")

    def other(self) -> None:
        self.names.append("other")


def at(text: str, instruction: str, times: int = 1) -> tuple[Any, ...]:
    """A place in this file by its text; no instruction of that name: where the line begins."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.strip() == text)
    return FILE, number, text, (-1, -1), instruction, times


START = [("0", "start"), ("0.1", "start"), ("0.2", "start")]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (
            [*START, ("0.1", at('self.names.append("one ends")', "NONE"))],
            ["one begins", "other", "one ends"],
        ),
        ([("0", "start"), ("0.2", "start"), ("0.1", "start")], ["other", "one begins", "one ends"]),
        (
            [("0", "start"), ("0.1", "start"), ("0.1", "end"), ("0.2", "start")],
            ["one begins", "one ends", "other"],
        ),
    ],
)
def test_threads_take_turns(order: list[tuple[Any, ...]], names: list[str]) -> None:
    for _ in range(3):
        journal = Journal()
        Forced(order).run(lambda journal=journal: together(journal.one, journal.other))
        assert journal.names == names


def test_an_arrival_in_a_later_round() -> None:
    names: list[str] = []

    def rounds() -> None:
        for number in range(4):
            names.append(str(number))

    place = at("names.append(str(number))", "NONE", times=3)
    Forced([*START, ("0.1", place)]).run(lambda: together(rounds, lambda: names.append("other")))

    assert names == ["0", "1", "other", "2", "3"]


def test_an_instruction_among_several_of_a_line() -> None:
    names: list[str] = []

    def both() -> tuple[None, None]:
        return names.append("first"), names.append("second")

    calls = [each for each in dis.get_instructions(both) if each.opname == "CALL"]
    where = calls[1].positions
    assert where is not None
    text = 'return names.append("first"), names.append("second")'
    columns = where.col_offset, where.end_col_offset
    place = FILE, where.lineno, text, columns, "CALL"
    Forced([*START, ("0.1", place)]).run(lambda: together(both, lambda: names.append("other")))

    assert names == ["first", "other", "second"]


def test_a_line_that_has_moved_is_found_by_its_text() -> None:
    journal = Journal()
    file, line, *rest = at('self.names.append("one ends")', "NONE")

    Forced([*START, ("0.1", (file, line + 40, *rest))]).run(
        lambda: together(journal.one, journal.other)
    )

    assert journal.names == ["one begins", "other", "one ends"]


def test_a_turn_that_begins_with_a_function() -> None:
    journal = Journal()

    def call() -> None:
        journal.names.append("calls")
        journal.one()

    place = at("def one(self) -> None:", "RESUME")
    Forced([*START, ("0.1", place)]).run(lambda: together(call, journal.other))

    assert journal.names == ["calls", "other", "one begins", "one ends"]


def test_a_thread_in_the_middle_of_a_call_waits_there_by_itself() -> None:
    journal = Journal()
    order = [("0", "start"), ("0.1", "start"), ("0", "inside"), ("0.2", "start")]

    Forced(order).run(lambda: together(journal.one, journal.other))

    assert journal.names == ["one begins", "one ends", "other"]


@pytest.mark.parametrize(("row", "first"), [(("timeout",), "slept"), ((), "other")])
def test_a_timeout_is_waited_for(row: tuple[str, ...], first: str) -> None:
    names: list[str] = []

    def sleep() -> None:
        time.sleep(0.4)
        names.append("slept")

    Forced([("0", "start"), ("0.1", "start", *row), ("0.2", "start")]).run(
        lambda: together(sleep, lambda: names.append("other"))
    )

    assert names[0] == first


def test_a_thread_that_waits_unexpectedly_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forced_threads, "STUCK", 0.2)
    names: list[str] = []
    may_go_on = threading.Event()

    def wait() -> None:
        may_go_on.wait()
        names.append("waited")

    Forced([*START, ("0.1", at('names.append("waited")', "NONE"))]).run(
        lambda: together(wait, may_go_on.set)
    )

    assert names == ["waited"]


def test_what_a_thread_raises_is_raised() -> None:
    def fail() -> None:
        raise LookupError("in a thread")

    with pytest.raises(LookupError, match="in a thread"):
        Forced(START).run(lambda: together(fail, fail))


@pytest.mark.parametrize("code", [None, 0, 3, "trouble"])
def test_an_exit_code_other_than_0_is_a_failure(code: object) -> None:
    def test() -> None:
        sys.exit(code)  # type: ignore[arg-type]

    if code in (None, 0):
        Forced([]).run(test)
    else:
        with pytest.raises(SystemExit):
            Forced([]).run(test)


def test_what_a_thread_raises_is_the_tests_own_if_it_looks_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise LookupError("in a thread")

    def check() -> None:
        seen: list[object] = []
        monkeypatch.setattr(threading, "excepthook", seen.append)
        together(fail)
        assert not seen

    with pytest.raises(AssertionError):
        Forced([("0", "start")]).run(check)


def test_a_deadlock_is_told_with_stacks() -> None:
    first, second = threading.Lock(), threading.Lock()

    def take(one: threading.Lock, other: threading.Lock) -> None:
        one.acquire()
        other.acquire()

    place = at("other.acquire()", "NONE")
    with pytest.raises(Deadlock) as raised:
        Forced([*START, ("0.1", place), ("0.2", place)], patience=0.2).run(
            lambda: together(lambda: take(first, second), lambda: take(second, first))
        )

    # Else its threads would be there for the other tests of this process.
    first.release()
    second.release()
    assert str(raised.value).count("other.acquire()") == 2
    assert "Thread 0.1" in str(raised.value)


def test_a_notified_thread_gets_the_lock_when_it_is_its_turn() -> None:
    changed = threading.Condition()
    names: list[str] = []

    def wait() -> None:
        with changed:
            changed.wait()
            names.append("woken")

    def notify() -> None:
        with changed:
            changed.notify()

    def come() -> None:
        with changed:
            names.append("came")

    order = [*START, ("0.3", "start"), ("0.1", "woken")]
    Forced(order).run(lambda: together(wait, notify, come))

    assert names == ["came", "woken"]


def test_a_turn_that_does_not_come_is_told() -> None:
    journal = Journal()
    place = FILE, 1, "no such line", (0, 1), "NONE"

    with pytest.raises(NotForced, match=r"0\.1 did not get to the beginning of turn 4"):
        Forced([*START, ("0.1", place)]).run(lambda: together(journal.one, journal.other))


def test_nothing_stays_patched() -> None:
    start, run_handle = threading.Thread.start, asyncio.Handle._run

    Forced(START).run(lambda: together(lambda: None, lambda: None))
    forced_loop.ForcedLoop([]).run(lambda: None)

    assert threading.Thread.start is start
    assert asyncio.Handle._run is run_handle
    assert forced_threads._start is start


async def _two(names: list[str]) -> None:
    async def say(name: str) -> None:
        for number in (1, 2):
            await asyncio.sleep(0.01 if name == "slow" else 0)
            names.append(f"{name} {number}")

    await asyncio.gather(say("slow"), say("quick"))


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ("main a b a b a b main", ["slow 1", "quick 1", "slow 2", "quick 2"]),
        ("main a b a a b b main", ["slow 1", "slow 2", "quick 1", "quick 2"]),
        ("main a b b b a a main", ["quick 1", "quick 2", "slow 1", "slow 2"]),
    ],
)
def test_steps_of_a_loop_come_in_order(steps: str, names: list[str]) -> None:
    found: list[str] = []

    forced_loop.ForcedLoop(steps.split()).run(lambda: asyncio.run(_two(found)))

    assert found == names


def test_a_deadlock_of_a_loop_is_told_with_stacks() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def wait() -> None:
        loops.append(asyncio.get_running_loop())
        await asyncio.Event().wait()

    with pytest.raises(forced_loop.Deadlock, match="in wait") as raised:
        forced_loop.ForcedLoop(["main"], patience=0.2).run(lambda: asyncio.run(wait()))
    # Its thread ends with it, by a "RuntimeError" that nobody is told of.  The tasks that do so
    # would be taken for those of the next test.
    loops[0].call_soon_threadsafe(loops[0].stop)
    end = time.monotonic() + 60.0
    while not loops[0].is_closed():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "Task main" in str(raised.value)


def test_a_step_that_does_not_come_is_told() -> None:
    with pytest.raises(forced_loop.NotForced, match="step 2 of 2, by task other, did not come"):
        forced_loop.ForcedLoop(["main", "other"], limit=0.2).run(
            lambda: asyncio.run(asyncio.sleep(0))
        )
