"""that-depends 1.24.0: a singleton provider creates two objects.

Promised: ``Singleton`` creates its object once and then gives the same one.
Race: ``Singleton.sync_resolve`` tests ``self._instance is None`` (providers/singleton.py:47),
creates and stores the object (48), and returns what is stored (56), without a lock; only the
asynchronous way has one.
Reported: issue #106 and pull request #125 of the project ("Make thread safe singleton").
"""

import threading

from that_depends.providers import Singleton


class Settings:
    pass


def test_the_singleton_is_created_once() -> None:
    provider = Singleton(Settings)
    objects: list[Settings] = []

    def resolve() -> None:
        objects.append(provider.sync_resolve())

    threads = [threading.Thread(target=resolve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert objects[0] is objects[1]
