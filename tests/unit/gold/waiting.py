"""Programs that the reports of the unit tests are about; nobody runs them."""

import queue
import threading


def test_lost_notify():
    ready = threading.Condition()

    def producer():
        with ready:
            ready.notify()

    def consumer():
        with ready:
            ready.wait()

    first = threading.Thread(target=consumer)
    second = threading.Thread(target=producer)
    first.start()
    second.start()
    first.join()
    second.join()


def test_polite():
    left = threading.Lock()
    right = threading.Lock()

    def insist(mine, other):
        while True:
            with mine:
                if other.acquire(blocking=False):
                    break

    first = threading.Thread(target=insist, args=(left, right))
    second = threading.Thread(target=insist, args=(right, left))
    first.start()
    second.start()


def test_timeout():
    jobs = queue.Queue()
    worker = threading.Thread(target=jobs.put, args=("job",))
    worker.start()
    job = jobs.get(timeout=0.5)
    worker.join()
