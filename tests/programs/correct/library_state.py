"""Correct programs: state of the library that is guarded, or of one task alone."""

from __future__ import annotations

import json
import pickle
import random
import threading

from tests.programs.together import together


class _One:
    def number(self) -> int:
        return 1


class _Two:
    def number(self) -> int:
        return 2


def class_exchanged_under_a_lock() -> None:
    """A lock keeps both calls together."""
    thing = _One()
    lock = threading.Lock()
    seen: list[int] = []

    def look() -> None:
        with lock:
            seen.append(thing.number())
            seen.append(thing.number())

    def exchange() -> None:
        with lock:
            thing.__class__ = _Two

    together(look, exchange)
    assert seen[0] == seen[1]


def generator_for_each_task() -> None:
    """Each task has a generator of its own."""
    first = random.Random(1).random()
    drawn: list[float] = []

    def draw() -> None:
        drawn.append(random.Random(1).random())

    together(draw, draw)
    assert drawn == [first, first]


def written_under_a_lock() -> None:
    """A lock keeps both changes together."""
    values = {"a": 0, "b": 0}
    lock = threading.Lock()
    written: list[tuple[str, bytes]] = []

    def change() -> None:
        with lock:
            values["a"] = 1
            values["b"] = 1

    def write() -> None:
        with lock:
            written.append((json.dumps(values), pickle.dumps(values)))

    together(change, write)
    found = json.loads(written[0][0])
    assert found == pickle.loads(written[0][1])
    assert found["a"] == found["b"]


def exception_of_each_task() -> None:
    """Each task changes its own exception."""
    counts: list[int] = []

    class Counting(Exception):
        pass

    def raise_one() -> None:
        try:
            raise Counting(0)
        except Counting as error:
            error.args = (error.args[0] + 1,)
            counts.append(error.args[0])

    together(raise_one, raise_one)
    assert counts == [1, 1]
