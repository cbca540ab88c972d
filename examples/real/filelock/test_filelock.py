"""filelock 3.15.4: a lock that is to be a singleton is made twice.

Promised: "If this is set to True then only one instance of this class will be created per lock
file."
Race: ``FileLockMeta.__call__`` looks for the instance (_api.py:94) before it stores a new one
(137).
Found by reading the source.
"""

import threading

from filelock import BaseFileLock, FileLock


def test_a_singleton_is_made_once() -> None:
    locks: list[BaseFileLock] = []

    def make() -> None:
        locks.append(FileLock("some.lock", is_singleton=True))

    threads = [threading.Thread(target=make) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert locks[0] is locks[1]
