"""kombu 5.0.2: a cached property has two values.

Promised: ``cached_property`` "caches the return value of the get method on first call"; its
documentation shows a property that opens a connection.
Race: ``cached_property.__get__`` looks into the instance dictionary (utils/objects.py:41) and on
KeyError computes and stores the value (43) without a lock. Two threads compute it twice, and the
one whose value is replaced goes on with a value that nobody else sees.
Reported: issue #1303 of the project ("kombu.utils.objects.cached_property is not thread safe"),
fixed in version 5.1 with a lock.
"""

import threading

from kombu.utils.objects import cached_property


class Application:
    @cached_property
    def connection(self) -> object:
        return object()


def test_the_connection_is_opened_once() -> None:
    application = Application()
    connections: list[object] = []

    def use() -> None:
        connections.append(application.connection)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert connections[0] is connections[1]
