"""One long execution: 25 threads and 170,000 synchronisation operations.

Each thread makes 6,800 calls that synchronise: in each of 100 rounds 30
acquisitions and 30 releases of a lock that it shares with four others, 3
acquisitions and 3 releases of a semaphore that lets three threads in, a
``put`` to its neighbour's queue and a ``get`` from its own.  A ``put`` or
``get`` counts as one, although each takes and notifies several primitives
inside.
"""

from __future__ import annotations

import queue
import threading

THREADS = 25
GROUPS = 5
ROUNDS = 100
LOCKINGS_PER_ROUND = 30
ENTRIES_PER_ROUND = 3

OPERATIONS = THREADS * ROUNDS * (2 * LOCKINGS_PER_ROUND + 2 * ENTRIES_PER_ROUND + 2)
"""Calls that synchronise, in one execution; starts and joins are not counted."""


class Ring:
    """Threads in a ring: locks shared in groups, one semaphore, a queue for each thread."""

    def __init__(self) -> None:
        self.locks = [threading.Lock() for _ in range(GROUPS)]
        self.totals = [0] * GROUPS
        self.room = threading.Semaphore(3)
        self.queues: list[queue.Queue[int]] = [queue.Queue() for _ in range(THREADS)]
        self.received = [0] * THREADS

    def work(self, number: int) -> None:
        """What thread ``number`` does."""
        group = number % GROUPS
        lock = self.locks[group]
        neighbour = self.queues[(number + 1) % THREADS]
        own = self.queues[number]
        for _ in range(ROUNDS):
            for _ in range(LOCKINGS_PER_ROUND):
                with lock:
                    self.totals[group] += 1
            for _ in range(ENTRIES_PER_ROUND):
                with self.room:
                    pass
            neighbour.put(1)
            self.received[number] += own.get()


def large() -> tuple[int, int]:
    """Return how many increments and how many items arrived: 75,000 and 2,500."""
    ring = Ring()
    threads = [threading.Thread(target=ring.work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(ring.totals), sum(ring.received)
