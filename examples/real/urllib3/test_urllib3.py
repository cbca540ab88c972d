"""urllib3 1.26.15: a request fails with ClosedPoolError because another thread uses another host.

Promised: ``PoolManager`` "allows for arbitrary requests while transparently keeping track of
necessary connection pools", and the documentation calls urllib3 thread safe.
Race: ``PoolManager.urlopen`` gets the pool of the host (poolmanager.py:365) under a lock (271-283)
and uses it after the lock is released (376). A request of another thread to another host evicts the
pool in between when ``num_pools`` is reached, and eviction closes it.
Reported: issue #1252 of the project ("PoolManager is not thread-safe"), fixed by pull requests
#2661 and #2954.
"""

import threading

from urllib3 import PoolManager
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import ClosedPoolError
from urllib3.response import HTTPResponse


class OfflinePool(HTTPConnectionPool):
    """A pool that answers requests itself, once it has a connection from its own queue."""

    def urlopen(self, method: str, url: str, **options: object) -> HTTPResponse:
        connection = self._get_conn()
        self._put_conn(connection)
        return HTTPResponse(status=200)


def test_requests_to_two_hosts() -> None:
    manager = PoolManager(num_pools=1, retries=False)
    manager.pool_classes_by_scheme = {"http": OfflinePool}
    answers: list[object] = []

    def fetch(host: str) -> None:
        try:
            answers.append(manager.urlopen("GET", f"http://{host}.example/").status)
        except ClosedPoolError as failure:
            answers.append(failure)

    threads = [threading.Thread(target=fetch, args=(host,)) for host in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [200, 200]
