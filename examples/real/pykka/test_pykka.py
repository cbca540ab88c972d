"""pykka 4.2.0: ``get`` on a future that has its result blocks for ever.

Promised: ``get`` returns the value of the future, as often and by whom it is called.
Race: ``ThreadingFuture.get`` tests ``self._result is None`` (_threading.py:58) and then takes the
only item from the queue (59). Two threads that have both passed the test wait for one item: the
second waits for ever. A deadlock without any lock.
Reported: issue #232 of the project, fixed by pull request #233 with a condition.
"""

import threading

from pykka import ThreadingFuture


def test_two_threads_get_the_result() -> None:
    future: ThreadingFuture[int] = ThreadingFuture()
    future.set(42)
    results: list[int] = []

    def get() -> None:
        results.append(future.get())

    threads = [threading.Thread(target=get) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [42, 42]
