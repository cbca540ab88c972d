"""fakeredis 2.32.0: two clients count to one.

Race: the databases of a server are a ``defaultdict`` whose factory makes a ``Database`` in Python
(_server.py). Two clients that use a new server each get one, and only the last is kept.
Reported: found by exploring.
"""

import threading

import fakeredis


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_clients_count_to_two() -> None:
    server = fakeredis.FakeServer()
    clients = [fakeredis.FakeRedis(server=server) for _ in range(2)]
    together(*[lambda client=client: client.incr("count") for client in clients])
    assert clients[0].get("count") == b"2"
