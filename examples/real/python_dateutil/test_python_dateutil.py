"""python-dateutil 2.6.1: a time zone from an iCalendar file gives a wrong offset.

Expected: the offset of a date does not depend on what other threads ask.
Race: ``_tzicalvtz._find_comp`` keeps its cache in two parallel lists. It inserts into one
(tz/tz.py:1088) and then into the other (1089) without a lock; a thread that searches the first list
in between (1062) takes the entry of another date.
Reported: issue #428 of the project ("tzical is not thread-safe").
"""

import io
import threading
from datetime import datetime, timedelta

from dateutil.tz import tzical

CALENDAR = """BEGIN:VTIMEZONE
TZID:Test
BEGIN:STANDARD
DTSTART:20001029T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
TZNAME:CET
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20010325T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
TZNAME:CEST
END:DAYLIGHT
END:VTIMEZONE
"""


def test_the_offset_is_the_same_in_both_threads() -> None:
    zone = tzical(io.StringIO(CALENDAR)).get()
    assert datetime(2001, 1, 1, tzinfo=zone).utcoffset() == timedelta(hours=1)
    moment = datetime(2001, 6, 1, tzinfo=zone)
    offsets: list[timedelta] = []

    threads = [
        threading.Thread(target=lambda: offsets.append(moment.utcoffset())) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert offsets == [timedelta(hours=2), timedelta(hours=2)]
