"""What data races look like, and what is told of both accesses."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.model.outcome import Race, RacePattern
from bohrbug.report.race import pattern_in_words


class Store:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.balance = 0
        self.refs = 0
        self.hits = 0
        self.value: object = None
        self.checked: object = None
        self.copied: object = None
        self.cache: dict[str, object] = {}
        self.tried: dict[str, object] = {}
        self.log: deque[int] = deque()
        self.done = False
        self.result: object = None
        self.pair = 0
        self.size = 0

    def deposit(self) -> None:
        old = self.balance
        self.balance = old + 10

    def grow(self) -> None:
        self.size = self.size + len("ab")

    def keep(self) -> None:
        self.refs += 1

    def drop(self) -> None:
        self.refs -= 1

    def count(self) -> None:
        self.hits += 1

    def lazy(self) -> object:
        if self.value is None:
            self.value = object()
        return self.value

    def lazy_with_copy(self) -> object:
        found = self.copied
        if found is None:
            found = self.copied = object()
        return found

    def double_checked(self) -> object:
        if self.checked is None:
            with self.lock:
                if self.checked is None:
                    self.checked = object()
        return self.checked

    def cached(self) -> object:
        if "k" not in self.cache:
            self.cache["k"] = object()
        return self.cache["k"]

    def cached_by_trying(self) -> object:
        try:
            return self.tried["k"]
        except KeyError:
            self.tried["k"] = object()
            return self.tried["k"]

    def note(self) -> None:
        self.log.append(1)

    def mark(self) -> None:
        self.done = True

    def publish(self) -> None:
        self.result = object()

    def look(self) -> object:
        return self.result

    def one(self) -> None:
        self.pair = len("a")

    def two(self) -> None:
        self.pair = len("ab")


def races_of(*methods: str) -> list[Race]:
    def test() -> None:
        store = Store()
        threads = [threading.Thread(target=getattr(store, method)) for method in methods]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = bohrbug.explore(test, executions=60)
    assert not result.failures
    return result.races


@pytest.mark.parametrize(
    ("methods", "pattern"),
    [
        (("deposit", "deposit"), RacePattern.LOST_UPDATE),
        (("grow", "grow"), RacePattern.LOST_UPDATE),
        (("keep", "drop"), RacePattern.LOST_UPDATE),
        (("count", "count"), RacePattern.LOSSY_COUNTER),
        (("lazy", "lazy"), RacePattern.CHECK_THEN_ACT),
        (("lazy_with_copy", "lazy_with_copy"), RacePattern.CHECK_THEN_ACT),
        (("cached", "cached"), RacePattern.CHECK_THEN_ACT),
        (("cached_by_trying", "cached_by_trying"), RacePattern.CHECK_THEN_ACT),
        (("double_checked", "double_checked"), RacePattern.DOUBLE_CHECKED_LOCKING),
        (("mark", "mark"), RacePattern.IDEMPOTENT_WRITE),
        (("note", "note"), RacePattern.ATOMIC_CONTAINER_CALL),
        (("publish", "look"), RacePattern.PUBLICATION),
        (("one", "two"), RacePattern.UNCLASSIFIED),
    ],
    ids=lambda value: value.name if isinstance(value, RacePattern) else None,
)
def test_what_races_look_like(methods: tuple[str, str], pattern: RacePattern) -> None:
    found = races_of(*methods)
    assert found
    assert {race.pattern for race in found} == {pattern}


def test_no_pattern_without_a_source() -> None:
    namespace: dict[str, Callable[[object], None]] = {}
    exec("def add(store):\n    store.n += 1\n", namespace)

    class Plain:
        n = 0

    def test() -> None:
        store = Plain()
        threads = [threading.Thread(target=namespace["add"], args=(store,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    races = bohrbug.explore(test, executions=30, scope=(f"+{__name__}",)).races
    assert {race.pattern for race in races} <= {RacePattern.UNCLASSIFIED}


def test_both_accesses_have_stacks_and_locks() -> None:
    store = Store()

    def guarded() -> None:
        with store.lock:
            store.deposit()

    def test() -> None:
        store.balance = 0
        threads = [threading.Thread(target=guarded), threading.Thread(target=store.deposit)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    races = bohrbug.explore(test, executions=30).races
    assert races
    for race in races:
        sides = {access.task: access for access in (race.first, race.second)}
        functions = [frame.site.function.rpartition(".")[2] for frame in sides["0.1"].stack]
        assert functions[-2:] == ["guarded", "deposit"]
        assert [frame.site.function for frame in sides["0.2"].stack][-1] == "Store.deposit"
        assert [held.acquired is not None for held in sides["0.1"].holding] == [True]
        assert sides["0.2"].holding == ()


def test_every_pattern_but_the_last_has_its_words() -> None:
    store = races_of("deposit", "deposit")[0]
    from dataclasses import replace

    for pattern in RacePattern:
        words = pattern_in_words(replace(store, pattern=pattern))
        assert bool(words) == (pattern is not RacePattern.UNCLASSIFIED)
        if pattern.is_often_benign:
            assert "harmless." not in words, "nothing is called harmless outright"
