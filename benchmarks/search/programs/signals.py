"""Condition variables, events, semaphores and barriers, used wrongly."""

from __future__ import annotations

import threading

from ._together import together


def lost_notify() -> None:
    """The notification comes before anybody waits, and nobody looks at what it meant."""
    changed = threading.Condition()

    def wait() -> None:
        with changed:
            changed.wait()

    def notify() -> None:
        with changed:
            changed.notify()

    together(wait, notify)


def kept_notify() -> None:
    """Who waits looks at the state first."""
    changed = threading.Condition()
    state = {"ready": False}

    def wait() -> None:
        with changed:
            while not state["ready"]:
                changed.wait()

    def notify() -> None:
        with changed:
            state["ready"] = True
            changed.notify()

    together(wait, notify)


class _Exchange:
    """One place for an item, handed over with two condition variables on one lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_empty = threading.Condition(self.lock)
        self.is_full = threading.Condition(self.lock)
        self.items = 0


def hand_over_once() -> None:
    """Putting looks with ``if`` for a free place before the lock is taken; the waiter sleeps on."""
    place = _Exchange()

    def put() -> None:
        if place.items > 0:
            with place.lock:
                place.is_empty.wait()
        with place.lock:
            place.items += 1
            place.is_full.notify()

    def get() -> None:
        with place.lock:
            while place.items == 0:
                place.is_full.wait()
            place.items -= 1
            place.is_empty.notify()

    together(lambda: put() or put(), lambda: get() or get())  # type: ignore[func-returns-value]


def hand_over() -> None:
    """Both sides look in a loop, under the lock."""
    place = _Exchange()

    def put() -> None:
        with place.lock:
            while place.items > 0:
                place.is_empty.wait()
            place.items += 1
            place.is_full.notify()

    def get() -> None:
        with place.lock:
            while place.items == 0:
                place.is_full.wait()
            place.items -= 1
            place.is_empty.notify()

    together(lambda: put() or put(), lambda: get() or get())  # type: ignore[func-returns-value]


def event_cleared_too_late() -> None:
    """A worker clears the event after it has looked for work: a request in between is lost."""
    requested = threading.Event()
    requests: list[int] = []
    served: list[int] = []

    def request() -> None:
        for number in range(2):
            requests.append(number)
            requested.set()

    def serve() -> None:
        while len(served) < 2:
            requested.wait()
            while requests:
                served.append(requests.pop())
            requested.clear()

    together(request, serve)


def event_cleared_in_time() -> None:
    """The event is cleared before the look for work."""
    requested = threading.Event()
    requests: list[int] = []
    served: list[int] = []

    def request() -> None:
        for number in range(2):
            requests.append(number)
            requested.set()

    def serve() -> None:
        while len(served) < 2:
            requested.wait()
            requested.clear()
            while requests:
                served.append(requests.pop())

    together(request, serve)


class _Barrier:
    """A barrier written by hand, for one use."""

    def __init__(self, parties: int) -> None:
        self.parties = parties
        self.arrived = 0
        self.all_arrived = threading.Event()
        self.lock = threading.Lock()

    def arrive(self) -> None:
        self.arrived += 1
        if self.arrived == self.parties:
            self.all_arrived.set()

    def wait(self) -> None:
        self.arrive()
        self.all_arrived.wait()

    def wait_counting_locked(self) -> None:
        with self.lock:
            self.arrive()
        self.all_arrived.wait()


def barrier_lost_arrival(parties: int) -> None:
    """Two arrivals are counted as one: all wait for somebody who is there."""
    barrier = _Barrier(parties)
    together(*[barrier.wait] * parties)


def barrier_counted(parties: int) -> None:
    """Arrivals are counted under a lock."""
    barrier = _Barrier(parties)
    together(*[barrier.wait_counting_locked] * parties)


def results_before_barrier() -> None:
    """One party sums up before the barrier, when the other has perhaps not written yet."""
    barrier = threading.Barrier(2)
    results = [0, 0]

    def work(index: int) -> None:
        results[index] = 1
        total = sum(results)
        barrier.wait()
        if index == 1:
            assert total == 2

    together(lambda: work(0), lambda: work(1))


def results_after_barrier() -> None:
    """One party sums up after the barrier."""
    barrier = threading.Barrier(2)
    results = [0, 0]

    def work(index: int) -> None:
        results[index] = 1
        barrier.wait()
        if index == 0:
            assert sum(results) == 2

    together(lambda: work(0), lambda: work(1))


class _ReadersWriter:
    """Readers count themselves; the first locks the writer out and the last lets it in."""

    def __init__(self) -> None:
        self.readers = 0
        self.counting = threading.Lock()
        self.writing = threading.Semaphore(1)
        self.value = [0, 0]

    def read(self, counts_locked: bool) -> None:
        if counts_locked:
            with self.counting:
                self.enter()
        else:
            self.enter()
        first, second = self.value
        if counts_locked:
            with self.counting:
                self.leave()
        else:
            self.leave()
        assert first == second

    def enter(self) -> None:
        self.readers += 1
        if self.readers == 1:
            self.writing.acquire()

    def leave(self) -> None:
        self.readers -= 1
        if self.readers == 0:
            self.writing.release()

    def write(self) -> None:
        with self.writing:
            self.value[0] += 1
            self.value[1] += 1


def readers_writer_uncounted() -> None:
    """Readers count themselves without a lock."""
    shared = _ReadersWriter()
    together(lambda: shared.read(False), lambda: shared.read(False), shared.write)


def readers_writer() -> None:
    """Readers count themselves under a lock."""
    shared = _ReadersWriter()
    together(lambda: shared.read(True), lambda: shared.read(True), shared.write)


def semaphore_released_twice() -> None:
    """The error path gives back a permit which the ordinary path gives back as well."""
    permits = threading.Semaphore(1)
    inside = [0]

    def work(gives_back_twice: bool) -> None:
        with permits:
            inside[0] += 1
            assert inside[0] == 1
            inside[0] -= 1
            if gives_back_twice:
                permits.release()

    together(lambda: work(True), lambda: work(False), lambda: work(False))


def semaphore_released_once() -> None:
    """Each permit is given back once."""
    permits = threading.Semaphore(1)
    inside = [0]

    def work() -> None:
        with permits:
            inside[0] += 1
            assert inside[0] == 1
            inside[0] -= 1

    together(work, work, work)


class _Promise:
    def __init__(self) -> None:
        self.is_done = False
        self.results: list[str] = []
        self.lock = threading.Lock()

    def resolve(self, result: str) -> None:
        if not self.is_done:
            self.is_done = True
            self.results.append(result)

    def resolve_locked(self, result: str) -> None:
        with self.lock:
            self.resolve(result)


def promise_resolved_twice() -> None:
    """Result and cancellation both find the promise open."""
    promise = _Promise()
    together(lambda: promise.resolve("result"), lambda: promise.resolve("cancelled"))
    assert len(promise.results) == 1


def promise_resolved_once() -> None:
    """Resolving is one critical section."""
    promise = _Promise()
    together(lambda: promise.resolve_locked("result"), lambda: promise.resolve_locked("cancelled"))
    assert len(promise.results) == 1
