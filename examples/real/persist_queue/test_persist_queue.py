"""persist-queue 1.1.0: a queue to which two threads put counts one item for two.

Promised (README, "Key Features"): "Thread-safe: Supports multi-threaded producers and consumers".
Race: ``SQLiteQueue.put`` inserts under a lock, but adds to ``total`` (sqlqueue.py:45), of which
``size``, ``empty`` and ``len`` tell, without one; ``get`` subtracts from it under another lock
(sqlbase.py:118). Two threads that read the same total count one item for two, and ``empty`` is true
while an item is in the queue.
Reported: found by exploring persist-queue's own tests, whose summary names the race.
"""

import pathlib
import threading

from persistqueue import SQLiteQueue


def test_the_size_of_the_queue_is_the_number_of_its_items(tmp_path: pathlib.Path) -> None:
    queue = SQLiteQueue(tmp_path, multithreading=True, auto_commit=True)

    threads = [threading.Thread(target=queue.put, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert queue.size == len(queue.queue()) == 2
