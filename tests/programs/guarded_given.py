"""What tasks change while the library, which is trusted or modelled, still looks at it.

It was given containers and functions, and names of databases. Each program has a lock that it
takes or a stand-in that guards nothing: with a lock it is correct, without one some interleaving
breaks it.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dbm.dumb
import enum
import functools
import graphlib
import logging
import os
import sqlite3
import tempfile
import threading
import types
import zlib
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from tests.programs.guarding import Guard, counted
from tests.programs.together import together

_Future = concurrent.futures.Future[Any]


def _all_or_none(
    guard: Guard, make: Callable[[], object], size: Callable[[list[Any]], int]
) -> None:
    """One task hands a list over to the library while the other adds two items to it."""
    items: list[object] = []
    first, second = make(), make()
    sizes: list[int] = []

    def add() -> None:
        with guard:
            items.append(first)
            items.append(second)

    def hand_over() -> None:
        with guard:
            sizes.append(size(items))

    together(add, hand_over)
    assert sizes[0] in (0, 2)


def _done() -> _Future:
    future: _Future = concurrent.futures.Future()
    future.set_result(None)
    return future


# -- containers ------------------------------------------------------------------------


def items_mapped_by_an_executor(guard: Guard) -> None:
    """An executor maps over a list that is half filled."""

    def size(items: list[int]) -> int:
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            return len(list(executor.map(int, items)))

    _all_or_none(guard, lambda: 1, size)


def items_mapped_by_a_pool(guard: Guard) -> None:
    """A pool maps over a list that is half filled."""

    def size(items: list[int]) -> int:
        with ThreadPool(1) as pool:
            return len(pool.map(int, items))

    _all_or_none(guard, lambda: 1, size)


def futures_waited_for(guard: Guard) -> None:
    """What is waited for is half of the futures."""
    wait = concurrent.futures.wait
    _all_or_none(guard, _done, lambda futures: len(wait(futures).done))


def futures_gone_through(guard: Guard) -> None:
    """What is gone through is half of the futures."""
    in_order = concurrent.futures.as_completed
    _all_or_none(guard, _done, lambda futures: len(list(in_order(futures))))


def defaults_of_a_formatter(guard: Guard) -> None:
    """A record is formatted with one of two defaults that belong together."""
    defaults = {"first": 0, "second": 0}
    formatter = logging.Formatter("%(first)s %(second)s", defaults=defaults)
    texts: list[str] = []

    def change() -> None:
        with guard:
            defaults["first"] = 1
            defaults["second"] = 1

    def write() -> None:
        record = logging.LogRecord("", logging.INFO, "", 0, "", (), None)
        with guard:
            texts.append(formatter.format(record))

    together(change, write)
    assert texts[0] in ("0 0", "1 1")


# -- databases -------------------------------------------------------------------------


def _counted_in_a_database(guard: Guard, *names: str) -> None:
    """Each of two tasks adds one, by a connection of its own."""

    def add(name: str) -> None:
        with guard:
            database = sqlite3.connect(name, uri=True)
            number = database.execute("select number from numbers").fetchone()[0]
            database.execute("update numbers set number = ?", (number + 1,))
            database.commit()
            database.close()

    together(*(functools.partial(add, name) for name in names))


@contextlib.contextmanager
def _database(name: str) -> Any:
    with contextlib.closing(sqlite3.connect(name, uri=True)) as database:
        database.execute("create table numbers (number)")
        database.execute("insert into numbers values (0)")
        database.commit()
        yield database
        (number,) = database.execute("select number from numbers").fetchone()
        assert number == 2


def database_by_two_uris(guard: Guard) -> None:
    """Two URIs, with other parameters, are of one file."""
    with tempfile.TemporaryDirectory() as folder:
        uri = f"file:{folder}/numbers"
        with _database(uri):
            _counted_in_a_database(guard, f"{uri}?mode=rw", f"{uri}?mode=rw&cache=private")


def database_by_its_path_and_a_uri(guard: Guard) -> None:
    """A URI, with an escape in it, is of the file that a path leads to."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a number"
        with _database(path):
            _counted_in_a_database(guard, path, f"file:{folder}/a%20number?mode=rw")


def database_in_memory_by_two_uris(guard: Guard) -> None:
    """Two URIs, with the same parameters in another order, are of one database in memory."""
    uris = [
        f"file:numbers?{parameters}"
        for parameters in ("mode=memory&cache=shared", "cache=shared&mode=memory")
    ]
    with _database(uris[0]):
        _counted_in_a_database(guard, *uris)


def number_in_a_dbm_file(guard: Guard) -> None:
    """Each opens the file, and closes it: one of two increments is lost."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "numbers")

        def change(by: int) -> int:
            with dbm.dumb.open(path, "c") as numbers:
                number = int(numbers.get("number", b"0")) + by
                if by:
                    numbers["number"] = str(number)
                return number

        counted(guard, lambda: change(1), lambda: change(0))


# -- calls back ------------------------------------------------------------------------


def hook_of_a_subclass(guard: Guard) -> None:
    """One of two classes gets the number of the other."""

    class Base:
        registry: types.SimpleNamespace = types.SimpleNamespace(size=0)

        def __init_subclass__(cls) -> None:
            with guard:
                cls.registry.size = cls.registry.size + 1

    together(lambda: type("First", (Base,), {}), lambda: type("Second", (Base,), {}))
    assert Base.registry.size == 2


def name_set_by_a_class(guard: Guard) -> None:
    """One of two fields gets the number of the other."""
    numbers: list[int] = []

    class Field:
        def __set_name__(self, owner: type, name: str) -> None:
            with guard:
                number = len(numbers)
                numbers.append(number)

    together(
        lambda: type("First", (), {"field": Field()}),
        lambda: type("Second", (), {"field": Field()}),
    )
    assert numbers == [0, 1]


def next_value_of_an_enumeration(guard: Guard) -> None:
    """One of two members gets the value of the other."""
    values: list[int] = []

    class Numbered(enum.IntEnum):
        @staticmethod
        def _generate_next_value_(name: str, start: int, count: int, last: list[Any]) -> int:
            with guard:
                value = len(values)
                values.append(value)
            return value

    def make() -> None:
        class Made(Numbered):
            MEMBER = enum.auto()

    together(make, make)
    assert values == [0, 1]


def ready_nodes_of_a_graph(guard: Guard) -> None:
    """A node is taken between the question whether there are any, and the answer."""
    sorter = graphlib.TopologicalSorter({"second": {"first"}})
    sorter.prepare()
    done: list[str] = []

    def work() -> None:
        with guard:
            for node in sorter.get_ready():
                done.append(node)
                sorter.done(node)

    together(work, work)
    work()
    assert done == ["first", "second"]


def parts_flushed_by_two(guard: Guard) -> None:
    """A part is compressed before another one, and stored after it."""
    compressor = zlib.compressobj()
    parts: list[bytes] = []

    def add(data: bytes) -> None:
        with guard:
            parts.append(compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH))

    together(lambda: add(b"aaaa"), lambda: add(b"bbbb"))
    parts.append(compressor.flush())
    assert zlib.decompress(b"".join(parts)) in (b"aaaabbbb", b"bbbbaaaa")


def number_in_a_file_that_is_replaced(guard: Guard) -> None:
    """The file is replaced as a whole, by what was read from one of two older ones."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "number")
        path.write_text("0")

        def count() -> None:
            number = int(path.read_text())
            new = path.with_suffix(f".{threading.get_ident()}")
            new.write_text(str(number + 1))
            new.replace(path)

        counted(guard, count, lambda: int(path.read_text()))


def places_released_by_callbacks(guard: Guard) -> None:
    """Two tasks leave a stack of contexts, and look for what the other has removed."""
    held: list[int] = []

    def release(number: int) -> None:
        with guard:
            place = held.index(number)
            del held[place]

    def work(number: int) -> None:
        with contextlib.ExitStack() as stack:
            with guard:
                held.append(number)
            stack.callback(release, number)

    together(lambda: work(1), lambda: work(2))
    assert not held
