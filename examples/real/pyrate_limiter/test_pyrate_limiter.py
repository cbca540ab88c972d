"""pyrate-limiter 4.5.1: closing a limiter that was just made raises AssertionError in its thread.

Promised: ``Limiter.close`` releases the buckets, and its worker, a daemon thread, just ends.
Race: ``Leaker.start`` starts the worker if there are buckets (bucket.py:324). The worker asserts
that there still are some (``_run``, bucket.py:314), before it has looked at the event that tells
it to stop. If ``Leaker.close`` has cleared them by then, it dies of the assertion.
Found by exploring the library's own test ``test_limiter_close_closes_its_buckets``.
"""

import threading

from pyrate_limiter import Duration, Limiter, Rate


def test_a_limiter_is_closed_soon_after_it_was_made() -> None:
    errors: list[BaseException | None] = []
    others = set(threading.enumerate())
    before = threading.excepthook
    threading.excepthook = lambda given: errors.append(given.exc_value)
    try:
        Limiter(Rate(5, Duration.SECOND)).close()
        for worker in set(threading.enumerate()) - others:
            worker.join(timeout=1)
    finally:
        threading.excepthook = before

    assert errors == []
