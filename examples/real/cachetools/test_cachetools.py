"""cachetools 8.0.0: a cached function raises KeyError although the function itself never does.

Expected: a function under ``@cached(LRUCache(...))`` returns what the function returns.
Race: without ``lock=``, both threads store into the full cache: ``Cache.__setitem__`` evicts with
``popitem`` (__init__.py:70-71), which picks the oldest key (__init__.py:320) and deletes it (325).
Two threads pick the same key, and the second deletion raises KeyError; or the size is counted
wrongly (73, 98), and from then on every store fails. In a ``TTLCache``, ``expire`` (573-576)
deletes the same expired key twice.
Reported: issues #80, #90, #115 and #288 of the project. The documentation asks for ``lock=`` when
threads share a cache; leaving it out is the mistake that these reports have in common.
"""

import threading

from cachetools import LRUCache, TTLCache, cached


def call_in_two_threads(function: object) -> list[int]:
    results: list[int] = []

    def call(number: int) -> None:
        results.append(function(number))  # type: ignore[operator]

    threads = [threading.Thread(target=call, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(results)


def test_a_cached_function_returns_its_result() -> None:
    @cached(LRUCache(maxsize=1))
    def double(number: int) -> int:
        return 2 * number

    double(0)
    assert call_in_two_threads(double) == [2, 4]


def test_the_size_of_the_cache_stays_right() -> None:
    cache: LRUCache[int, int] = LRUCache(maxsize=2)

    def store(key: int) -> None:
        cache[key] = key

    threads = [threading.Thread(target=store, args=(key,)) for key in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.currsize == len(cache) == 2


def test_a_function_cached_with_a_time_to_live_returns_its_result() -> None:
    now = 0.0

    @cached(TTLCache(maxsize=8, ttl=10, timer=lambda: now))
    def double(number: int) -> int:
        return 2 * number

    double(0)
    now = 20.0
    assert call_in_two_threads(double) == [2, 4]
