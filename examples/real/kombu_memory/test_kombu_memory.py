"""kombu 5.7.0: of two messages that are sent into a new queue in memory, one is lost.

Promised (docstring of ``kombu.transport.memory``): "Messages can be passed only between threads."
Each thread has a channel of its own here.
Race: ``Channel._queue_for`` tests ``queue not in self.queues`` (memory.py:52) and stores a new
queue (53) in a dictionary that all channels share. A second thread that passes the test before
the first one stores replaces the queue that the first may have put its message into already.
Reported: found by reading the source.
"""

import threading

from kombu.transport.memory import Transport


class Client:
    """As much of a connection as a channel in memory asks for."""

    def __init__(self) -> None:
        self.transport_options: dict[str, object] = {}


def test_both_messages_are_in_the_queue() -> None:
    transport = Transport(Client())
    first = transport.create_channel(transport)
    second = transport.create_channel(transport)
    first.queues.pop("jobs", None)

    def send(channel, message: str) -> None:
        channel._put("jobs", message)

    threads = [
        threading.Thread(target=send, args=(first, "one")),
        threading.Thread(target=send, args=(second, "two")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert first._size("jobs") == 2
