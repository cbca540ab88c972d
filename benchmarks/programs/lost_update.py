"""Tasks that read a value and write it back plus one, without a lock."""

from __future__ import annotations

import threading


class Counter:
    """A counter whose increment can be lost."""

    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        """Add one in two steps."""
        t = self.value
        self.value = t + 1


def lost_update(thread_count: int) -> int:
    """Increment one counter once in each of ``thread_count`` threads; return its value."""
    counter = Counter()
    threads = [threading.Thread(target=counter.increment) for _ in range(thread_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counter.value


def lost_update_2() -> int:
    """Two threads; returns 2 unless an update is lost."""
    return lost_update(2)


def lost_update_3() -> int:
    """Three threads; returns 3 unless an update is lost."""
    return lost_update(3)


def lost_update_4() -> int:
    """Four threads; returns 4 unless an update is lost."""
    return lost_update(4)
