"""concurrent-collections 2.1.0: two threads that compare two dictionaries block for ever.

Promised (docstring of ``ConcurrentDictionary.__eq__``): "Thread-safe equality comparison."
Race: ``a == b`` takes the lock of ``a`` and then that of ``b`` (concurrent_dict.py:282 and 283),
``b == a`` takes them in the other order, so that each thread may hold what the other waits for.
``ConcurrentBag`` compares in the same way.
Reported: found by reading the source.
"""

import threading

from concurrent_collections import ConcurrentDictionary


def test_two_threads_compare_two_dictionaries() -> None:
    here = ConcurrentDictionary({"x": 1})
    there = ConcurrentDictionary({"x": 1})
    answers: list[bool] = []

    threads = [
        threading.Thread(target=lambda: answers.append(here == there)),
        threading.Thread(target=lambda: answers.append(there == here)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [True, True]
