"""Code in C stores what a function in Python has computed, where that ends, not where it begins.

Each program computes something from a setting and keeps it, while another task changes the setting
and then drops what is kept. With a lock what is kept is never stale.
"""

from __future__ import annotations

import array
import collections
import csv
import functools
import io
import operator
import struct
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.programs.guarding import Guard
from tests.programs.together import together


class Setting:
    """What is computed from."""

    def __init__(self) -> None:
        self.value = 1

    def of(self, _: object = None) -> int:
        """A plain function, with a name."""
        return self.value

    def pair(self, key: int) -> tuple[int, int]:
        """The same as an item of a dict, by value."""
        return self.value, key

    def through_reference(self) -> int:
        """The same, from the object that a weak reference refers to."""
        setting = weakref.ref(self)()
        return 0 if setting is None else setting.value

    def each(self) -> Iterator[int]:
        """The same of a generator."""
        yield self.value


class Made:
    """Made by a constructor in Python."""

    def __init__(self, setting: Setting) -> None:
        self.value = setting.value


Keeping = tuple[Callable[[], object], Callable[[], object], Callable[[], bool]]
"""What computes and keeps, what drops that, and whether what is kept is stale in the end."""


def never_stale(guard: Guard, make: Callable[[Setting], Keeping]) -> None:
    """What is kept in the end was computed from the last setting."""
    setting = Setting()
    keep, drop, is_stale = make(setting)

    def work() -> None:
        with guard:
            keep()

    def change() -> None:
        with guard:
            setting.value = 2
            drop()

    together(work, change)
    assert not is_stale()


def _cached(cached: Any, is_stale: Callable[[Any], bool] = lambda got: got == 1) -> Keeping:
    return cached, cached.cache_clear, lambda: is_stale(cached())


def _cached_method(setting: Setting) -> Keeping:
    class Prices:
        @functools.lru_cache
        def price(self) -> int:
            return setting.value

    prices = Prices()
    return prices.price, Prices.price.cache_clear, lambda: prices.price() == 1


def _cached_for(call: Callable[[Any], object], setting: Setting) -> Keeping:
    """The cache is called by code in C."""
    cached = functools.lru_cache(setting.of)
    return lambda: call(cached), cached.cache_clear, lambda: cached("a") == 1


def _stepping(cached: Any) -> None:
    for _ in map(cached, "a"):
        pass


def _defaulted(factory: Callable[[], Any], is_stale: Callable[[Any], bool]) -> Keeping:
    kept: dict[str, Any] = collections.defaultdict(factory)
    return lambda: kept["a"], lambda: kept.pop("a", None), lambda: is_stale(kept["a"])


def _into(kept: Any, keep: Callable[[Any], object]) -> Keeping:
    return lambda: keep(kept), lambda: operator.delitem(kept, slice(None)), lambda: 1 in kept


def _into_hashed(kept: Any, keep: Callable[[Any], object]) -> Keeping:
    return lambda: keep(kept), kept.clear, lambda: 1 in kept


def _assign(kept: Any, items: Any) -> None:
    kept[:] = items


def _same(key: str) -> str:
    return key


def _each(keys: str) -> Iterator[str]:
    yield from keys


def _defaulted_for_map(setting: Setting, keys: Callable[[str], Iterable[str]]) -> Keeping:
    kept: dict[str, Any] = collections.defaultdict(setting.of)
    keep = kept.__getitem__
    return lambda: list(map(keep, keys("a"))), lambda: kept.pop("a", None), lambda: kept["a"] == 1


class Number:
    """Code in C asks it for its value, to store that."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def __index__(self) -> int:
        return self._setting.value

    def __str__(self) -> str:
        return str(self._setting.value)


def _into_memory(kept: Any, keep: Callable[[Any], object]) -> Keeping:
    return lambda: keep(kept), lambda: operator.setitem(kept, 0, 0), lambda: 1 in kept


def _into_text(keep: Callable[[io.StringIO], object]) -> Keeping:
    kept = io.StringIO()

    def drop() -> None:
        kept.seek(0)
        kept.truncate()

    return lambda: keep(kept), drop, lambda: "1" in kept.getvalue()


def _cached_getter(setting: Setting) -> Keeping:
    cached = functools.lru_cache(setting.of)
    made: Any = type("Made", (), {"price": property(cached)})()
    return lambda: made.price, cached.cache_clear, lambda: made.price == 1


def _cached_special(setting: Setting) -> Keeping:
    class Priced:
        @functools.lru_cache
        def __len__(self) -> int:
            return setting.value

    priced, cached = Priced(), Priced.__len__
    return lambda: len(priced), cached.cache_clear, lambda: len(priced) == 1


def _cached_named(setting: Setting) -> Keeping:
    class Priced:
        @functools.lru_cache
        def price(self) -> int:
            return setting.value

    priced, call = Priced(), operator.methodcaller("price")
    return lambda: list(map(call, [priced])), Priced.price.cache_clear, lambda: priced.price() == 1


def _cached_factory(setting: Setting) -> Keeping:
    cached = functools.lru_cache(setting.of)
    return (
        lambda: collections.defaultdict(cached)["a"],
        cached.cache_clear,
        lambda: cached() == 1,
    )


COMPUTED: dict[str, Callable[[Setting], Keeping]] = {
    "lru_cache": lambda s: _cached(functools.lru_cache(s.of)),
    "cache": lambda s: _cached(functools.cache(s.of)),
    "lru_cache of a method": _cached_method,
    "lru_cache of a partial": lambda s: _cached(functools.cache(functools.partial(Setting.of, s))),
    "lru_cache of a class": lambda s: _cached(
        functools.cache(functools.partial(Made, s)), lambda made: made.value == 1
    ),
    "lru_cache for a map": lambda s: _cached_for(lambda cached: list(map(cached, "a")), s),
    "lru_cache for a map with a star": lambda s: _cached_for(
        lambda cached: print(*map(cached, "a"), end="", file=io.StringIO()), s
    ),
    "lru_cache for a loop": lambda s: _cached_for(_stepping, s),
    "lru_cache as a key": lambda s: _cached_for(lambda cached: sorted("a", key=cached), s),
    "lru_cache for a filter": lambda s: _cached_for(
        lambda cached: 1 in map(cached, filter(None, "a")), s
    ),
    "lru_cache for values of a generator": lambda s: _cached_for(
        lambda cached: list(map(cached, (each for each in "a"))), s
    ),
    "lru_cache for values of functions": lambda s: _cached_for(
        lambda cached: list(map(cached, map(_same, "a"))), s
    ),
    "factory for values of a generator": lambda s: _defaulted_for_map(s, _each),
    "factory for a map": lambda s: _defaulted_for_map(s, str),
    "extend for a map": lambda s: _into([], lambda kept: list(map(kept.extend, [s.each()]))),
    "factory": lambda s: _defaulted(s.of, lambda got: got == 1),
    "factory by item": lambda s: _defaulted(functools.partial(s.of), lambda got: got == 1),
    "class as factory": lambda s: _defaulted(
        functools.partial(Made, s), lambda made: made.value == 1
    ),
    "extend": lambda s: _into([], lambda kept: kept.extend(map(s.of, [0]))),
    "array": lambda s: _into(array.array("i"), lambda kept: kept.extend(map(s.of, [0]))),
    "bytearray": lambda s: _into(bytearray(), lambda kept: kept.extend(map(s.of, [0]))),
    "in place": lambda s: _into([], lambda kept: operator.iadd(kept, map(s.of, [0]))),
    "in place, of a generator": lambda s: _into([], lambda kept: operator.iadd(kept, s.each())),
    "slice": lambda s: _into([], lambda kept: _assign(kept, map(s.of, [0]))),
    "slice of a generator": lambda s: _into([], lambda kept: _assign(kept, s.each())),
    "set": lambda s: _into_hashed(set(), lambda kept: kept.update(map(s.of, [0]))),
    "counter": lambda s: _into_hashed(
        collections.Counter(), lambda kept: kept.update(map(s.of, [0]))
    ),
    "dict": lambda s: _into_hashed({}, lambda kept: kept.update(map(s.pair, [0]))),
    "dict in place": lambda s: _into_hashed({}, lambda kept: operator.ior(kept, map(s.pair, [0]))),
    "lru_cache as a getter": _cached_getter,
    "lru_cache as a special method": _cached_special,
    "lru_cache called by its name": _cached_named,
    "lru_cache as a factory": _cached_factory,
    "number in bytes": lambda s: _into(bytearray(), lambda kept: kept.append(Number(s))),
    "number stored in bytes": lambda s: _into_memory(
        bytearray(1), lambda kept: operator.setitem(kept, 0, Number(s))
    ),
    "number stored in an array": lambda s: _into_memory(
        array.array("i", [0]), lambda kept: operator.setitem(kept, 0, Number(s))
    ),
    "number stored in a view": lambda s: _into_memory(
        memoryview(bytearray(1)), lambda kept: operator.setitem(kept, 0, Number(s))
    ),
    "number packed": lambda s: _into_memory(
        bytearray(1), lambda kept: struct.pack_into("B", kept, 0, Number(s))
    ),
    "lines": lambda s: _into_text(lambda kept: kept.writelines(map(str, s.each()))),
    "row": lambda s: _into_text(lambda kept: csv.writer(kept).writerow([Number(s)])),
    "while lives begin to be watched": lambda s: _cached(functools.cache(s.through_reference)),
}
