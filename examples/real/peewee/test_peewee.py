"""peewee 4.0.5: two threads, one of which closes all connections of a pool, wait for each other.

Promised: ``close_all`` closes the connections of a pool, whichever threads use them.
Deadlock: ``PooledDatabase.close_all`` holds the lock of the pool (playhouse/pool.py:35) when
``Database.close`` asks for the one of the database (peewee.py:3303). ``Database.connect`` holds
that (3279) when ``PooledDatabase._connect`` asks for the first.
Reported: issue #3047; fixed in 4.0.6.
"""

import threading

from playhouse.pool import PooledSqliteDatabase


def test_closing_all_connections_while_another_thread_connects() -> None:
    pool = PooledSqliteDatabase(":memory:", check_same_thread=False, max_connections=3)

    def use() -> None:
        pool.connect()
        pool.close()

    threads = [threading.Thread(target=use), threading.Thread(target=pool.close_all)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
