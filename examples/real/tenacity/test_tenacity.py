"""tenacity 9.2.1: a function that is retried in two threads raises KeyError: 'idle_for'.

Promised (documentation of ``statistics``, and of ``Retrying``, which keeps its state in a
``threading.local``): the statistics of a call are those of its thread.
Race: ``wraps`` gives each call the one dict ``wrapped_f.statistics`` and clears it
(tenacity/__init__.py:401), while the call of another thread is between ``begin`` (417-421) and
``self.statistics["idle_for"] += sleep`` (492).
Reported: issue #701 of the project, found by reading.
"""

import threading

from tenacity import retry, stop_after_attempt


def test_a_function_is_retried_in_two_threads() -> None:
    @retry(stop=stop_after_attempt(3))
    def connect(attempts: list[int]) -> str:
        attempts.append(1)
        if len(attempts) < 2:
            raise ConnectionError
        return "connected"

    results: list[object] = []

    def work() -> None:
        try:
            results.append(connect([]))
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == ["connected", "connected"]
