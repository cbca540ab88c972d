"""Pebble 5.2.3: waiting for queues blocks for ever.

Promised: ``waitforqueues`` "Waits for one or more *Queue* to be ready", also while others put into
them.
Race: ``wait_queues`` takes a lock and then asks whether the queues are empty, for which each takes
its own mutex (functions.py:60 and 61). A ``put`` holds that mutex when it comes to the method that
Pebble has put into the queue, which takes the first lock (140).
Found by exploring the library's own test ``test_waitforqueues_restore``.
"""

import queue
import threading

from pebble import waitforqueues


def test_waiting_for_a_queue_while_somebody_puts() -> None:
    jobs: queue.Queue[str] = queue.Queue()

    sender = threading.Thread(target=jobs.put, args=("job",))
    sender.start()
    ready = list(waitforqueues([jobs], timeout=60))
    sender.join()

    assert ready == [jobs]
