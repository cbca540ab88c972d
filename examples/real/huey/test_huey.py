"""huey 3.5.4: a counter in memory gives the same number to two threads, so that a chord ends twice.

Promised (docstring of ``BaseStorage.incr``): "Atomically increment a counter, returning the new
value." Huey itself relies on it: the task of a chord whose number is the size of the chord
enqueues what comes after it (api.py:558).
Race: ``MemoryStorage.incr`` adds under a lock (storage.py:421-422) and reads the counter again
after it has released the lock (423). Another thread that adds in between lets both return the
higher number.
Reported: found by reading the source.
"""

import threading

from huey.storage import MemoryStorage


def test_no_number_is_given_twice() -> None:
    storage = MemoryStorage()
    numbers: list[int] = []

    def count() -> None:
        numbers.append(storage.incr("finished"))

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(numbers) == [1, 2]
