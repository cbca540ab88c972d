"""pylru 1.2.1: storing into the cache raises KeyError or loses a value.

Expected: ``cache[key] = value`` never raises, and a cache with room for both keys holds both.
Race: ``lrucache.__setitem__`` takes the node at the tail of the list (pylru.py:133), fills it
(143-145), enters it in the table (148) and only then moves the head (154). Two threads take the
same node: one value replaces the other, or the old key is deleted twice (140).
Reported: issue #18 of the project ("linked list updates are not thread safe").
"""

import threading

from pylru import lrucache


def test_a_cache_with_room_for_two_holds_two() -> None:
    cache = lrucache(2)
    failures: list[KeyError] = []

    def store(key: str) -> None:
        try:
            cache[key] = key
        except KeyError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=store, args=(key,)) for key in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert dict(cache.items()) == {"ada": "ada", "bob": "bob"}
