"""Programs around containers that override what they inherit, and around ``__dict__``.

Each takes a lock or a stand-in.  With a lock each is correct, without one some
interleaving breaks it.
"""

from __future__ import annotations

import array
import collections
from collections.abc import Callable
from typing import Any

from tests.programs.guarding import Guard, counted
from tests.programs.together import together


def _stored_in_pairs(
    guard: Guard, store: Callable[[Any, int], object], load: Callable[[Any], object], keys: Any
) -> None:
    """Both items are stored together, and read together."""
    got: list[tuple[object, object]] = []

    def write() -> None:
        with guard:
            for key in keys:
                store(key, 1)

    def read() -> None:
        with guard:
            got.append((load(keys[0]), load(keys[1])))

    together(write, read)
    assert got[0] in ((0, 0), (1, 1))


def dict_that_overrides_subscripts(guard: Guard) -> None:
    """Half of a pair is read through ``super().__getitem__``."""

    class Table(dict[str, int]):
        def __getitem__(self, key: str) -> int:
            return super().__getitem__(key)

        def __setitem__(self, key: str, value: int) -> None:
            super().__setitem__(key, value)

    table = Table(a=0, b=0)
    _stored_in_pairs(guard, table.__setitem__, table.__getitem__, "ab")


def dict_read_by_its_class(guard: Guard) -> None:
    """Half of a pair is read by ``dict.__getitem__``, of a class that overrides it."""

    class Table(dict[str, int]):
        def __getitem__(self, key: str) -> int:
            return dict.__getitem__(self, key) + 0

    table = Table(a=0, b=0)

    def store(key: str, value: int) -> None:
        table[key] = value

    _stored_in_pairs(guard, store, lambda key: table[key], "ab")


def list_that_overrides_subscripts(guard: Guard) -> None:
    """Half of a pair is read through ``super().__getitem__``."""

    class Row(list[int]):
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index)

        def __setitem__(self, index: Any, value: Any) -> None:
            super().__setitem__(index, value)

    row = Row([0, 0])

    def store(index: int, value: int) -> None:
        row[index] = value

    _stored_in_pairs(guard, store, lambda index: row[index], (0, 1))


def array_that_overrides_subscripts(guard: Guard) -> None:
    """One count is lost."""

    class Counts(array.array):  # type: ignore[type-arg]
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index)

    counts = Counts("i", [0])

    def count() -> None:
        counts[0] += 1

    counted(guard, count, lambda: counts[0])


def dict_that_overrides_contains(guard: Guard) -> None:
    """Two tasks add what only one of them should."""

    class Names(dict[str, int]):
        def __contains__(self, name: object) -> bool:
            return super().__contains__(name)

    names = Names()
    added: list[str] = []

    def add() -> None:
        with guard:
            if "a" not in names:
                names["a"] = 1
                added.append("a")

    together(add, add)
    assert added == ["a"]


def dict_that_overrides_deletion(guard: Guard) -> None:
    """The second one who deletes gets a KeyError."""

    class Table(dict[str, int]):
        def __delitem__(self, key: str) -> None:
            super().__delitem__(key)

    table = Table(a=1)

    def drop() -> None:
        with guard:
            if "a" in table:
                del table["a"]

    together(drop, drop)


def defaultdict_that_overrides_stores(guard: Guard) -> None:
    """One count is lost."""

    class Counts(collections.defaultdict[str, int]):
        def __setitem__(self, key: str, value: int) -> None:
            super().__setitem__(key, value)

    counts = Counts(int)

    def count() -> None:
        counts["a"] += 1

    counted(guard, count, lambda: counts["a"])


def attributes_that_are_items(guard: Guard) -> None:
    """One count is lost: attributes are items, by functions in C."""

    class Settings(dict[str, Any]):
        __getattr__ = dict.__getitem__
        __setattr__ = dict.__setitem__  # type: ignore[assignment]

    settings = Settings(n=0)

    def count() -> None:
        settings.n += 1

    counted(guard, count, lambda: settings["n"])


class _Place:
    """Has a ``__dict__``."""

    n: int


def namespace_replaced(guard: Guard) -> None:
    """One replacement of ``__dict__`` is lost."""
    place = _Place()
    place.n = 0

    def count() -> None:
        namespace = dict(place.__dict__)
        namespace["n"] += 1
        place.__dict__ = namespace

    counted(guard, count, lambda: place.n)


def namespace_of_several_objects(guard: Guard) -> None:
    """One count is lost: all objects of the class share one ``__dict__``."""

    class Shared:
        _namespace: dict[str, int] = {}

        def __init__(self) -> None:
            self.__dict__ = Shared._namespace

    objects: list[Any] = [Shared(), Shared()]
    objects[0].n = 0

    def count(one: Any) -> None:
        with guard:
            one.n += 1

    together(lambda: count(objects[0]), lambda: count(objects[1]))
    assert objects[0].n == 2


def namespace_emptied(guard: Guard) -> None:
    """An attribute that was there is gone: AttributeError."""
    place = _Place()
    place.n = 1

    def empty() -> None:
        with guard:
            place.__dict__ = {}

    def look() -> None:
        with guard:
            if hasattr(place, "n"):
                place.n += 1

    together(empty, look)


def namespace_with_another_name(guard: Guard) -> None:
    """One count is lost: an object's attribute is an item of a dict that has a name."""
    names = {"n": 0}
    place = _Place()
    place.__dict__ = names

    def count() -> None:
        names["n"] = place.n + 1

    counted(guard, count, lambda: place.n)
