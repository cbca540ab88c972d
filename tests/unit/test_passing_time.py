"""Virtual time passes while tasks spin, and timeouts that fire early can be put aside."""

from __future__ import annotations

import asyncio
import logging
import math
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from bohrbug.exploration.verdicts import CaveatKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.threads import clock, control
from bohrbug.runtime.threads.clock import LONGEST_ADVANCE, MOST_EXTENSIONS
from bohrbug.runtime.threads.task import Task
from bohrbug.runtime.threads.timing import SHORTEST_SLEEP

TIMEOUTS = ("early", "late")


def sets_after_a_sleep(event: threading.Event) -> threading.Thread:
    def work() -> None:
        time.sleep(1)
        event.set()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def spins_on_an_event() -> None:
    event = threading.Event()
    thread = sets_after_a_sleep(event)
    while not event.is_set():
        pass
    thread.join()


def spins_on_a_variable() -> None:
    box: list[int] = []

    def work() -> None:
        time.sleep(1)
        box.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    while not box:
        pass
    thread.join()


def two_yield_while_one_sleeps() -> None:
    event = threading.Event()

    def wait() -> None:
        while not event.is_set():
            time.sleep(0)

    threads = [sets_after_a_sleep(event), *(threading.Thread(target=wait) for _ in range(2))]
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()


def spins_with_a_lock() -> None:
    lock = threading.Lock()
    box: list[int] = []

    def work() -> None:
        time.sleep(1)
        with lock:
            box.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    while True:
        with lock:
            if box:
                break
    thread.join()


@pytest.mark.parametrize("timeouts", TIMEOUTS)
@pytest.mark.parametrize(
    "test",
    [spins_on_an_event, spins_on_a_variable, two_yield_while_one_sleeps, spins_with_a_lock],
)
def test_a_sleeping_task_wakes_up_while_others_spin(
    test: Callable[[], None], timeouts: str
) -> None:
    result = bohrbug.explore(test, timeouts=timeouts, executions=8)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE


@pytest.mark.parametrize("timeouts", TIMEOUTS)
def test_what_no_sleeper_ends_is_still_a_livelock(timeouts: str) -> None:
    def spins_for_ever() -> None:
        event = threading.Event()

        def tick() -> None:
            while not event.is_set():
                event.wait(1)

        threading.Thread(target=tick).start()
        while not event.is_set():
            pass

    result = bohrbug.explore(spins_for_ever, timeouts=timeouts, executions=5, max_steps=20_000)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.LIVELOCK]


def has_a_guard() -> None:
    items: queue.Queue[int] = queue.Queue()
    got = []
    thread = threading.Thread(target=lambda: got.append(items.get(timeout=1)))
    thread.start()
    items.put(3)
    thread.join()
    assert got == [3]


def test_a_failure_that_needs_an_early_timeout_can_be_put_aside() -> None:
    result = bohrbug.explore(has_a_guard, timeouts="report")
    assert not result.failures
    assert [failure.outcome.exception for failure in result.untimely] == ["Empty"]
    # The rest was explored to the end, but the program has a schedule that fails.
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert "timeout" in result.verdict.caveats[0]
    assert result.verdict.caveats[0].kind is CaveatKind.UNTIMELY
    assert bohrbug.explore(has_a_guard, timeouts="early").failures
    assert bohrbug.explore(has_a_guard, timeouts="late").verdict.kind is VerdictKind.HOLDS


def test_a_failure_without_early_timeouts_counts_also_behind_one_that_needs_them() -> None:
    def loses_updates() -> None:
        items: queue.Queue[int] = queue.Queue()
        total = [0]

        def work() -> None:
            items.get(timeout=1)
            total[0] += 1

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(2):
            items.put(number)
        for thread in threads:
            thread.join()
        assert total == [2]

    result = bohrbug.explore(loses_updates, timeouts="report", keep_going=True)
    assert result.untimely
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.ASSERTION]
    assert not result.failures[0].early_timeouts


def test_a_sleep_that_ends_before_a_shorter_one_is_put_aside() -> None:
    def polls_often_enough() -> None:
        seen: list[str] = []
        over = threading.Event()

        def poll() -> None:
            while not over.wait(1):
                seen.append("polled")

        thread = threading.Thread(target=poll)
        thread.start()
        time.sleep(5)
        over.set()
        thread.join()
        assert seen

    result = bohrbug.explore(polls_often_enough, timeouts="report")
    assert not result.failures
    assert result.untimely
    assert bohrbug.explore(polls_often_enough, timeouts="early").failures


def test_the_clock_can_be_read_any_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[float] = []
    monkeypatch.setattr(clock, "MOST_READINGS", 1_000)
    many = 1_000 * (MOST_EXTENSIONS + 2)
    bohrbug.explore(lambda: readings.extend(time.monotonic() for _ in range(many)), executions=1)
    readings = readings[-many:]
    assert readings == sorted(set(readings))
    assert readings[-1] - readings[-2] == pytest.approx(LONGEST_ADVANCE)


def reads_it() -> None:
    time.time()


def logs() -> None:
    logger = logging.Logger("here", logging.INFO)
    logger.addHandler(logging.NullHandler())
    logger.info("again")


@pytest.mark.parametrize("work", [reads_it, logs])
def test_no_time_passes_for_who_reads_the_clock_and_comes_further(
    work: Callable[[], None],
) -> None:
    def test() -> None:
        done = threading.Event()

        def works() -> None:
            for _ in range(1_500):
                work()
            done.set()

        thread = threading.Thread(target=works)
        thread.start()
        assert done.wait(1)
        thread.join()

    result = bohrbug.explore(test, executions=2, timeouts="late")
    assert not result.failures
    assert result.virtual_seconds < 1


def test_no_time_passes_while_a_long_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers log each of many jobs with the time."""
    monkeypatch.setattr(clock, "MOST_READINGS", 500)
    monkeypatch.setattr(clock, "MOST_STEPS", 500)

    def test() -> None:
        jobs: queue.Queue[int | None] = queue.Queue()
        done: queue.Queue[int] = queue.Queue()
        times = []

        def work() -> None:
            while (job := jobs.get()) is not None:
                times.extend(time.monotonic() for _ in range(10))
                done.put(job)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for job in range(400):
            jobs.put(job)
            done.get()
        for _ in threads:
            jobs.put(None)
        for thread in threads:
            thread.join()
        assert times[-1] - times[0] < 1

    assert not bohrbug.explore(test, executions=1, timeouts="late").failures


def spins() -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        pass


def spins_by_the_time_left() -> None:
    end = time.monotonic() + 5
    while True:
        left = end - time.monotonic()
        if left <= 0:
            break


@pytest.mark.parametrize("test", [spins, spins_by_the_time_left])
def test_time_passes_for_who_spins_on_the_clock(
    test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is taken to spin whatever it does."""
    monkeypatch.setattr(clock, "MOST_READINGS", math.inf)
    result = bohrbug.explore(test, executions=1, timeouts="late", hang_seconds=3)
    assert not result.failures
    assert result.virtual_seconds >= 5


def test_time_passes_for_who_counts_how_long_it_takes() -> None:
    def test() -> None:
        times = 0
        end = time.monotonic() + 5
        while time.monotonic() < end:
            times += 1

    result = bohrbug.explore(test, executions=1, timeouts="late")
    assert not result.failures
    assert result.virtual_seconds >= 5


def reads_the_clock_all_the_time(work: Callable[[], None], patience: float = 5.0) -> float:
    """Wait for some work, with the usual helper, beside a scheduler that never sleeps.

    Returns:
        How long it took.
    """
    stop = threading.Event()

    def schedule() -> None:
        while not stop.is_set():
            time.monotonic()

    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    threads = [threading.Thread(target=schedule), threading.Thread(target=run)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    while not done.is_set():
        if time.monotonic() - began > patience:
            break
        time.sleep(0.01)
    took = time.monotonic() - began
    stop.set()
    for thread in threads:
        thread.join()
    assert done.is_set()
    assert took < patience
    return took


def works_long() -> None:
    lock = threading.Lock()
    for _ in range(300):
        with lock:
            pass


@pytest.mark.parametrize("strategy", ["ipb", "random", "pct"])
def test_who_reads_the_clock_all_the_time_lets_others_work(strategy: str) -> None:
    def test() -> None:
        reads_the_clock_all_the_time(works_long)

    result = bohrbug.explore(test, executions=20, strategy=strategy, timeouts="report")
    assert not result.failures, result.failures[0].outcome.message


def test_who_reads_the_clock_all_the_time_passes_no_wake_up() -> None:
    """What waits beside it for a moment wakes up then, and not long after."""
    times = []

    def test() -> None:
        times.append(reads_the_clock_all_the_time(lambda: time.sleep(0.5)))

    result = bohrbug.explore(test, executions=3, strategy="random", timeouts="late")
    assert not result.failures, result.failures[0].outcome.message
    assert all(0.5 <= took < 0.6 for took in times)


def test_the_shortest_sleeps_make_time_pass() -> None:
    stop = threading.Event()
    sleeps: list[int] = []

    def work() -> None:
        while not stop.is_set():
            time.sleep(sys.float_info.min)
            sleeps.append(1)

    def test() -> None:
        stop.clear()
        sleeps.clear()
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.01)
        stop.set()
        thread.join()
        assert len(sleeps) <= 0.01 / SHORTEST_SLEEP + 1

    result = bohrbug.explore(test, executions=5, timeouts="late", max_steps=2_000)
    assert not result.failures


def test_short_sleeps_end_beside_a_task_that_spins() -> None:
    """Each of them would cost as many steps as the first, and there are a hundred."""
    lock = threading.Lock()
    done: list[bool] = []

    def work() -> None:
        for _ in range(100):
            time.sleep(0.001)
        done.append(True)

    def test() -> None:
        done.clear()
        thread = threading.Thread(target=work)
        thread.start()
        while True:
            with lock:
                if done:
                    break
        thread.join()

    result = bohrbug.explore(test, executions=1, timeouts="late", max_steps=60_000)
    assert not result.failures, result.failures[0].outcome.message


def test_a_task_that_only_takes_and_releases_a_lock_may_be_long() -> None:
    """It may draw from an iterator each time, as here, or wait for something: nothing shows it."""

    def draws_much() -> None:
        lock = threading.Lock()
        numbers = iter(range(4_000))

        def draw() -> None:
            number: int | None = 0
            while number is not None:
                with lock:
                    number = next(numbers, None)

        threads = [threading.Thread(target=draw) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = bohrbug.explore(draws_much, executions=1, max_steps=5_000)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "raise max_steps" in result.verdict.reason


def test_a_thread_left_behind_that_only_takes_and_releases_a_lock_may_be_long() -> None:
    """It would end, as here, or go on for ever: nothing shows it."""

    def gives_up_waiting() -> None:
        lock = threading.Lock()
        numbers = iter(range(40_000))

        def draw() -> None:
            number: int | None = 0
            while number is not None:
                with lock:
                    number = next(numbers, None)

        thread = threading.Thread(target=draw)
        thread.start()
        thread.join(timeout=0.001)

    result = bohrbug.explore(gives_up_waiting, executions=1)
    assert not result.failures, result.failures[0].outcome.message
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "after the end of the test" in result.verdict.reason
    assert "raise max_steps" not in result.verdict.reason


@pytest.mark.parametrize("timeouts", ["report", "early"])
def test_such_a_failure_that_comes_once_is_put_aside_too(timeouts: str) -> None:
    """What the test leaves behind, or the kernel does, keeps the replay from failing."""
    failed: list[Exception] = []

    def guarded() -> None:
        items: queue.Queue[int] = queue.Queue()
        threading.Thread(target=items.put, args=(3,)).start()
        try:
            items.get(timeout=1)
        except queue.Empty as error:
            if not failed:
                failed.append(error)
                raise

    result = bohrbug.explore(guarded, timeouts=timeouts, executions=50)
    assert failed
    assert not result.failures
    kinds = [caveat.kind for caveat in result.verdict.caveats]
    assert (CaveatKind.UNTIMELY in kinds) == (timeouts == "report")
    assert (CaveatKind.UNCONFIRMED in kinds) == (timeouts == "early")


def test_who_is_to_wake_up_is_passed_over_a_few_times_only() -> None:
    def sleeps_in_a_loop() -> None:
        stop = threading.Event()
        turns = 0

        def loop() -> None:
            nonlocal turns
            while not stop.is_set():
                turns += 1
                time.sleep(0.1)

        thread = threading.Thread(target=loop)
        thread.start()
        time.sleep(1)
        stop.set()
        thread.join()
        # Ten, and what may be too late.
        assert turns <= 16

    assert bohrbug.explore(sleeps_in_a_loop, executions=100, strategy="dfs").failures == []


def test_how_often_who_is_to_wake_up_was_passed_over_counts_for_one_wait() -> None:
    """Else a task that something else has woken would have to go first in a later wait."""

    def passes_over() -> None:
        execution = control.controlled()
        assert execution is not None
        sleeper, other = Task("0.8", 8, 0), Task("0.9", 9, 0)
        sleeper.deadline, other.deadline = -2.0, -1.0
        for _ in range(3):
            execution._pass_over(other, [sleeper, other])
        assert execution._times_passed_over(sleeper) == 3
        sleeper.deadline = 1.0
        assert execution._times_passed_over(sleeper) == 0

    assert bohrbug.explore(passes_over, executions=1).failures == []


def test_tasks_that_receive_data_and_look_at_the_clock_do_not_spin() -> None:
    """What they have got is in no variable that is looked at."""

    class Reader:
        def __init__(self, reader: Any) -> None:
            self.reader = reader
            self.counts = [[0]]

        async def read(self) -> bytes:
            time.monotonic()
            data: bytes = await self.reader.read(1024)
            self.counts[0][0] += len(data)
            return data

    async def copy(reader: Reader) -> None:
        while True:
            data = await reader.read()
            if not data:
                break

    async def serve(_reader: Any, writer: Any) -> None:
        for _ in range(400):
            writer.write(b"-" * 1024)
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    async def client(address: Any) -> None:
        reader, writer = await asyncio.open_connection(*address)
        await copy(Reader(reader))
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with asyncio.timeout(1):
            await asyncio.gather(*[client(server.sockets[0].getsockname()) for _ in range(3)])
        server.close()

    result = bohrbug.explore(lambda: asyncio.run(main()), executions=1, timeouts="late")
    assert result.failures == []
