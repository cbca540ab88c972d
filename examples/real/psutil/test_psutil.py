"""psutil 5.8.0: asking a process for something raises AttributeError in another thread.

Promised: ``Process.oneshot`` is thread-safe (since 5.4.0).
Race: what reads a value finds that there is a cache (_common.py:447), and stores the value in it
(454) when the thread that has opened it, in ``oneshot``, has deleted it (465).
Reported: issue #1948; fixed in 5.9.0.
"""

import threading

import psutil


def test_asking_while_another_thread_asks_for_more() -> None:
    process = psutil.Process()
    parents: list[int] = []

    def ask_for_more() -> None:
        with process.oneshot():
            process.name()

    def ask() -> None:
        parents.append(process.ppid())

    threads = [threading.Thread(target=function) for function in (ask_for_more, ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(parents) == 1
