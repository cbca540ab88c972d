"""fasteners 0.17.2: a writer that reads, too, waits for a writer that waits for it.

Promised (docstring of ``read_lock``): it waits until there are no active or pending writers, and a
writer may read. Defect: it also waits for those who wait for this writer (lock.py).
Reported: issue #86, pull request #87.
"""

import threading

from fasteners import ReaderWriterLock


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_writer_may_read() -> None:
    lock = ReaderWriterLock()

    def write_and_read() -> None:
        with lock.write_lock(), lock.read_lock():
            pass

    def write() -> None:
        with lock.write_lock():
            pass

    together(write_and_read, write)
