"""pybreaker 1.4.1: who looks at the state of a breaker that opens closes it for a moment.

Promised (first line of the module): "Threadsafe pure-Python implementation of the Circuit Breaker
pattern".
Race: ``CircuitBreaker.open`` sets its own state and then that of the storage, under its lock
(__init__.py:285). The property ``state`` compares the two without the lock (182); in between
they differ, and it puts back what the storage said: listeners are told that the circuit was closed,
and opened again when somebody looks next.
Reported: found by reading the source.
"""

import threading
from typing import Any

from pybreaker import CircuitBreaker, CircuitBreakerListener


class Listener(CircuitBreakerListener):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def state_change(self, cb: CircuitBreaker, old_state: Any, new_state: Any) -> None:
        """The circuit breaker has another state now."""
        self.states.append(new_state.name)


def test_a_breaker_that_opens_is_not_closed_by_looking_at_it() -> None:
    listener = Listener()
    breaker = CircuitBreaker(listeners=[listener])

    def look() -> None:
        assert breaker.state.name in ("closed", "open")

    threads = [threading.Thread(target=breaker.open), threading.Thread(target=look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert listener.states == ["open"]
