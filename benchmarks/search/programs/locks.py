"""Deadlocks: locks taken in different orders, or kept while waiting for something else."""

from __future__ import annotations

import threading

from ._together import together


def deadlock() -> None:
    """Two threads take two locks, one the other way round."""
    first, second = threading.Lock(), threading.Lock()
    counter = [0]

    def forwards() -> None:
        with first, second:
            counter[0] += 1

    def backwards() -> None:
        with second, first:
            counter[0] -= 1

    together(forwards, backwards)
    assert counter[0] == 0


def no_deadlock() -> None:
    """Two threads take two locks in the same order."""
    first, second = threading.Lock(), threading.Lock()
    counter = [0]

    def change(number: int) -> None:
        with first, second:
            counter[0] += number

    together(lambda: change(1), lambda: change(-1))
    assert counter[0] == 0


def philosophers(number: int) -> None:
    """Each philosopher takes the left fork, then the right one: all may wait for each other."""
    forks = [threading.Lock() for _ in range(number)]

    def dine(seat: int) -> None:
        with forks[seat], forks[(seat + 1) % number]:
            pass

    together(*[lambda seat=seat: dine(seat) for seat in range(number)])  # type: ignore[misc]


def polite_philosophers(number: int) -> None:
    """The last philosopher takes the forks the other way round."""
    forks = [threading.Lock() for _ in range(number)]

    def dine(seat: int) -> None:
        left, right = sorted((seat, (seat + 1) % number))
        with forks[left], forks[right]:
            pass

    together(*[lambda seat=seat: dine(seat) for seat in range(number)])  # type: ignore[misc]


class _Room:
    """A room for members of one group at a time."""

    def __init__(self, door: threading.Lock) -> None:
        self.lock = threading.Lock()
        self.door = door
        self.inside = 0

    def enter(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.door.acquire()

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.door.release()


def two_groups_one_counter_lock() -> None:
    """Two groups share the lock of their counters; who waits for the door keeps that lock."""
    door = threading.Lock()
    rooms = [_Room(door), _Room(door)]
    rooms[1].lock = rooms[0].lock

    def visit(room: _Room) -> None:
        room.enter()
        room.leave()

    together(lambda: visit(rooms[0]), lambda: visit(rooms[1]))


def two_groups_own_counter_locks() -> None:
    """Each group has a lock of its own for its counter."""
    door = threading.Lock()
    rooms = [_Room(door), _Room(door)]

    def visit(room: _Room) -> None:
        room.enter()
        room.leave()

    together(lambda: visit(rooms[0]), lambda: visit(rooms[1]))


def lock_ring(threads: int) -> None:
    """Locks around a ring, with some work before the second one."""
    locks = [threading.Lock() for _ in range(threads)]
    counts = [0] * threads

    def work(index: int) -> None:
        following = (index + 1) % threads
        with locks[index]:
            counts[index] += 1
        with locks[index], locks[following]:
            counts[following] += 1

    together(*[lambda index=index: work(index) for index in range(threads)])  # type: ignore[misc]


def lock_line(threads: int) -> None:
    """The same with the lower lock first."""
    locks = [threading.Lock() for _ in range(threads)]
    counts = [0] * threads

    def work(index: int) -> None:
        following = (index + 1) % threads
        low, high = sorted((index, following))
        with locks[index]:
            counts[index] += 1
        with locks[low], locks[high]:
            counts[following] += 1

    together(*[lambda index=index: work(index) for index in range(threads)])  # type: ignore[misc]
    assert sum(counts) == 2 * threads


class _SharedLock:
    """A lock for many readers or one writer."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers = 0

    def acquire_shared(self) -> None:
        with self.changed:
            self.readers += 1

    def release_shared(self) -> None:
        with self.changed:
            self.readers -= 1
            self.changed.notify_all()

    def upgrade(self) -> None:
        """Wait until there is no other reader; keeps its own share meanwhile."""
        with self.changed:
            while self.readers > 1:
                self.changed.wait()

    def try_upgrade(self) -> bool:
        """Whether there was no other reader."""
        with self.changed:
            return self.readers == 1


def upgrade_deadlock() -> None:
    """Two readers want to become the writer, and each waits for the other to leave."""
    lock = _SharedLock()

    def read_then_write() -> None:
        lock.acquire_shared()
        lock.upgrade()
        lock.release_shared()

    together(read_then_write, read_then_write)


def upgrade_or_give_up() -> None:
    """Who can't become the writer leaves."""
    lock = _SharedLock()
    written = []

    def read_then_write() -> None:
        lock.acquire_shared()
        if lock.try_upgrade():
            written.append(True)
        lock.release_shared()

    together(read_then_write, read_then_write)
    assert len(written) <= 2


def join_while_holding() -> None:
    """A thread is joined by one that holds what it needs."""
    lock = threading.Lock()

    def work() -> None:
        with lock:
            pass

    worker = threading.Thread(target=work)

    def stop() -> None:
        with lock:
            if worker.is_alive():
                worker.join()

    worker.start()
    together(stop)
    worker.join()


def join_after_releasing() -> None:
    """The lock is given back before the join."""
    lock = threading.Lock()

    def work() -> None:
        with lock:
            pass

    worker = threading.Thread(target=work)

    def stop() -> None:
        with lock:
            pass
        worker.join()

    worker.start()
    together(stop)
