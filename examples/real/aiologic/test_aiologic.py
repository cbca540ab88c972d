"""aiologic 0.13.1: after an attempt to get a lock without waiting nobody gets it any more.

Promised: a lock that nobody holds can be acquired.
Race: a thread that does not wait, and meets the release of another one, leaves the lock locked.
Reported: the changes of 0.14.0, in which it is fixed.
"""

import threading

import aiologic


def test_an_attempt_while_another_thread_lets_go() -> None:
    lock = aiologic.Lock()

    def use() -> None:
        with lock:
            pass

    def attempt() -> None:
        if lock.green_acquire(blocking=False):
            lock.green_release()

    threads = [threading.Thread(target=function) for function in (use, attempt)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    use()
