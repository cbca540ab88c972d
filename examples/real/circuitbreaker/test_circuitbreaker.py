"""circuitbreaker 2.1.3: the breaker stays closed after as many failures as should open it.

Promised: the circuit opens after ``failure_threshold`` failures in a row.
Race: ``self._failure_count += 1`` (circuitbreaker.py:231) reads and writes in two steps without a
lock; of two failures at the same time one is not counted.
Reported: issue #61 of the project ("Thread safe?").
"""

import contextlib
import threading

from circuitbreaker import CircuitBreaker


def test_two_failures_open_the_circuit() -> None:
    breaker = CircuitBreaker(failure_threshold=2, name="mail")

    @breaker
    def send() -> None:
        raise ConnectionError

    def try_to_send() -> None:
        with contextlib.suppress(ConnectionError):
            send()

    threads = [threading.Thread(target=try_to_send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert breaker.opened
