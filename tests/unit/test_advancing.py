"""A long execution that still comes nearer to its end is no livelock."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.programs.together import together

ROUNDS = 3_000


def turns(one: threading.Event, other: threading.Event) -> None:
    """What a task does in turn with another one."""
    one.wait()
    one.clear()
    other.set()


def in_for_loops() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        for _ in range(ROUNDS):
            turns(first, second)

    def pong() -> None:
        for _ in range(ROUNDS):
            turns(second, first)

    together(ping, pong)


def in_jobs() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def job(one: threading.Event, other: threading.Event) -> None:
        for _number, _ in enumerate(range(ROUNDS)):
            turns(one, other)

    with ThreadPoolExecutor(2) as pool:
        pool.submit(job, first, second)
        pool.submit(job, second, first)


def beside_a_loop_that_waits() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        for _ in range(ROUNDS):
            while not first.is_set():
                pass
            first.clear()
            second.set()

    def pong() -> None:
        while True:
            turns(second, first)

    together(ping, pong)


def in_loops_that_count() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        number = 0
        while number < ROUNDS:
            turns(first, second)
            number += 1

    def pong() -> None:
        left = ROUNDS
        while left:
            turns(second, first)
            left -= 1

    together(ping, pong)


class Counter:
    """Has a number, which several tasks change."""

    number = 0


def in_loops_that_count_together() -> None:
    counter, numbers, lock = Counter(), {"left": ROUNDS}, threading.Lock()

    def up() -> None:
        while counter.number < ROUNDS:
            with lock:
                counter.number += 1

    def down() -> None:
        while numbers["left"] > 0:
            with lock:
                numbers["left"] -= 1

    together(up, up, down)


def in_a_comprehension() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        [turns(first, second) for _ in range(ROUNDS)]

    together(ping, ping_of(second, first))


def in_a_coroutine_that_counts() -> None:
    async def main() -> None:
        low, names = 0, ["a"] * 10 * ROUNDS
        while names and low + 1 <= len(names):
            await asyncio.sleep(0)
            low += 1

    async def both() -> None:
        await asyncio.gather(main(), main())

    asyncio.run(both())


def starts_threads() -> None:
    while True:
        together(lambda: None)


def in_coroutines() -> None:
    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(1)

        async def produce() -> None:
            for number in range(10 * ROUNDS):
                await queue.put(number)

        async def consume() -> None:
            while True:
                await queue.get()

        await asyncio.gather(produce(), consume())

    asyncio.run(main())


def starts_coroutines() -> None:
    async def nothing() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        while True:
            await asyncio.create_task(nothing())

    asyncio.run(main())


@pytest.mark.parametrize(
    "program",
    [
        in_for_loops,
        in_jobs,
        beside_a_loop_that_waits,
        starts_threads,
        in_loops_that_count,
        in_loops_that_count_together,
        in_a_comprehension,
        in_coroutines,
        in_a_coroutine_that_counts,
        starts_coroutines,
    ],
    ids=lambda program: program.__name__,
)
def test_what_comes_further_is_not_called_a_livelock(program: Callable[[], None]) -> None:
    result = bohrbug.explore(program, max_steps=4_000, seconds=None)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "after 4,000 steps, and it still comes further" in result.verdict.reason


def waits_within_a_for_loop() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        for _ in range(3):
            while True:
                turns(first, second)

    together(ping, ping_of(second, first))


def ping_of(one: threading.Event, other: threading.Event) -> Callable[[], None]:
    def ping() -> None:
        while True:
            turns(one, other)

    return ping


def for_loops_within_another() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        while True:
            for _ in range(7):
                turns(first, second)

    together(ping, ping_of(second, first))


def counted_back() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()
    counter = Counter()

    def up() -> None:
        while counter.number < 5:
            turns(first, second)
            counter.number += 1

    def down() -> None:
        while counter.number > -5:
            turns(second, first)
            counter.number -= 1

    together(up, down)


def counts_its_tries() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        tries = 0
        while not first.wait(0) or tries >= 0:
            turns(first, second)
            tries += 1

    together(ping, ping_of(second, first))


def counts_away_from_its_end() -> None:
    first, second = threading.Event(), threading.Event()
    first.set()

    def ping() -> None:
        number = 1
        while number > 0:
            turns(first, second)
            number += 1

    together(ping, ping_of(second, first))


@pytest.mark.parametrize(
    "program",
    [
        waits_within_a_for_loop,
        for_loops_within_another,
        counts_its_tries,
        counts_away_from_its_end,
        counted_back,
    ],
    ids=lambda program: program.__name__,
)
def test_what_goes_round_in_a_loop_without_an_end_is_one(program: Callable[[], None]) -> None:
    result = bohrbug.explore(
        program, max_steps=4_000, seconds=None, executions=1, causes=0, minimise=False
    )
    [failure] = result.failures
    assert failure.outcome.kind is OutcomeKind.LIVELOCK


def test_a_thread_that_is_left_behind_in_a_for_loop_may_end() -> None:
    def program() -> None:
        first, second = threading.Event(), threading.Event()
        first.set()

        def ping() -> None:
            for _ in count():
                turns(first, second)

        for function in (ping, ping_of(second, first)):
            threading.Thread(target=function).start()

    result = bohrbug.explore(program, executions=1, seconds=None)
    assert not result.failures
    assert "threads still run after the end of the test" in result.verdict.reason


def sleeps_beside_them() -> None:
    threading.Thread(target=time.sleep, args=(1e9,), daemon=True).start()
    starts_threads()


@pytest.mark.parametrize("program", [starts_threads, sleeps_beside_them])
def test_who_starts_more_threads_than_can_be_kept_is_told_so(program: Callable[[], None]) -> None:
    result = bohrbug.explore(program, executions=1, seconds=None, timeouts="late")
    assert result.points < 50_000
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE
    assert "has started more than 10,000 threads" in result.verdict.reason
