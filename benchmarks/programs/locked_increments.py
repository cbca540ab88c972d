"""Two threads that each increment a counter 20 times under a lock: correct."""

from __future__ import annotations

import threading

ROUNDS = 20
THREADS = 2


class LockedCounter:
    """A counter that a lock protects."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value = 0

    def increment_often(self) -> None:
        """Increment the counter ``ROUNDS`` times, taking the lock for each."""
        for _ in range(ROUNDS):
            with self.lock:
                self.value += 1


def locked_increments() -> int:
    """Return the final value: always ``ROUNDS * THREADS``."""
    counter = LockedCounter()
    threads = [threading.Thread(target=counter.increment_often) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counter.value
