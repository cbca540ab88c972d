"""A producer hands 10 items to a consumer through a ``queue.Queue``: correct."""

from __future__ import annotations

import queue
import threading

ITEMS = 10


class Exchange:
    """A queue, and what its consumer has taken from it."""

    def __init__(self) -> None:
        self.queue: queue.Queue[int] = queue.Queue()
        self.received: list[int] = []

    def produce(self) -> None:
        """Put the items."""
        for item in range(ITEMS):
            self.queue.put(item)

    def consume(self) -> None:
        """Take as many items as are put."""
        for _ in range(ITEMS):
            self.received.append(self.queue.get())


def producer_consumer() -> list[int]:
    """Return the items in the order in which the consumer took them."""
    exchange = Exchange()
    producer = threading.Thread(target=exchange.produce)
    consumer = threading.Thread(target=exchange.consume)
    producer.start()
    consumer.start()
    producer.join()
    consumer.join()
    return exchange.received
