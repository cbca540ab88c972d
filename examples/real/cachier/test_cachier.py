"""cachier 4.2.0: a thread that waits for what another one computes waits for ever.

Promised: with a cache in memory, a call waits for one that computes the same already.
Race: ``_MemoryCore.wait_on_entry_calc`` sees that the value is being computed, lets go of the lock,
and only then waits for the notification (cores/memory.py). It may have come by then, or the
condition may be gone.
Source: reading the source.
"""

import threading

from cachier import cachier


def test_two_threads_want_the_same_value() -> None:
    @cachier(backend="memory")
    def square(number: int) -> int:
        return number * number

    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(square(3))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [9, 9]
