"""Broken programs: state that a process or an object has once, changed by what the library does."""

from __future__ import annotations

import csv
import io
import json
import locale
import os
import pickle
import random
from collections.abc import Callable
from types import SimpleNamespace

from tests.programs.together import together


class _One:
    def number(self) -> int:
        return 1


class _Two:
    def number(self) -> int:
        return 2


def class_exchanged() -> None:
    """AssertionError: the object has become one of another class between two calls."""
    thing = _One()
    seen: list[int] = []

    def look() -> None:
        seen.append(thing.number())
        seen.append(thing.number())

    def exchange() -> None:
        thing.__class__ = _Two

    together(look, exchange)
    assert seen[0] == seen[1]


def class_looked_at() -> None:
    """AssertionError: the object has become one of another class between two looks."""
    thing = _One()
    seen: list[object] = []

    def look() -> None:
        seen.append(type(thing))
        seen.append(isinstance(thing, _One))

    def exchange() -> None:
        thing.__class__ = _Two

    together(look, exchange)
    assert (seen[0] is _One) == seen[1]


def class_matched() -> None:
    """AssertionError: two class patterns tell different classes."""
    thing = _One()
    seen: list[int] = []

    def look() -> None:
        for _ in range(2):
            match thing:
                case _One():
                    seen.append(1)
                case _:
                    seen.append(2)

    def exchange() -> None:
        thing.__class__ = _Two

    together(look, exchange)
    assert seen[0] == seen[1]


def code_exchanged() -> None:
    """AssertionError: the function does something else at the second call."""

    def called() -> int:
        return 1

    def other() -> int:
        return 2

    seen: list[int] = []

    def look() -> None:
        seen.append(called())
        seen.append(called())

    def exchange() -> None:
        called.__code__ = other.__code__

    together(look, exchange)
    assert seen[0] == seen[1]


def defaults_exchanged() -> None:
    """AssertionError: the default value is another one at the second call."""

    def called(value: int = 1) -> int:
        return value

    seen: list[int] = []

    def look() -> None:
        seen.append(called())
        seen.append(called())

    def exchange() -> None:
        called.__defaults__ = (2,)

    together(look, exchange)
    assert seen[0] == seen[1]


def slot_by_its_descriptor() -> None:
    """AssertionError: one of two increments is lost."""

    class Counter:
        __slots__ = ("value",)

    counter = Counter()
    counter.value = 0
    slot = vars(Counter)["value"]

    def increment() -> None:
        slot.__set__(counter, slot.__get__(counter) + 1)

    together(increment, increment)
    assert counter.value == 2


class _Error(Exception):
    pass


def arguments_of_an_exception() -> None:
    """AssertionError: one of two increments is lost."""
    error = _Error(0)

    def increment() -> None:
        error.args = (error.args[0] + 1,)

    together(increment, increment)
    assert error.args[0] == 2


def first_random_number() -> None:
    """AssertionError: the other task draws the first number of the generator all share."""
    random.seed(1)
    first = random.random()
    random.seed(1)
    drawn: list[float] = []
    together(lambda: drawn.append(random.random()), random.random)
    assert drawn == [first]


def seeded_by_one_task() -> None:
    """AssertionError: another task draws between seed and number."""
    random.seed(3)
    expected = random.randint(0, 1_000)
    drawn: list[int] = []

    def draw() -> None:
        random.seed(3)
        drawn.append(random.randint(0, 1_000))

    together(draw, lambda: random.choice("ab"))
    assert drawn == [expected]


def generator_of_one_test() -> None:
    """AssertionError: the other task draws the first number."""
    generator = random.Random(1)
    first = random.Random(1).random()
    drawn: list[float] = []
    together(lambda: drawn.append(generator.random()), lambda: generator.random())
    assert drawn == [first]


def file_mode_mask() -> None:
    """AssertionError: who looks sets the mask for a moment."""
    before = os.umask(0o22)
    seen: list[int] = []

    def look() -> None:
        mask = os.umask(0)
        os.umask(mask)
        seen.append(mask)

    together(look, look)
    os.umask(before)
    assert seen == [0o22, 0o22]


def locale_of_the_process() -> None:
    """AssertionError: the locale is another one at the second look."""
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_NUMERIC, "C")
    seen: list[str] = []

    def look() -> None:
        seen.append(locale.setlocale(locale.LC_NUMERIC))
        seen.append(locale.setlocale(locale.LC_NUMERIC))

    together(look, lambda: locale.setlocale(locale.LC_NUMERIC, "C.UTF-8"))
    locale.setlocale(locale.LC_ALL, before)
    assert seen[0] == seen[1]


def environment_variable() -> None:
    """AssertionError: one of two increments is lost."""
    os.environ["BOHRBUG_COUNT"] = "0"

    def increment() -> None:
        os.environ["BOHRBUG_COUNT"] = str(int(os.environ["BOHRBUG_COUNT"]) + 1)

    together(increment, increment)
    assert os.environ.pop("BOHRBUG_COUNT") == "2"


def _half_written(write: Callable[[object], str | bytes], read: Callable[..., object]) -> None:
    inner = {"a": 0, "b": 0}
    written: list[str | bytes] = []

    def change() -> None:
        inner["a"] = 1
        inner["b"] = 1

    together(change, lambda: written.append(write([inner])))
    found = read(written[0])
    assert found[0]["a"] == found[0]["b"]


def json_of_what_changes() -> None:
    """AssertionError: one of two values is the new one."""
    _half_written(json.dumps, json.loads)


def pickle_of_what_changes() -> None:
    """AssertionError: one of two values is the new one."""
    _half_written(pickle.dumps, pickle.loads)


def pickle_of_an_object() -> None:
    """AssertionError: one of two attributes is the new one."""
    thing = SimpleNamespace(a=0, b=0)
    written: list[bytes] = []

    def change() -> None:
        thing.a = 1
        thing.b = 1

    together(change, lambda: written.append(pickle.dumps(thing)))
    found = pickle.loads(written[0])
    assert found.a == found.b


def rows_in_a_file() -> None:
    """AssertionError: the row of the other task is between two that belong together."""
    stream = io.StringIO()
    writer = csv.writer(stream)

    def write_two() -> None:
        writer.writerow([1])
        writer.writerow([1])

    together(write_two, lambda: writer.writerow([2]))
    assert "1\r\n1" in stream.getvalue()


def first_row_of_a_reader() -> None:
    """AssertionError: the other task reads the first row."""
    rows = csv.reader(["a", "b"])
    read: list[str] = []
    together(lambda: read.append(next(rows)[0]), lambda: next(rows))
    assert read == ["a"]
