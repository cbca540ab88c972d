"""Correct programs: primitives."""

from __future__ import annotations

import collections
import contextlib
import functools
import queue
import socket
import threading
import types
from collections.abc import Iterator

from tests.programs.together import together


class _Buffer:
    """A buffer guarded by a condition."""

    def __init__(self, size: int) -> None:
        self.items: collections.deque[int] = collections.deque()
        self.size = size
        self.changed = threading.Condition()

    def put(self, item: int) -> None:
        with self.changed:
            while len(self.items) == self.size:
                self.changed.wait()
            self.items.append(item)
            self.changed.notify_all()

    def get(self) -> int:
        with self.changed:
            self.changed.wait_for(lambda: self.items)
            item = self.items.popleft()
            self.changed.notify_all()
            return item


def bounded_buffer() -> None:
    """A buffer with ``while`` and ``notify_all``."""
    buffer = _Buffer(1)
    taken: list[int] = []
    together(
        lambda: taken.append(buffer.get()),
        lambda: taken.append(buffer.get()),
        lambda: (buffer.put(1), buffer.put(2)),
    )
    assert sorted(taken) == [1, 2]


def notify_under_a_condition() -> None:
    """The waiter looks at the state before it waits, so no notification is lost."""
    condition = threading.Condition()
    state = types.SimpleNamespace(ready=False)

    def wait() -> None:
        with condition:
            while not state.ready:
                condition.wait()

    def notify() -> None:
        with condition:
            state.ready = True
            condition.notify()

    together(wait, notify)


def condition_with_a_timeout() -> None:
    """A timed ``wait`` in a loop."""
    condition = threading.Condition()
    state = types.SimpleNamespace(ready=False)

    def wait() -> None:
        with condition:
            while not state.ready:
                condition.wait(0.1)

    def notify() -> None:
        with condition:
            state.ready = True

    together(wait, notify)


def barrier_used_again() -> None:
    """A barrier is used twice, and one thread of each round is the leader."""
    barrier = threading.Barrier(2)
    leaders: list[int] = []

    def work() -> None:
        for _ in range(2):
            if barrier.wait() == 0:
                leaders.append(1)

    together(work, work)
    assert len(leaders) == 2


def semaphore_of_two() -> None:
    """Never more than two are behind a semaphore of two."""
    semaphore = threading.Semaphore(2)
    lock = threading.Lock()
    state = types.SimpleNamespace(inside=0)

    def work() -> None:
        with semaphore:
            with lock:
                state.inside += 1
                assert state.inside <= 2
            with lock:
                state.inside -= 1

    together(work, work, work)


def reentrant_lock() -> None:
    """A reentrant lock is taken twice by one thread."""
    lock = threading.RLock()
    state = types.SimpleNamespace(count=0)

    def add() -> None:
        with lock:
            state.count += 1

    def add_twice() -> None:
        with lock:
            add()
            add()

    together(add_twice, add_twice)
    assert state.count == 4


def event_hand_over() -> None:
    """What is written before ``set`` is seen after ``wait``."""
    event = threading.Event()
    state = types.SimpleNamespace(value=0)

    def write() -> None:
        state.value = 1
        event.set()

    def read() -> None:
        event.wait()
        assert state.value == 1

    together(write, read)


def lock_as_a_signal() -> None:
    """A lock is released by another thread than the one that took it, as a signal."""
    lock = threading.Lock()
    lock.acquire()
    state = types.SimpleNamespace(value=0)

    def write() -> None:
        state.value = 1
        lock.release()

    def read() -> None:
        with lock:
            assert state.value == 1

    together(write, read)


def try_lock_with_a_fallback() -> None:
    """Who does not get the lock does something else."""
    lock = threading.Lock()
    done: list[str] = []

    def work() -> None:
        if lock.acquire(blocking=False):
            done.append("fast")
            lock.release()
        else:
            done.append("slow")

    together(work, work)
    assert "fast" in done
    assert len(done) == 2


def lock_with_a_timeout_and_a_fallback() -> None:
    """A timeout is handled."""
    lock = threading.Lock()
    state = types.SimpleNamespace(count=0, given_up=0)
    guard = threading.Lock()

    def work() -> None:
        if lock.acquire(timeout=1):
            try:
                state.count += 1
            finally:
                lock.release()
        else:
            with guard:
                state.given_up += 1

    together(work, work)
    assert state.count + state.given_up == 2


def queue_with_stop_signs() -> None:
    """A ``None`` for each consumer."""
    items: queue.Queue[int | None] = queue.Queue()
    taken: list[int] = []

    def consume() -> None:
        while (item := items.get()) is not None:
            taken.append(item)

    def produce() -> None:
        items.put(1)
        items.put(None)
        items.put(None)

    together(consume, consume, produce)
    assert taken == [1]


def bounded_queue() -> None:
    """A queue of one: the order is kept."""
    items: queue.Queue[int] = queue.Queue(1)
    taken: list[int] = []
    together(
        lambda: [items.put(number) for number in range(3)],
        lambda: taken.extend(items.get() for _ in range(3)),
    )
    assert taken == [0, 1, 2]


def simple_queue() -> None:
    """SimpleQueue hands over."""
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    taken: list[int] = []
    together(lambda: items.put(1), lambda: taken.append(items.get()))
    assert taken == [1]


def dining_philosophers_in_order() -> None:
    """The forks are taken in the order of their numbers."""
    forks = [threading.Lock() for _ in range(3)]

    def dine(seat: int) -> None:
        first, second = sorted((seat, (seat + 1) % 3))
        with forks[first], forks[second]:
            pass

    together(*(functools.partial(dine, seat) for seat in range(3)))


class _ReadersWriters:
    """A lock for many readers or one writer."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers = 0
        self.writing = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.readers += 1
        yield
        with self.changed:
            self.readers -= 1
            self.changed.notify_all()

    @contextlib.contextmanager
    def written(self) -> Iterator[None]:
        with self.changed:
            while self.writing or self.readers:
                self.changed.wait()
            self.writing = True
        yield
        with self.changed:
            self.writing = False
            self.changed.notify_all()


def readers_and_writers() -> None:
    """Readers never see half of what a writer does."""
    lock = _ReadersWriters()
    state = types.SimpleNamespace(x=0, y=0)

    def read() -> None:
        with lock.reading():
            assert state.x == state.y

    def write() -> None:
        with lock.written():
            state.x += 1
            state.y += 1

    together(read, read, write)


def peterson() -> None:
    """Peterson's mutual exclusion, with spin loops: right if memory is as one expects it."""
    wants = [False, False]
    state = types.SimpleNamespace(turn=0, count=0)

    def work(me: int) -> None:
        wants[me] = True
        state.turn = 1 - me
        while wants[1 - me] and state.turn == 1 - me:
            pass
        state.count += 1
        wants[me] = False

    together(lambda: work(0), lambda: work(1))
    assert state.count == 2


def socket_pair() -> None:
    """One thread sends, the other one receives."""
    one, two = socket.socketpair()
    with one, two:
        received: list[bytes] = []
        together(lambda: one.sendall(b"ping"), lambda: received.append(two.recv(4)))
        assert received == [b"ping"]


def socket_pair_both_ways() -> None:
    """A request and a reply over a socket pair."""
    one, two = socket.socketpair()
    with one, two:

        def serve() -> None:
            two.sendall(two.recv(4).upper())

        def ask() -> None:
            one.sendall(b"ping")
            assert one.recv(4) == b"PING"

        together(serve, ask)


def socket_pair_with_a_daemon() -> None:
    """A daemon thread serves until the other end closes."""
    one, two = socket.socketpair()
    with two:

        def serve() -> None:
            while data := two.recv(4):
                two.sendall(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with one:
            one.sendall(b"ping")
            assert one.recv(4) == b"ping"
        thread.join()


def predicate_of_a_condition_that_gives_back_a_list() -> None:
    """What is waited for is there before the notification."""
    condition = threading.Condition()
    items: list[int] = []

    def wait() -> None:
        with condition:
            condition.wait_for(lambda: items)

    def add() -> None:
        with condition:
            items.append(1)
            condition.notify()

    together(wait, add)


def what_the_action_of_a_barrier_reads() -> None:
    """The action reads what is changed only behind the barrier."""
    parts: list[int] = []
    sizes: list[int] = []
    barrier = threading.Barrier(2, action=lambda: sizes.append(len(parts)))

    def before() -> None:
        parts.append(1)
        barrier.wait()

    def behind() -> None:
        barrier.wait()
        parts.append(2)

    together(before, behind)
    assert sizes == [1]
