"""statsd 2.1.2: a timer that decorates a function raises RuntimeError, or measures another call.

Promised: a timer can be used as a decorator, each call is measured.
Race: all calls share one timer, with its start (client.py:38), its result (45) and whether that was
sent (53).
Found by reading the source; in 4.0.1 each call has a timer of its own.
"""

import threading

from statsd import StatsClient


class Keeping(StatsClient):
    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def _send(self, data: str) -> None:
        self.sent.append(data)


def test_each_call_is_measured() -> None:
    client = Keeping()

    @client.timer("work")
    def work() -> None:
        pass

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(client.sent) == 2
