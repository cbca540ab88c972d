"""dramatiq 2.2.1: a message is lost when two threads declare the queue that it goes into.

Promised (docstring of ``StubBroker.declare_queue``): "Has no effect if a queue with the given name
has already been declared."
Race: it tests ``queue_name in self.queues`` (stub.py:85) and stores a new queue (89). A second
thread that passes the test before the first one stores replaces the queue that the first may have
put a message into already.
Reported: found by reading the source.
"""

import threading

from dramatiq import Message
from dramatiq.brokers.stub import StubBroker


def test_both_messages_are_in_the_queue() -> None:
    broker = StubBroker(middleware=[])

    def send(number: int) -> None:
        broker.declare_queue("jobs")
        broker.enqueue(
            Message(queue_name="jobs", actor_name="work", args=(number,), kwargs={}, options={})
        )

    threads = [threading.Thread(target=send, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert broker.queues["jobs"].qsize() == 2
