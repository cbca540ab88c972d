"""blinker 1.9.0: two threads that ask for the same named signal get two signals.

Promised (docstring of ``Namespace.signal``): "Repeated calls with the same name return the same
signal."
Race: ``Namespace.signal`` tests ``name not in self`` (base.py:493), then stores a new signal (494)
and reads it back (496). A second thread that passes the test before the first one stores replaces
the signal that the first has already handed out: receivers connected to that one hear nothing.
Reported: found by reading the source; version 1.4 used the atomic ``dict.setdefault`` here.
"""

import threading

from blinker import Namespace, Signal


def test_the_same_name_gives_the_same_signal() -> None:
    namespace = Namespace()
    signals: list[Signal] = []

    def ask() -> None:
        signals.append(namespace.signal("saved"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert signals[0] is signals[1]
