"""limits 5.8.0: more requests pass than the limit allows, or the limiter raises RuntimeError.

Promised: ``hit`` returns False when the limit is exceeded, with the memory storage also between
threads (it keeps one lock per key).
Race 1: ``MemoryStorage.get`` removes the counter *and the lock* of a key that has no expiry yet
(storage/memory.py:119-122) while another thread counts under that lock (94-97): the count of the
other thread is lost, and both threads pass.
Race 2: ``__schedule_expiry`` (storage/memory.py:74-76) replaces ``self.timer`` and starts
``self.timer``, which by then may be the timer of another thread: "threads can only be started
once".
Reported: issue #26 and pull request #352 of the project.
"""

import threading

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter


def test_a_limit_of_one_lets_one_request_pass() -> None:
    storage = MemoryStorage()
    limiter = FixedWindowRateLimiter(storage)
    limit = parse("1/hour")
    storage.timer.join()
    passed: list[bool] = []

    def request() -> None:
        passed.append(limiter.hit(limit, "ada"))

    threads = [threading.Thread(target=request) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(passed) == [False, True]
