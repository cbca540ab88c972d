"""Programs around state of the library, each with a lock that it takes or one that guards nothing.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import logging
import sqlite3
import sys
import threading
import unittest.mock
import xml.etree.ElementTree as Trees
from collections.abc import Callable
from typing import Any

from tests.programs.guarding import Guard
from tests.programs.together import together


def _looked_at_twice(guard: Guard, change: Callable[[], object], look: Callable[[], Any]) -> None:
    """A task looks twice and wants to see the same, while another one changes something once."""
    seen: list[bool] = []

    def work() -> None:
        with guard:
            same = look() == look()
        seen.append(same)

    def other() -> None:
        with guard:
            change()

    together(work, other)
    assert seen == [True]


def _elements() -> tuple[Trees.Element, Trees.Element, Trees.Element]:
    root = Trees.fromstring("<a><b>0</b><c>0</c></a>")
    return root, root[0], root[1]


def texts_in_an_element(guard: Guard) -> None:
    """One text is changed already, the other one is not."""
    root, one, other = _elements()
    seen: list[str] = []

    def change() -> None:
        with guard:
            one.text = "1"
            other.text = "1"

    def read() -> None:
        with guard:
            text = "".join(root.itertext())
        seen.append(text)

    together(change, read)
    assert seen[0] in ("00", "11")


def text_found_in_an_element(guard: Guard) -> None:
    """Another text is found the second time."""
    root, one, _ = _elements()
    _looked_at_twice(guard, lambda: setattr(one, "text", "1"), lambda: root.findtext("b"))


def size_of_a_list(guard: Guard) -> None:
    """It takes more memory the second time."""
    numbers: list[int] = []
    _looked_at_twice(guard, lambda: numbers.extend(range(20)), lambda: sys.getsizeof(numbers))


def logger_made_for_both(guard: Guard) -> None:
    """Both find that there is no such logger."""
    manager = logging.Manager(logging.RootLogger(logging.WARNING))
    made: list[logging.Logger] = []

    def work() -> None:
        with guard:
            if "name" not in manager.loggerDict:
                made.append(manager.getLogger("name"))

    together(work, work)
    assert len(made) == 1


def collector_switched_off(guard: Guard) -> None:
    """The other task switches it on in between."""
    seen: list[bool] = []

    def work() -> None:
        with guard:
            gc.disable()
            seen.append(gc.isenabled())
            gc.enable()

    together(work, work)
    gc.disable()
    assert seen == [False, False]


def called_at_exit(guard: Guard) -> None:
    """The other task registers its function in between."""
    added: list[int] = []

    def work() -> None:
        with guard:
            before = atexit._ncallbacks()
            atexit.register(work)
            added.append(atexit._ncallbacks() - before)

    together(work, work)
    atexit.unregister(work)
    assert added == [1, 1]


def stack_size_of_threads(guard: Guard) -> None:
    """The other task sets its own in between."""
    before = threading.stack_size()
    seen: list[bool] = []

    def work(size: int) -> None:
        with guard:
            threading.stack_size(size)
            seen.append(threading.stack_size() == size)

    together(lambda: work(1 << 20), lambda: work(1 << 21))
    threading.stack_size(before)
    assert seen == [True, True]


def _one() -> int:
    return 1


def _two() -> int:
    return 2


def function_patched_by_its_name(guard: Guard) -> None:
    """Another function is called the second time."""

    def patch() -> None:
        with unittest.mock.patch(f"{__name__}._one", _two):
            pass

    _looked_at_twice(guard, patch, lambda: _one())


def function_set_by_its_name(guard: Guard) -> None:
    """Another function is called the second time."""
    try:
        _looked_at_twice(
            guard, lambda: setattr(sys.modules[__name__], "_one", _two), lambda: _one()
        )
    finally:
        globals()["_one"] = _ONE


_ONE = _one


def builtin_that_is_exchanged(guard: Guard) -> None:
    """Another function is called the second time."""
    original = builtins.len

    def exchange() -> None:
        builtins.len = lambda thing: 7

    try:
        _looked_at_twice(guard, exchange, lambda: len([1]))
    finally:
        builtins.len = original


def builtin_patched_by_its_name(guard: Guard) -> None:
    """Another function is called the second time."""

    def patch() -> None:
        with unittest.mock.patch("builtins.ascii", repr):
            pass

    _looked_at_twice(guard, patch, lambda: ascii("\u00e9"))


def cursor_that_both_use(guard: Guard) -> None:
    """The row is that of the other task's statement."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    cursor = connection.cursor()
    seen: list[bool] = []

    def ask(number: int) -> None:
        with guard:
            cursor.execute("select ?", (number,))
            seen.append(cursor.fetchone() == (number,))

    together(lambda: ask(1), lambda: ask(2))
    connection.close()
    assert seen == [True, True]


def last_row_of_a_cursor(guard: Guard) -> None:
    """The row is that of the other task's statement."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    cursor = connection.cursor()
    cursor.execute("create table things(id integer primary key)")
    seen: list[object] = []

    def insert(number: int) -> None:
        with guard:
            cursor.execute("insert into things values(?)", (number,))
            seen.append(cursor.lastrowid)

    together(lambda: insert(1), lambda: insert(2))
    connection.close()
    assert sorted(map(str, seen)) == ["1", "2"]


def row_factory_of_a_connection(guard: Guard) -> None:
    """The other task has put it back."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    seen: list[type] = []

    def ask() -> None:
        with guard:
            connection.row_factory = sqlite3.Row
            seen.append(type(connection.execute("select 1").fetchone()))
            connection.row_factory = None

    together(ask, ask)
    connection.close()
    assert seen == [sqlite3.Row, sqlite3.Row]


def transaction_of_a_connection(guard: Guard) -> None:
    """The other task has ended it."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("create table things(id)")
    seen: list[bool] = []

    def insert() -> None:
        with guard:
            connection.execute("insert into things values(1)")
            seen.append(connection.in_transaction)
            connection.commit()

    together(insert, insert)
    connection.close()
    assert seen == [True, True]


def values_bound_to_a_statement(guard: Guard) -> None:
    """One value is set already, the other one is not."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    values = [0, 0]
    seen: list[object] = []

    def change() -> None:
        with guard:
            values[0] = 1
            values[1] = 1

    def ask() -> None:
        with guard:
            seen.append(connection.execute("select ?, ?", values).fetchone())

    together(change, ask)
    connection.close()
    assert seen[0] in ((0, 0), (1, 1))
