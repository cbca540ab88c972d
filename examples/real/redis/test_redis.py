"""redis 3.2.1: the connection pool hands out more connections than ``max_connections``.

Promised: ``ConnectionPool(max_connections=n)`` raises ConnectionError rather than have more than n
connections, and pools may be shared by threads.
Race: ``make_connection`` tests ``_created_connections`` against the limit and then increments it
(connection.py:1022-1024), both without a lock.
Reported: issue #906 of the project ("connection pool in multi-thread is not thread safe"), fixed by
pull request #1270 in version 3.4.
"""

import threading

from redis.connection import ConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError


class OfflineConnection:
    description_format = "OfflineConnection"

    def connect(self) -> None:
        pass

    def is_ready_for_command(self) -> bool:
        return True


def test_the_pool_keeps_its_limit() -> None:
    pool = ConnectionPool(connection_class=OfflineConnection, max_connections=1)
    connections: list[object] = []
    refused: list[RedisConnectionError] = []

    def use() -> None:
        try:
            connections.append(pool.get_connection("PING"))
        except RedisConnectionError as failure:
            refused.append(failure)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(connections) == 1
    assert len(refused) == 1
