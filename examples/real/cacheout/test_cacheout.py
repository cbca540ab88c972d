"""cacheout 0.17.0: a cache that two threads configure is made twice, and one loses what it stored.

Promised (README): "Thread safe"; (docstring of ``CacheManager.configure``): "If no cache has been
configured for `name`, then it will be created."
Race: ``CacheManager.configure`` looks for the cache (manager.py:100) and, if there is none, makes
and registers one (103), without the lock that the class has. A thread that finds none before
another one registers its own replaces that, with all that is in it.
Reported: found by reading the source.
"""

import threading

from cacheout import CacheManager


def test_what_is_stored_in_a_configured_cache_stays_there() -> None:
    manager = CacheManager()

    def use(key: str) -> None:
        manager.configure("users", maxsize=10)
        manager["users"].set(key, "value")

    threads = [threading.Thread(target=use, args=(key,)) for key in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(manager["users"]) == ["ada", "bob"]
