"""ZODB 5.5.1: a transaction sees one object as it was and another one as it is.

Promised: a transaction sees the database as it was at one moment.
Race: ``MVCCAdapterInstance.poll_invalidations`` asks for the last transaction and takes the
objects that have changed a little later (mvccadapter.py:131 and 132). If another thread commits in
between, they are known to have changed, but loaded as they were; the next transaction finds them
in the cache.
Reported: issue #290; fixed in 5.6.0.
"""

import threading

from persistent.mapping import PersistentMapping
from ZODB import DB
from ZODB.MappingStorage import MappingStorage


def test_two_objects_that_are_changed_together() -> None:
    database = DB(MappingStorage())
    with database.transaction() as connection:
        for name in "ab":
            connection.root()[name] = PersistentMapping(n=0)
    seen: list[tuple[int, int]] = []

    def change() -> None:
        with database.transaction() as connection:
            for name in "ab":
                connection.root()[name]["n"] = 1

    def look() -> None:
        with database.transaction() as connection:
            connection.root()["a"]["n"]
        with database.transaction() as connection:
            seen.append((connection.root()["a"]["n"], connection.root()["b"]["n"]))

    threads = [threading.Thread(target=function) for function in (change, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0] in [(0, 0), (1, 1)]
