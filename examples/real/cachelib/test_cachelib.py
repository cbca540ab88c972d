"""cachelib 0.13.0: two threads both add the same key, and both are told that they did.

Promised (``BaseCache.add``): it works like ``set``, "but does not overwrite the values of already
existing keys", and returns "``False`` for already existing keys".
Race: ``SimpleCache.add`` tests ``key in self._cache`` (simple.py:83) before it calls
``setdefault`` (85) and ignores what ``setdefault`` returns.
Reported: issue #446 of the project ("SimpleCache Not Thread Safe"). The docstring of this version
warns that under heavy load "keys are added multiple times".
"""

import threading

from cachelib import SimpleCache


def test_one_thread_adds_the_key() -> None:
    cache = SimpleCache()
    added: list[bool] = []

    def add(owner: str) -> None:
        added.append(cache.add("job-1", owner))

    threads = [threading.Thread(target=add, args=(owner,)) for owner in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(added) == [False, True]
