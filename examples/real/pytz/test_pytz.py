"""pytz 2026.6: two threads get two different objects for the same time zone.

Promised: the docstring of ``timezone`` shows ``timezone('US/Eastern') is eastern``.
Race: ``timezone`` tests ``zone not in _tzinfo_cache`` (__init__.py:198), reads the file of the zone
and stores the object (202), and returns what is stored (208), without a lock. The second of two
first calls replaces the object that the first has handed out.
Reported: found by reading the source.

The file of the zone is read once beforehand: natively the test fails often when both threads read
the disk.
"""

import io
import threading
from datetime import tzinfo
from unittest import mock

import pytz


def test_a_time_zone_is_one_object() -> None:
    with pytz.open_resource("Europe/Zurich") as file:
        content = file.read()
    zones: list[tzinfo] = []

    def look_up() -> None:
        zones.append(pytz.timezone("Europe/Zurich"))

    with (
        mock.patch.dict(pytz._tzinfo_cache, clear=True),
        mock.patch.object(pytz, "open_resource", lambda name: io.BytesIO(content)),
    ):
        threads = [threading.Thread(target=look_up) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert zones[0] is zones[1]
