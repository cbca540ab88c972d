"""When threads that wait are a deadlock."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from bohrbug.live.native_threads.standstill import LOOK_EVERY, Standstill, waits_for_lock

forever = threading.Event()

ends: list[Callable[[], object]] = []
"""What lets the threads of these tests go on after them: else the deadlocks of other tests in this
process, of programs under control, would wait for help from a thread outside."""


def held() -> threading.Lock:
    """A lock that nobody releases while a test lasts.

    Made anew: one that is there when another test takes control becomes one of ours.
    """
    lock = threading.Lock()
    lock.acquire()
    ends.append(lock.release)
    return lock


def unset() -> threading.Event:
    """An event that nobody sets while a test lasts."""
    event = threading.Event()
    ends.append(event.set)
    return event


def empty(make: Callable[[], Any]) -> Any:
    """A queue into which nobody puts anything while a test lasts."""
    made = make()
    ends.append(lambda: made.put(None))
    return made


def _with_statement() -> None:
    lock = held()
    with lock:
        pass


def _condition() -> None:
    with threading.Condition(held()):
        pass


WAITING: dict[str, Callable[[], object]] = {
    "with": _with_statement,
    "condition": _condition,
    "acquire": lambda: held().acquire(),
    "acquire, true": lambda: held().acquire(True),
    "acquire, -1": lambda: held().acquire(timeout=-1),
    "event": lambda: unset().wait(),
    "queue": lambda: empty(queue.Queue).get(),
    "simple queue": lambda: empty(queue.SimpleQueue).get(),
    "join": lambda: sleeping.join(),
}
NOT_WAITING: dict[str, Callable[[], object]] = {
    "sleep": lambda: time.sleep(5),
    "acquire": lambda: held().acquire(True, 20),
    "acquire, by name": lambda: held().acquire(timeout=20),
    "event": lambda: unset().wait(20),
    "queue": lambda: empty(queue.Queue).get(timeout=20),
    "simple queue": lambda: empty(queue.SimpleQueue).get(True, 20),
    "join": lambda: sleeping.join(20),
}

sleeping = threading.Thread(target=forever.wait, args=(60,), daemon=True)


@pytest.fixture(scope="module", autouse=True)
def a_thread_that_sleeps() -> Iterator[None]:
    sleeping.start()
    yield
    forever.set()
    for end in ends:
        end()
    ends.clear()


def frame_of(function: Callable[[], object]) -> FrameType:
    """Where a thread stands that has called a function which waits."""

    def call() -> None:
        # Some end, long after the test.
        with contextlib.suppress(queue.Empty):
            function()

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    seen: tuple[int, int] | None = None
    while True:
        time.sleep(0.05)
        assert thread.ident is not None
        frame = sys._current_frames()[thread.ident]
        last, seen = seen, (id(frame), frame.f_lasti)
        if seen == last:
            return frame


@pytest.mark.parametrize("name", WAITING)
def test_a_thread_that_waits_for_a_lock_for_ever(name: str) -> None:
    assert waits_for_lock(frame_of(WAITING[name]))


@pytest.mark.parametrize("name", NOT_WAITING)
def test_a_thread_that_goes_on_by_itself(name: str) -> None:
    assert not waits_for_lock(frame_of(NOT_WAITING[name]))


def test_code_without_a_source_is_never_taken_to_wait() -> None:
    namespace: dict[str, Callable[[], object]] = {}
    exec("def wait(): held().acquire()", globals(), namespace)
    assert not waits_for_lock(frame_of(namespace["wait"]))


class Looks:
    """A standstill that looks at frames which a test gives, at the times it says."""

    def __init__(self, *frames: FrameType, may_be_woken: bool = False) -> None:
        self.frames = dict(enumerate(frames))
        self.found: list[int] = []
        self._standstill = Standstill(
            1.0,
            lambda found: self.found.append(len(found)),
            lambda: self.frames,
            lambda: may_be_woken,
        )

    def look(self, seconds: float) -> list[int]:
        """Look for so long, in a thread that is none of these."""
        for count in range(int(seconds / LOOK_EVERY) + 2):
            self._standstill.look(1 + count * LOOK_EVERY, own=99)
        return self.found


def test_all_threads_wait_for_long_enough() -> None:
    waiting = [frame_of(WAITING["with"]), frame_of(WAITING["event"])]
    assert Looks(*waiting).look(0.5) == []
    assert Looks(*waiting).look(1.0) == [2]


def test_one_thread_that_could_go_on_is_enough() -> None:
    assert Looks(frame_of(WAITING["with"]), frame_of(NOT_WAITING["sleep"])).look(5) == []


def test_a_handler_or_another_process_could_release_a_lock() -> None:
    assert Looks(frame_of(WAITING["with"]), may_be_woken=True).look(5) == []


def test_a_thread_that_moves_is_not_stuck() -> None:
    frames = [frame_of(WAITING["with"]), frame_of(WAITING["with"])]
    looks = Looks(frames[0])
    standstill = looks._standstill
    for count in range(40):
        looks.frames = {0: frames[count // 3 % 2]}
        standstill.look(1 + count * LOOK_EVERY, own=99)
    assert looks.found == []


def test_looking_can_be_turned_off() -> None:
    standstill = Standstill(0, pytest.fail)
    for count in range(100):
        standstill.look(count, own=0)
