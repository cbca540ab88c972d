"""Tasks that wait for ever beside others that only look at something now and then."""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import trio

import bohrbug
from bohrbug.exploration.result import Failure
from bohrbug.model.outcome import OutcomeKind
from bohrbug.report.livelock import going_on_in_words
from bohrbug.report.naming import Names

MOST_STEPS = 2_000
"""Of an execution in which nothing changes any more; the step limit is far beyond."""

# -- broken -------------------------------------------------------------------------------


def polling(stop: threading.Event, seconds: float = 0.5) -> threading.Thread:
    def monitor() -> None:
        while not stop.wait(seconds):
            pass

    thread = threading.Thread(target=monitor, daemon=True)
    thread.start()
    return thread


def nobody_puts() -> None:
    stop = threading.Event()
    polling(stop)
    items: queue.Queue[int] = queue.Queue()
    worker = threading.Thread(target=items.get)
    worker.start()
    worker.join()
    stop.set()


def waits_beside_one_that_wants_to_work() -> None:
    items: queue.Queue[int] = queue.Queue()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                items.get(timeout=0.5)
            except queue.Empty:
                continue

    threading.Thread(target=work, daemon=True).start()
    threading.Event().wait()


def waits_beside_several() -> None:
    stop = threading.Event()
    polling(stop, 0.3)
    polling(stop, 0.7)
    threading.Event().wait()


def locks_in_a_circle() -> None:
    stop = threading.Event()
    polling(stop)
    one, two = threading.Lock(), threading.Lock()

    def takes(first: threading.Lock, second: threading.Lock) -> None:
        with first, second:
            pass

    threads = [threading.Thread(target=takes, args=pair) for pair in ((one, two), (two, one))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()


async def heartbeat() -> None:
    while True:
        await asyncio.sleep(1)


def nobody_puts_on_a_loop() -> None:
    async def main() -> None:
        beats = asyncio.create_task(heartbeat())
        await asyncio.Queue[int]().get()
        beats.cancel()

    asyncio.run(main())


def loop_locks_in_a_circle() -> None:
    async def takes(first: asyncio.Lock, second: asyncio.Lock) -> None:
        async with first:
            await asyncio.sleep(0)
            async with second:
                pass

    async def main() -> None:
        one, two = asyncio.Lock(), asyncio.Lock()
        beats = asyncio.create_task(heartbeat())
        await asyncio.gather(takes(one, two), takes(two, one))
        beats.cancel()

    asyncio.run(main())


def nobody_sets_in_trio() -> None:
    async def beats() -> None:
        while True:
            await trio.sleep(1)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(beats)
            await trio.Event().wait()

    trio.run(main)


DEADLOCKED: list[Callable[[], None]] = [
    nobody_puts,
    waits_beside_one_that_wants_to_work,
    waits_beside_several,
    locks_in_a_circle,
    nobody_puts_on_a_loop,
    loop_locks_in_a_circle,
    nobody_sets_in_trio,
]


def explored(test: Callable[[], None]) -> Failure:
    """The failure of a test that has one, found in its first executions."""
    failures = bohrbug.explore(test, executions=20, causes=0, minimise=False).failures
    assert failures
    return failures[0]


@pytest.mark.parametrize("test", DEADLOCKED)
def test_those_who_wait_for_ever_are_a_deadlock(test: Callable[[], None]) -> None:
    failure = explored(test)
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert len(failure.trace) < MOST_STEPS


@pytest.mark.parametrize("test", [locks_in_a_circle, loop_locks_in_a_circle])
def test_a_circle_is_found_beside_those_who_go_on(test: Callable[[], None]) -> None:
    outcome = explored(test).outcome
    assert len(outcome.cycle) == 2
    assert set(outcome.cycle) <= {blocked.task for blocked in outcome.blocked}


def test_a_report_tells_who_goes_on() -> None:
    failure = explored(nobody_puts)
    assert [blocked.task for blocked in failure.outcome.blocked] == ["0", "0.2"]
    words = going_on_in_words(failure.trace, Names(failure.trace))
    assert words.startswith("Meanwhile task 0.1 (Thread-1, monitor)")
    assert words.endswith("only repeats its steps and wakes nobody.")


def counts_on_its_way() -> None:
    """Natively one would wait for it for more than an hour."""
    beats = 0

    def monitor() -> None:
        nonlocal beats
        while True:
            time.sleep(5)
            beats += 1

    threading.Thread(target=monitor, daemon=True).start()
    threading.Event().wait()


def beats_by_callbacks() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        def beat() -> None:
            loop.call_later(5, beat)

        beat()
        await asyncio.Event().wait()

    asyncio.run(main())


@pytest.mark.parametrize("test", [counts_on_its_way, beats_by_callbacks])
def test_nobody_waits_for_more_than_an_hour(test: Callable[[], None]) -> None:
    failure = explored(test)
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert len(failure.trace) > MOST_STEPS / 2


class OutOfContext:
    """A proxy such as those of web frameworks."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("working outside of context")


class OfNoSize(set[int]):
    def __len__(self) -> int:
        raise RuntimeError("code of the program")


class Dies:
    pass


def released_view() -> memoryview:
    view = memoryview(b"abc")
    view.release()
    return view


@pytest.mark.parametrize(
    "held", [OutOfContext, OfNoSize, lambda: weakref.proxy(Dies()), released_view]
)
def test_to_look_runs_no_code_of_the_program(held: Callable[[], object]) -> None:
    def waits_beside_one_that_holds_it() -> None:
        def monitor(kept: object = held()) -> None:
            while True:
                time.sleep(0.5)

        threading.Thread(target=monitor, daemon=True).start()
        threading.Event().wait()

    failure = explored(waits_beside_one_that_holds_it)
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert len(failure.trace) < MOST_STEPS


# -- who waits for a poller only ----------------------------------------------------------


def forgets_to_stop() -> None:
    polling(threading.Event()).join()


def main_task_polls() -> None:
    async def main() -> None:
        items: asyncio.Queue[int] = asyncio.Queue()
        idle = asyncio.create_task(items.get())
        while not idle.done():
            await asyncio.sleep(1)

    asyncio.run(main())


def waits_for_many_in_a_row() -> None:
    last = polling(threading.Event())
    for _ in range(2 * sys.getrecursionlimit()):
        thread = threading.Thread(target=last.join, daemon=True)
        thread.start()
        last = thread
    last.join()


@pytest.mark.parametrize("test", [forgets_to_stop, main_task_polls])
def test_to_wait_for_a_poller_is_a_livelock(test: Callable[[], None]) -> None:
    failure = explored(test)
    assert failure.outcome.kind is OutcomeKind.LIVELOCK
    assert "nothing ever changes" in failure.outcome.message
    assert len(failure.trace) < MOST_STEPS


def test_a_long_row_of_those_who_wait_for_a_poller_is_a_livelock() -> None:
    assert explored(waits_for_many_in_a_row).outcome.kind is OutcomeKind.LIVELOCK


def polls_alone() -> None:
    while not os.path.exists("/a file that somebody outside might make"):
        time.sleep(1)


def test_who_is_alone_may_wait_for_somebody_outside() -> None:
    failure = bohrbug.explore(
        polls_alone, executions=1, max_steps=MOST_STEPS, causes=0, minimise=False
    ).failures[0]
    assert failure.outcome.message.startswith("not finished after")


def leaves_a_poller() -> None:
    stop = threading.Event()

    def monitor() -> None:
        while not stop.wait(1):
            pass

    threading.Thread(target=monitor).start()


def test_a_poller_that_is_left_behind_is_a_leak() -> None:
    failure = explored(leaves_a_poller)
    assert failure.outcome.kind is OutcomeKind.LEAK
    assert "task 0.1 repeats the same steps" in failure.outcome.message


# -- correct: who polls lets the others go on in the end ----------------------------------


def let_go_by(over: Callable[[], bool], seconds: float = 0.01) -> None:
    """Wait for a thread that polls until it is over."""
    done = threading.Event()

    def watchdog() -> None:
        while not over():
            time.sleep(seconds)
        done.set()

    thread = threading.Thread(target=watchdog)
    thread.start()
    done.wait()
    thread.join()


TRIES = 500


class Nested:
    def __init__(self) -> None:
        self.tries = [{"number": [0]}]

    def over(self) -> bool:
        self.tries[0]["number"][0] += 1
        return self.tries[0]["number"][0] > TRIES


class OfClass:
    tries = 0

    @classmethod
    def over(cls) -> bool:
        cls.tries += 1
        return cls.tries > TRIES


tries_of_module = 0


def over_by_global() -> bool:
    global tries_of_module
    tries_of_module += 1
    return tries_of_module > TRIES


def counted_nested() -> None:
    let_go_by(Nested().over)


def counted_by_class() -> None:
    OfClass.tries = 0
    let_go_by(OfClass.over)


def counted_by_global() -> None:
    global tries_of_module
    tries_of_module = 0
    let_go_by(over_by_global)


def counted_in_a_closure() -> None:
    tries = 0

    def over() -> bool:
        nonlocal tries
        tries += 1
        return tries > TRIES

    let_go_by(over)


def counted_by_a_generator() -> None:
    def tried() -> Iterator[bool]:
        for _ in range(TRIES):
            yield False
        yield True

    let_go_by(tried().__next__)


def counted_by_an_iterator() -> None:
    tries = itertools.count()
    let_go_by(lambda: next(tries) > TRIES)


def counted_by_a_queue() -> None:
    tries: queue.Queue[int] = queue.Queue()

    def over() -> bool:
        tries.put(1)
        return tries.qsize() > TRIES

    let_go_by(over)


def counted_by_a_simple_queue() -> None:
    tries: queue.SimpleQueue[int] = queue.SimpleQueue()
    let_go_by(lambda: tries.put(1) or tries.qsize() > TRIES)  # type: ignore[func-returns-value]


def counted_down_by_a_queue() -> None:
    tries: queue.SimpleQueue[int] = queue.SimpleQueue()
    for each in range(TRIES):
        tries.put(each)

    def over() -> bool:
        try:
            tries.get_nowait()
        except queue.Empty:
            return True
        return False

    let_go_by(over)


def counted_by_a_semaphore() -> None:
    permits = threading.Semaphore(TRIES)
    let_go_by(lambda: not permits.acquire(blocking=False))


def counted_in_a_for_loop() -> None:
    done = threading.Event()

    def watchdog() -> None:
        for _ in range(TRIES):
            time.sleep(0.01)
        done.set()

    threading.Thread(target=watchdog).start()
    done.wait()


def by_the_clock() -> None:
    end = time.monotonic() + 1_000
    let_go_by(lambda: time.monotonic() > end, 1.0)


def by_the_clock_of_a_loop() -> None:
    async def main() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        async def watchdog() -> None:
            end = loop.time() + 1_000
            while loop.time() < end:
                await asyncio.sleep(1)
            done.set()

        task = asyncio.create_task(watchdog())
        await done.wait()
        await task

    asyncio.run(main())


def beside_a_longer_sleep() -> None:
    stop, done = threading.Event(), threading.Event()
    polling(stop, 1)

    def late() -> None:
        time.sleep(1_000)
        done.set()

    threading.Thread(target=late).start()
    done.wait()
    stop.set()


def beside_a_longer_timer_of_a_loop() -> None:
    async def main() -> None:
        done = asyncio.Event()
        beats = asyncio.create_task(heartbeat())
        asyncio.get_running_loop().call_later(1_000, done.set)
        await done.wait()
        beats.cancel()

    asyncio.run(main())


def beside_a_deadline_in_trio() -> None:
    async def beats() -> None:
        while True:
            await trio.sleep(1)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(beats)
            with trio.move_on_after(1_000):
                await trio.Event().wait()
            nursery.cancel_scope.cancel()

    trio.run(main)


def counted_by_callbacks() -> None:
    async def main() -> None:
        loop, done, beats = asyncio.get_running_loop(), asyncio.Event(), [0]

        def beat() -> None:
            beats[0] += 1
            if beats[0] > TRIES:
                done.set()
            else:
                loop.call_later(0.1, beat)

        beat()
        await done.wait()

    asyncio.run(main())


def beside_a_child(folder: Path) -> None:
    made = folder / "made"
    made.unlink(missing_ok=True)
    done = threading.Event()

    def watchdog() -> None:
        while not made.exists():
            time.sleep(0.01)
        done.set()

    child = subprocess.Popen(["sh", "-c", 'sleep 0.2; touch "$0"', str(made)])
    threading.Thread(target=watchdog).start()
    done.wait()
    child.wait()


def test_a_child_may_change_what_is_looked_at(tmp_path: Path) -> None:
    assert bohrbug.explore(partial(beside_a_child, tmp_path), executions=1).failures == []


def test_a_real_thread_may_let_one_go_on() -> None:
    source, sink = os.pipe()
    answered = threading.Event()

    def answers() -> None:
        while os.read(source, 1):
            time.sleep(0.05)
            answered.set()

    def asks() -> None:
        answered.clear()
        stop = threading.Event()
        polling(stop)
        os.write(sink, b"?")
        answered.wait()
        stop.set()

    real = threading.Thread(target=answers)
    real.start()
    try:
        assert bohrbug.explore(asks, executions=1).failures == []
    finally:
        os.close(sink)
        real.join()
        os.close(source)


CORRECT: list[Callable[[], None]] = [
    counted_nested,
    counted_by_class,
    counted_by_global,
    counted_in_a_closure,
    counted_by_a_generator,
    counted_by_an_iterator,
    counted_by_a_queue,
    counted_by_a_simple_queue,
    counted_down_by_a_queue,
    counted_by_a_semaphore,
    counted_in_a_for_loop,
    by_the_clock,
    by_the_clock_of_a_loop,
    beside_a_longer_sleep,
    beside_a_longer_timer_of_a_loop,
    beside_a_deadline_in_trio,
    counted_by_callbacks,
]


@pytest.mark.parametrize("test", CORRECT)
def test_who_is_let_go_in_the_end_does_not_wait_for_ever(test: Callable[[], None]) -> None:
    assert bohrbug.explore(test, executions=2, timeouts="late").failures == []
