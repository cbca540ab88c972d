"""python-dateutil 2.9.0.post0: iterating over a recurrence rule blocks for ever.

Promised: a rule made with ``cache=True`` can be iterated over by several threads; its cache has a
lock for this.
Race: ``rrulebase._iter_cached`` takes the lock (rrule.py:132) and releases it at the end of the
block (142), but the two ``break`` statements for a rule that has ended (134, 141) leave the block
with the lock held. A thread that has entered the loop (130) before another thread came to the end
of the rule waits for the lock for ever.
Reported: pull request #973 of the project mentions deadlocks of unknown cause; later versions use a
``with`` statement.
"""

import threading
from datetime import datetime

from dateutil.rrule import DAILY, rrule


def test_two_threads_iterate_over_one_rule() -> None:
    rule = rrule(DAILY, count=2, dtstart=datetime(2026, 1, 1), cache=True)
    results: list[list[datetime]] = []

    threads = [threading.Thread(target=lambda: results.append(list(rule))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == 2 * [[datetime(2026, 1, 1), datetime(2026, 1, 2)]]
