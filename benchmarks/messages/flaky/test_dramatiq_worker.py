"""dramatiq: a worker with two threads; the test expects that it does jobs in the order given."""

import queue
import random
import time

import dramatiq
from dramatiq.brokers.stub import StubBroker


def test_jobs_are_done_in_the_order_given():
    broker = StubBroker()
    done = queue.Queue()

    @dramatiq.actor(broker=broker)
    def job(number):
        time.sleep(random.random() * 0.003)
        done.put(number)

    worker = dramatiq.Worker(broker, worker_timeout=100, worker_threads=2)
    worker.start()
    try:
        for number in range(3):
            job.send(number)
        broker.join("default")
        worker.join()
    finally:
        worker.stop()
    assert [done.get() for _ in range(3)] == [0, 1, 2]
