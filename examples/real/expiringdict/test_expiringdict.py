"""expiringdict 1.2.2: ``setdefault`` gives two threads two values for one key.

Intended: all methods that the class defines hold its lock ("object is locked during cleanup from
expired values"); of a dict, ``setdefault`` returns what is stored.
Race: ``setdefault`` is that of ``OrderedDict``. For a subclass it calls ``__contains__`` and then
``__setitem__``, each of which takes the lock by itself. A second thread between the two replaces
the value that the first one has handed out.
Reported: found by reading the source.
"""

import threading

from expiringdict import ExpiringDict


def test_setdefault_gives_everybody_the_same_value() -> None:
    cache = ExpiringDict(max_len=10, max_age_seconds=60)
    values: list[list[str]] = []

    def use() -> None:
        values.append(cache.setdefault("key", []))

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert values[0] is values[1]
