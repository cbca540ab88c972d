"""Programs that rely on an order of two things which nobody keeps."""

from __future__ import annotations

import threading

from ._together import together


class _Pair:
    def __init__(self) -> None:
        self.first = 0
        self.second = 0
        self.lock = threading.Lock()


def reorder(setters: int) -> None:
    """Each setter writes two variables; whoever reads them expects both or neither."""
    pair = _Pair()

    def write() -> None:
        pair.first = 1
        pair.second = -1

    def check() -> None:
        first = pair.first
        second = pair.second
        assert (first, second) in ((0, 0), (1, -1))

    together(*[write] * setters, check)


def kept_order(setters: int) -> None:
    """Both variables are written and read under one lock."""
    pair = _Pair()

    def write() -> None:
        with pair.lock:
            pair.first = 1
            pair.second = -1

    def check() -> None:
        with pair.lock:
            assert (pair.first, pair.second) in ((0, 0), (1, -1))

    together(*[write] * setters, check)


class _Stages:
    def __init__(self) -> None:
        self.one = 0
        self.two = 0
        self.lock_one = threading.Lock()
        self.lock_two = threading.Lock()


def two_stage(writers: int) -> None:
    """The second value follows in a critical section of its own; a reader comes in between."""
    stages = _Stages()

    def write() -> None:
        with stages.lock_one:
            stages.one = 1
        with stages.lock_two:
            stages.two = stages.one + 1

    def read() -> None:
        with stages.lock_one:
            one = stages.one
        if one == 0:
            return
        with stages.lock_two:
            assert stages.two == one + 1

    together(*[write] * writers, read)


def two_stages_at_once(writers: int) -> None:
    """Both values change while both locks are held."""
    stages = _Stages()

    def write() -> None:
        with stages.lock_one, stages.lock_two:
            stages.one = 1
            stages.two = stages.one + 1

    def read() -> None:
        with stages.lock_one:
            one = stages.one
        if one == 0:
            return
        with stages.lock_two:
            assert stages.two == one + 1

    together(*[write] * writers, read)


class _Config:
    def __init__(self) -> None:
        self.is_ready = False
        self.value: str | None = None


class _Lazy:
    """A value that is made when it is first asked for."""

    def __init__(self) -> None:
        self.config: _Config | None = None
        self.made = 0
        self.lock = threading.Lock()

    def get_unlocked(self) -> _Config:
        if self.config is None:
            self.made += 1
            config = _Config()
            config.value = "value"
            self.config = config
        return self.config

    def get_published_too_early(self) -> _Config:
        """Double-checked locking; what is seen without the lock is not ready yet."""
        if self.config is None:
            with self.lock:
                if self.config is None:
                    self.config = _Config()
                    self.config.value = "value"
        return self.config

    def get_checked_twice(self) -> _Config:
        """Double-checked locking that publishes only what is ready."""
        if self.config is None:
            with self.lock:
                if self.config is None:
                    config = _Config()
                    config.value = "value"
                    self.config = config
        return self.config


def lazy_initialisation_twice() -> None:
    """Two threads ask for the first time: two objects are made."""
    lazy = _Lazy()
    together(lazy.get_unlocked, lazy.get_unlocked)
    assert lazy.made == 1


def lazy_initialisation_once() -> None:
    """The first question is asked under a lock."""
    lazy = _Lazy()

    def get() -> None:
        with lazy.lock:
            lazy.get_unlocked()

    together(get, get)
    assert lazy.made == 1


def double_checked_too_early() -> None:
    """The object is published before it is filled."""

    def use() -> None:
        assert lazy.get_published_too_early().value == "value"

    lazy = _Lazy()
    together(use, use)


def double_checked() -> None:
    """The object is filled before it is published."""

    def use() -> None:
        assert lazy.get_checked_twice().value == "value"

    lazy = _Lazy()
    together(use, use)


def critical_sections_in_either_order() -> None:
    """Two threads with one critical section each; the result is right in one order only."""
    log: list[str] = []
    lock = threading.Lock()

    def say(word: str) -> None:
        with lock:
            log.append(word)

    together(lambda: say("open"), lambda: say("close"))
    assert log == ["open", "close"]


def critical_sections_in_order() -> None:
    """The second thread waits until the first is through."""
    log: list[str] = []
    lock = threading.Lock()
    opened = threading.Event()

    def say_open() -> None:
        with lock:
            log.append("open")
        opened.set()

    def say_close() -> None:
        opened.wait()
        with lock:
            log.append("close")

    together(say_open, say_close)
    assert log == ["open", "close"]


def third_lock_order() -> None:
    """Three threads with one critical section each; exactly one order of the six is wrong."""
    log: list[int] = []
    lock = threading.Lock()

    def note(number: int) -> None:
        with lock:
            log.append(number)

    together(lambda: note(1), lambda: note(2), lambda: note(3))
    assert log != [3, 1, 2]


def any_lock_order() -> None:
    """Three threads with one critical section each; every order is right."""
    log: list[int] = []
    lock = threading.Lock()

    def note(number: int) -> None:
        with lock:
            log.append(number)

    together(lambda: note(1), lambda: note(2), lambda: note(3))
    assert sorted(log) == [1, 2, 3]


def published_before_written() -> None:
    """The index of a record is published before the record is written."""
    records: list[str | None] = [None, None]
    published = [0]

    def produce() -> None:
        for number in range(2):
            published[0] = number + 1
            records[number] = f"record {number}"

    def consume() -> None:
        count = published[0]
        assert None not in records[:count]

    together(produce, consume)


def written_before_published() -> None:
    """The record is written before its index is published."""
    records: list[str | None] = [None, None]
    published = [0]

    def produce() -> None:
        for number in range(2):
            records[number] = f"record {number}"
            published[0] = number + 1

    def consume() -> None:
        count = published[0]
        assert None not in records[:count]

    together(produce, consume)


def torn_read(versions: int) -> None:
    """A reader without retry takes the halves of two versions."""
    halves = [0, 0]

    def write() -> None:
        for version in range(1, versions + 1):
            halves[0] = version
            halves[1] = version

    def read() -> None:
        second = halves[1]
        first = halves[0]
        # Reading against the direction of writing lets the first half be ahead by one, no more.
        assert first - second < 2

    together(write, read)


def whole_read(versions: int) -> None:
    """A sequence lock: the reader gives up when the version changed under it."""
    halves = [0, 0]
    sequence = [0]

    def write() -> None:
        for version in range(1, versions + 1):
            sequence[0] += 1
            halves[0] = version
            halves[1] = version
            sequence[0] += 1

    def read() -> None:
        before = sequence[0]
        first, second = halves
        if before % 2 == 0 and sequence[0] == before:
            assert first == second

    together(write, read)
