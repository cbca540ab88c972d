"""Three threads that each take two of three locks: around a cycle, or in one order."""

from __future__ import annotations

import threading


class Table:
    """Three locks, taken two at a time."""

    def __init__(self) -> None:
        self.first = threading.Lock()
        self.second = threading.Lock()
        self.third = threading.Lock()

    def first_then_second(self) -> None:
        """Hold the first and the second lock."""
        with self.first, self.second:
            pass

    def second_then_third(self) -> None:
        """Hold the second and the third lock."""
        with self.second, self.third:
            pass

    def third_then_first(self) -> None:
        """Hold the third and the first lock: closes the cycle."""
        with self.third, self.first:
            pass

    def first_then_third(self) -> None:
        """Hold the first and the third lock: keeps to the order."""
        with self.first, self.third:
            pass


def lock_cycle() -> None:
    """Deadlocks when each thread gets its first lock before any gets its second."""
    table = Table()
    threads = [
        threading.Thread(target=table.first_then_second),
        threading.Thread(target=table.second_then_third),
        threading.Thread(target=table.third_then_first),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lock_order() -> None:
    """As many threads and locks as :func:`lock_cycle`, but no cycle."""
    table = Table()
    threads = [
        threading.Thread(target=table.first_then_second),
        threading.Thread(target=table.second_then_third),
        threading.Thread(target=table.first_then_third),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
