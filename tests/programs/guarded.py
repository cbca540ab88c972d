"""Programs around code in C, each with a lock that it takes or a stand-in that guards nothing.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import codecs
import csv
import decimal
import functools
import hashlib
import io
import itertools
import json
import locale
import logging
import marshal
import operator
import os
import pickle
import queue
import random
import re
import socket
import struct
import sys
import threading
import types
import unittest.mock
import xml.etree.ElementTree as Trees
import zlib
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.programs.guarding import Guard
from tests.programs.together import together


class Point:
    """Two attributes that are to be equal."""

    def __init__(self) -> None:
        self.x = self.y = 0


class Keeping(logging.Handler):
    """Keeps the messages that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """See the base class."""
        self.kept.append(record.getMessage())


class Settings:
    """Something to patch."""

    value: object = "as it was"


def _twice(guard: Guard, add: Callable[[bytes], object]) -> None:
    """Each of two tasks adds its byte twice, and wants nothing in between."""

    def work(word: bytes) -> None:
        with guard:
            add(word)
            add(word)

    together(lambda: work(b"a"), lambda: work(b"b"))


def _count(guard: Guard, read: Callable[[], int], write: Callable[[int], object]) -> None:
    """Two tasks count."""

    def work() -> None:
        with guard:
            write(read() + 1)

    together(work, work)
    assert read() == 2


def _torn(guard: Guard, target: Any, read: Callable[[], object]) -> None:
    """A task sets two items, another one reads both in one step of code in C."""
    seen: list[object] = []

    def write() -> None:
        with guard:
            target["x"] = 1
            target["y"] = 1

    def look() -> None:
        with guard:
            found = read()
        seen.append(found)

    before = read()
    together(write, look)
    assert seen[0] in (before, read())


def _torn_point(guard: Guard, read: Callable[[Point], Point]) -> None:
    point = Point()
    seen: list[Point] = []

    def write() -> None:
        with guard:
            point.x = 1
            point.y = 1

    def look() -> None:
        with guard:
            found = read(point)
        seen.append(found)

    together(write, look)
    assert seen[0].x == seen[0].y


def _neighbours(guard: Guard, draw: Callable[[], int]) -> None:
    """Each of two tasks draws two numbers that are to follow one another."""
    seen: list[tuple[int, int]] = []

    def work() -> None:
        with guard:
            first = draw()
            second = draw()
        seen.append((first, second))

    together(work, work)
    assert all(second == first + 1 for first, second in seen), seen


def _put_back(guard: Guard, get: Callable[[], Any], put: Callable[[Any], object]) -> None:
    """Two tasks change some state and put it back."""

    def work(value: Any) -> None:
        with guard:
            old = get()
            put(value)
            put(old)

    before = get()
    together(lambda: work(before + 1), lambda: work(before + 2))
    after = get()
    put(before)
    assert after == before


def rows_of_a_csv_writer(guard: Guard) -> None:
    """A row of another task comes in between two rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=" ")
    _twice(guard, lambda word: writer.writerow([word.decode()]))
    assert text.getvalue() in ("a a b b ", "b b a a ")


def rows_of_two_csv_writers(guard: Guard) -> None:
    """Two writers over one stream: a row comes in between two of another task."""
    text = io.StringIO()
    _twice(guard, lambda word: csv.writer(text, lineterminator=" ").writerow([word.decode()]))
    assert text.getvalue() in ("a a b b ", "b b a a ")


def number_in_a_buffer(guard: Guard) -> None:
    """A count in a buffer, read and written by functions of struct: one is lost."""
    data = bytearray(4)
    _count(
        guard,
        lambda: int(struct.unpack_from("i", data)[0]),
        lambda number: struct.pack_into("i", data, 0, number),
    )


def number_in_a_buffer_with_a_struct(guard: Guard) -> None:
    """A count in a buffer, read and written by a Struct: one is lost."""
    data = bytearray(4)
    number = struct.Struct("i")
    _count(
        guard,
        lambda: int(number.unpack_from(data)[0]),
        lambda value: number.pack_into(data, 0, value),
    )


def parts_of_a_hash(guard: Guard) -> None:
    """A part of another task gets into the middle of what is hashed."""
    parts = hashlib.sha256()
    _twice(guard, parts.update)
    assert parts.digest() in {hashlib.sha256(whole).digest() for whole in (b"aabb", b"bbaa")}


def parts_to_compress(guard: Guard) -> None:
    """A part of another task gets into the middle of what is compressed."""
    parts = zlib.compressobj()
    stream = io.BytesIO(parts.compress(b""))
    stream.seek(0, io.SEEK_END)
    _twice(guard, parts.compress)
    stream.write(parts.flush())
    assert zlib.decompress(stream.getvalue()) in (b"aabb", b"bbaa")


def json_of_a_dict(guard: Guard) -> None:
    """The text has one of two changes."""
    values = {"x": 0, "y": 0}
    _torn(guard, values, lambda: json.dumps(values))


def json_of_a_dict_in_a_dict(guard: Guard) -> None:
    """The text has one of two changes, further down."""
    values = {"x": 0, "y": 0}
    outer = {"values": values}
    _torn(guard, values, lambda: json.dumps(outer))


def marshalled_dict(guard: Guard) -> None:
    """What was marshalled has one of two changes."""
    values = {"x": 0, "y": 0}
    _torn(guard, values, lambda: marshal.loads(marshal.dumps(values)))


def checksum_of_a_buffer(guard: Guard) -> None:
    """The checksum is of a state in between."""
    data = bytearray(2)
    seen: list[int] = []

    def write() -> None:
        with guard:
            data[0] = 1
            data[1] = 1

    def look() -> None:
        with guard:
            found = zlib.crc32(data)
        seen.append(found)

    together(write, look)
    assert seen[0] in (zlib.crc32(bytes(2)), zlib.crc32(data))


def pickled_object(guard: Guard) -> None:
    """What was pickled has one of two changes."""
    _torn_point(guard, lambda point: pickle.loads(pickle.dumps(point)))


def copied_object(guard: Guard) -> None:
    """The copy has one of two changes."""
    _torn_point(guard, copy)


def pickler_for_both(guard: Guard) -> None:
    """Another task's object comes in between two."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream)
    # Else what is dumped twice refers to the first time.
    pickler.fast = True
    _twice(guard, pickler.dump)
    stream.seek(0)
    found = b"".join(pickle.load(stream) for _ in range(4))
    assert found in (b"aabb", b"bbaa")


def seeded_generator(guard: Guard) -> None:
    """Another task seeds the generator before a number is drawn."""
    numbers = random.Random()
    seen: list[tuple[int, float]] = []

    def work(seed: int) -> None:
        with guard:
            numbers.seed(seed)
            number = numbers.random()
        seen.append((seed, number))

    together(lambda: work(1), lambda: work(2))
    assert all(random.Random(seed).random() == number for seed, number in seen)


def precision_of_a_context(guard: Guard) -> None:
    """Another task sets the precision before a division."""
    context = decimal.Context()
    seen: list[tuple[int, str]] = []

    def work(precision: int) -> None:
        with guard:
            context.prec = precision
            third = context.divide(decimal.Decimal(1), decimal.Decimal(3))
        seen.append((precision, str(third)))

    together(lambda: work(1), lambda: work(2))
    assert set(seen) == {(1, "0.3"), (2, "0.33")}


def text_of_an_element(guard: Guard) -> None:
    """A count in the text of an element: one is lost."""
    element = Trees.Element("number")
    element.text = "0"

    def write(number: int) -> None:
        element.text = str(number)

    _count(guard, lambda: int(element.text or ""), write)


def attribute_of_an_element(guard: Guard) -> None:
    """A count in an attribute of an element: one is lost."""
    element = Trees.Element("number", count="0")
    _count(
        guard,
        lambda: int(element.get("count", "")),
        lambda number: element.set("count", str(number)),
    )


def child_of_an_element(guard: Guard) -> None:
    """Both tasks find no child, and make one."""
    element = Trees.Element("parent")

    def work() -> None:
        with guard:
            if element.find("child") is None:
                Trees.SubElement(element, "child")

    together(work, work)
    assert len(element) == 1


def matches_of_a_scanner(guard: Guard) -> None:
    """Another task takes a match in between."""
    pattern: Any = re.compile("[0-9]")
    scanner = pattern.scanner("0123")
    _neighbours(guard, lambda: int(scanner.match()[0]))


def matches_of_an_iterator(guard: Guard) -> None:
    """Another task takes a match in between two steps of an iterator."""
    matches = re.finditer("[0-9]", "0123")
    _neighbours(guard, lambda: int(next(matches)[0]))


def rows_of_a_csv_reader(guard: Guard) -> None:
    """Another task takes a row in between."""
    rows = csv.reader(iter(["0", "1", "2", "3"]))
    _neighbours(guard, lambda: int(next(rows)[0]))


def entries_of_a_folder(guard: Guard) -> None:
    """Another task takes an entry in between."""
    with TemporaryDirectory() as folder:
        for name in "abcd":
            Path(folder, name).touch()
        order = os.listdir(folder)
        with os.scandir(folder) as entries:
            _neighbours(guard, lambda: order.index(next(entries).name))


def items_of_a_slice(guard: Guard) -> None:
    """Another task takes an item in between."""
    numbers: Iterator[int] = itertools.islice(itertools.count(), 4)
    _neighbours(guard, lambda: next(numbers))


def limit_of_csv(guard: Guard) -> None:
    """A limit is put back to what another task had set."""
    _put_back(guard, csv.field_size_limit, csv.field_size_limit)


def limit_of_recursion(guard: Guard) -> None:
    """The limit of recursion is put back to what another task had set."""
    _put_back(guard, sys.getrecursionlimit, sys.setrecursionlimit)


def umask(guard: Guard) -> None:
    """The umask is put back to what another task had set."""

    def work() -> None:
        with guard:
            old = os.umask(0o077)
            os.umask(old)

    before = os.umask(0o022)
    together(work, work)
    assert os.umask(before) == 0o022


def locale_of_the_process(guard: Guard) -> None:
    """The locale is put back to what another task had set."""

    def work(name: str) -> None:
        with guard:
            old = locale.setlocale(locale.LC_CTYPE)
            locale.setlocale(locale.LC_CTYPE, name)
            locale.setlocale(locale.LC_CTYPE, old)

    before = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    together(lambda: work("C"), lambda: work("C"))
    after = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, before)
    assert after == "C.UTF-8"


def text_over_bytes_in_memory(guard: Guard) -> None:
    """Text of another task comes in between."""
    stream = io.BytesIO()
    text = io.TextIOWrapper(stream, write_through=True)
    _twice(guard, lambda word: text.write(word.decode()))
    assert stream.getvalue() in (b"aabb", b"bbaa")


def formatted_list(guard: Guard) -> None:
    """The text has one of two changes of a container that is formatted."""
    values = dict.fromkeys("xy", 0)
    _torn(guard, values, lambda: "{}".format(values))


def repr_of_a_namespace(guard: Guard) -> None:
    """The text has one of two changes of a namespace."""
    values = types.SimpleNamespace(x=0, y=0)
    seen: list[str] = []

    def write() -> None:
        with guard:
            values.x = 1
            values.y = 1

    def look() -> None:
        with guard:
            found = repr(values)
        seen.append(found)

    together(write, look)
    assert seen[0] in ("namespace(x=0, y=0)", "namespace(x=1, y=1)")


def attribute_behind_dots(guard: Guard) -> None:
    """A count read through an attrgetter with dots: one is lost."""
    outer: Any = Settings()
    outer.point = Point()
    get = operator.attrgetter("point.x")

    def write(number: int) -> None:
        outer.point.x = number

    _count(guard, lambda: int(get(outer)), write)


def decoder_halfway(guard: Guard) -> None:
    """Another task's bytes come in the middle of a character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    found: list[str] = []

    def work() -> None:
        with guard:
            text = decoder.decode(b"\xe2\x82") + decoder.decode(b"\xac")
        found.append(text)

    together(work, work)
    assert found == ["\u20ac", "\u20ac"]


def patched_attribute(guard: Guard) -> None:
    """A patch puts back what another one has put in place."""

    def work(value: str) -> None:
        with guard, unittest.mock.patch.object(Settings, "value", value):
            pass

    together(lambda: work("one"), lambda: work("two"))
    found, Settings.value = Settings.value, "as it was"
    assert found == "as it was"


def patched_dict(guard: Guard) -> None:
    """A patch puts back a dict that another one has patched."""
    values = {"number": 0}

    def work(number: int) -> None:
        with guard, unittest.mock.patch.dict(values, number=number):
            pass

    together(lambda: work(1), lambda: work(2))
    assert values == {"number": 0}


def handler_that_is_passed_over(guard: Guard) -> None:
    """A handler is removed while a message goes from one to the next: that is lost."""
    log = logging.Logger("a log")
    first, second = Keeping(), Keeping()
    log.addHandler(first)
    log.addHandler(second)

    def write() -> None:
        with guard:
            log.error("message")

    def remove() -> None:
        with guard:
            log.removeHandler(first)

    together(write, remove)
    assert second.kept == ["message"]


def level_put_back(guard: Guard) -> None:
    """The level of a logger is put back to what another task had set."""
    log = logging.Logger("a log")

    def work(level: int) -> None:
        with guard:
            old = log.level
            log.setLevel(level)
            log.setLevel(old)

    together(lambda: work(10), lambda: work(20))
    assert log.level == 0


def handlers_that_log_to_each_other(guard: Guard) -> None:
    """Each task holds the lock of one handler, and waits for that of the other."""
    logs = [logging.Logger("one"), logging.Logger("other")]

    class Passing(logging.Handler):
        def __init__(self, log: logging.Logger) -> None:
            super().__init__()
            self.log = log

        def emit(self, record: logging.LogRecord) -> None:
            if record.msg == "first":
                self.log.error("second")

    logs[0].addHandler(Passing(logs[1]))
    logs[1].addHandler(Passing(logs[0]))

    def work(log: logging.Logger) -> None:
        with guard:
            log.error("first")

    together(lambda: work(logs[0]), lambda: work(logs[1]))


def handler_that_takes_a_lock_of_the_program(guard: Guard) -> None:
    """One task logs under a lock that the handler, whose own lock another task holds, wants."""
    lock = threading.Lock()
    log = logging.Logger("a log")

    class Locking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.msg == "outside":
                with lock:
                    pass

    log.addHandler(Locking())

    def outside() -> None:
        with guard:
            log.error("outside")

    def inside() -> None:
        with guard, lock:
            log.error("inside")

    together(outside, inside)


def items_that_compare_under_a_lock(guard: Guard) -> None:
    """A queue compares items under its own lock; another task asks for its size under theirs."""
    lock = threading.Lock()
    items: queue.PriorityQueue[Any] = queue.PriorityQueue()

    class Item:
        def __init__(self, number: int) -> None:
            self.number = number

        def __lt__(self, other: Item) -> bool:
            with lock:
                return self.number < other.number

    items.put(Item(1))

    def put() -> None:
        with guard:
            items.put(Item(0))

    def ask() -> None:
        with guard, lock:
            items.qsize()

    together(put, ask)


def late_registration_of_a_function(guard: Guard) -> None:
    """``singledispatch`` keeps what it found before the other task registered something better."""

    @functools.singledispatch
    def name(thing: object) -> str:
        return "object"

    def call() -> None:
        with guard:
            name(1)

    def register() -> None:
        with guard:
            name.register(int, lambda thing: "number")

    together(call, register)
    assert name(1) == "number"


def environment_that_is_copied(guard: Guard) -> None:
    """A variable is gone when its value is asked for."""
    os.environ["BOHRBUG_TEST"] = "1"

    def copy_all() -> None:
        with guard:
            os.environ.copy()

    def remove() -> None:
        with guard:
            del os.environ["BOHRBUG_TEST"]

    together(copy_all, remove)


def normal_numbers(guard: Guard) -> None:
    """Both tasks get the number that the generator has kept."""
    numbers = random.Random(1)
    numbers.gauss(0, 1)
    seen: list[float] = []

    def draw() -> None:
        with guard:
            number = numbers.gauss(0, 1)
        seen.append(number)

    together(draw, draw)
    assert seen[0] != seen[1]


def default_timeout_of_sockets(guard: Guard) -> None:
    """A socket is made with the default timeout that another task has set meanwhile."""

    def make(seconds: float) -> None:
        with guard:
            socket.setdefaulttimeout(seconds)
            with socket.socket() as made:
                assert made.gettimeout() == seconds

    try:
        together(lambda: make(5.0), lambda: make(7.0))
    finally:
        socket.setdefaulttimeout(None)
