"""snowflake-id 1.0.2: two threads draw the same id.

Promised: every ``next(generator)`` gives a new id, up to 4096 in a millisecond.
Race: ``SnowflakeGenerator.__next__`` increments ``_seq`` (snowflake.py:124) and reads it again to
build the id (132), without a lock.
Reported: issues #6 and #7 of the project ("getting duplicate id in multi-threaded environment").

The clock stands still, so that all ids belong to the same millisecond.
"""

import threading
from unittest import mock

from snowflake import SnowflakeGenerator


def test_ids_differ() -> None:
    ids: list[int | None] = []
    with mock.patch("snowflake.snowflake.time", new=lambda: 1_700_000_000.0):
        generator = SnowflakeGenerator(1)
        threads = [threading.Thread(target=lambda: ids.append(next(generator))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(set(ids)) == 2
