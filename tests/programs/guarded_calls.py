"""Programs in which code in C calls code in C, each with a lock or with what guards nothing.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import bisect
import collections
import contextvars
import copy
import ctypes
import decimal
import functools
import heapq
import inspect
import io
import itertools
import json
import logging
import operator
import re
import socket
import sqlite3
import zoneinfo
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable
from xml.parsers import expat

from tests.programs.guarding import Guard
from tests.programs.together import together


class _Node:
    """Something with attributes."""

    def __init__(self, value: int = 0) -> None:
        self.value = value


class _Shown:
    """Has a property whose getter is in C."""

    def __init__(self) -> None:
        self.hidden = 0

    value = property(operator.attrgetter("hidden"))


@runtime_checkable
class _HasName(Protocol):
    name: str


def _looked_at_twice(guard: Guard, look: Callable[[], Any], change: Callable[[], object]) -> None:
    """A task looks twice and wants to see the same, while another one changes something once."""

    def work() -> None:
        with guard:
            first, second = look(), look()
        assert first == second

    def other() -> None:
        with guard:
            change()

    together(work, other)


def _changes(guard: Guard, change: Callable[[list[Any]], object]) -> None:
    """What is called back appends to a list, whose length another task asks for."""
    items: list[Any] = []
    _looked_at_twice(guard, lambda: len(items), lambda: change(items))


def _reads(guard: Guard, read: Callable[[dict[Any, Any]], object]) -> None:
    """What is called back reads an item of a dict that another task stores."""
    table: dict[Any, Any] = {"a": 0, "b": 1}

    def change() -> None:
        table["a"] = 2

    _looked_at_twice(guard, lambda: read(table), change)


def items_read_by_a_map(guard: Guard) -> None:
    """One of two equal looks finds another value."""
    _reads(guard, lambda table: list(map(table.get, ["a"])))


def items_read_by_a_map_of_a_partial(guard: Guard) -> None:
    """One of two equal looks finds another value."""
    _reads(guard, lambda table: list(map(functools.partial(table.get), ["a"])))


def items_read_through_an_operator(guard: Guard) -> None:
    """One of two equal looks finds another value."""
    _reads(guard, lambda table: list(map(operator.getitem, [table], ["a"])))


def items_read_by_a_starmap(guard: Guard) -> None:
    """One of two equal looks finds another value."""
    _reads(guard, lambda table: list(itertools.starmap(table.get, [("a",)])))


def largest_of_numbers_by_an_item(guard: Guard) -> None:
    """Another one is the largest the second time."""
    ranks = [0, 1]
    _looked_at_twice(
        guard,
        lambda: max(range(2), key=ranks.__getitem__),
        lambda: ranks.__setitem__(0, 2),
    )


def larger_of_two_by_an_item(guard: Guard) -> None:
    """Another one is the larger one the second time."""
    _reads(guard, lambda table: max("a", "b", key=table.get))


def largest_of_a_generator_by_an_item(guard: Guard) -> None:
    """Another one is the largest the second time."""
    _reads(guard, lambda table: max((name for name in "ab"), key=table.get))


def smallest_of_a_heap_by_an_item(guard: Guard) -> None:
    """Another one is the smallest the second time."""
    _reads(guard, lambda table: heapq.nsmallest(1, ["a", "b"], key=table.get))


def place_by_an_item(guard: Guard) -> None:
    """Another place is found the second time."""
    _reads(guard, lambda table: bisect.bisect(["a", "b"], 0, key=table.get))


def path_reduced(guard: Guard) -> None:
    """Another value lies at the end of the path the second time."""
    settings = {"server": {"port": 1}}
    _looked_at_twice(
        guard,
        lambda: functools.reduce(operator.getitem, ["server", "port"], settings),
        lambda: settings["server"].__setitem__("port", 2),
    )


def attributes_reduced(guard: Guard) -> None:
    """Another value lies at the end of the path the second time."""
    outer, inner = _Node(), _Node()
    outer.inner = inner  # type: ignore[attr-defined]
    _looked_at_twice(
        guard,
        lambda: functools.reduce(getattr, ["inner", "value"], outer),
        lambda: setattr(inner, "value", 1),
    )


def attribute_behind_a_dotted_getter(guard: Guard) -> None:
    """Another value is found the second time."""
    outer, inner = _Node(), _Node()
    outer.inner = inner  # type: ignore[attr-defined]
    look = operator.attrgetter("inner.value")
    _looked_at_twice(guard, lambda: look(outer), lambda: setattr(inner, "value", 1))


def attributes_mapped(guard: Guard) -> None:
    """Another value is found the second time."""
    node = _Node()
    _looked_at_twice(
        guard,
        lambda: list(map(operator.attrgetter("value"), [node])),
        lambda: setattr(node, "value", 1),
    )


def attribute_set_by_a_map(guard: Guard) -> None:
    """Another value is found the second time."""
    node = _Node()
    _looked_at_twice(guard, lambda: node.value, lambda: list(map(setattr, [node], ["value"], [1])))


def property_of_a_getter(guard: Guard) -> None:
    """Another value is found the second time."""
    shown = _Shown()
    _looked_at_twice(guard, lambda: shown.value, lambda: setattr(shown, "hidden", 1))


def protocol_looked_at(guard: Guard) -> None:
    """The object has the attribute the second time."""
    node = _Node()
    _looked_at_twice(guard, lambda: isinstance(node, _HasName), lambda: setattr(node, "name", "a"))


def lists_appended_to_by_a_map(guard: Guard) -> None:
    """The list is longer the second time."""
    _changes(guard, lambda items: list(map(list.append, [items], [1])))


def list_emptied_by_an_iterator(guard: Guard) -> None:
    """The list is shorter the second time."""
    items = [0, 1]
    _looked_at_twice(guard, lambda: len(items), lambda: list(iter(items.pop, 0)))


def list_folded_into(guard: Guard) -> None:
    """The set is larger the second time."""
    found: set[int] = set()
    _looked_at_twice(
        guard, lambda: len(found), lambda: functools.reduce(operator.ior, [{1}], found)
    )


def sets_accumulated(guard: Guard) -> None:
    """The set is larger the second time."""
    found: set[int] = set()
    _looked_at_twice(
        guard,
        lambda: len(found),
        lambda: list(itertools.accumulate([found, {1}], operator.ior)),
    )


def factory_in_c(guard: Guard) -> None:
    """The list of what is free is shorter the second time."""
    free = [1]
    owners: dict[str, int] = collections.defaultdict(free.pop)
    _looked_at_twice(guard, lambda: len(free), lambda: owners["a"])


def function_in_c_that_is_cached(guard: Guard) -> None:
    """The list is longer the second time."""
    _changes(guard, lambda items: functools.lru_cache(items.append)(1))


def function_in_c_in_a_context(guard: Guard) -> None:
    """The list is longer the second time."""
    _changes(guard, lambda items: contextvars.Context().run(items.append, 1))


def substitution_in_c(guard: Guard) -> None:
    """The list is longer the second time."""
    _changes(guard, lambda items: re.compile("a").sub(items.append, "a"))


def hook_in_c_of_json(guard: Guard) -> None:
    """The list is longer the second time."""
    _changes(guard, lambda items: json.loads("{}", object_hook=items.append))


def default_in_c_of_json(guard: Guard) -> None:
    """The list is longer the second time."""
    _changes(guard, lambda items: json.dumps(object(), default=items.append))


def handler_in_c_of_a_parser(guard: Guard) -> None:
    """The list is longer the second time."""

    def parse(items: list[Any]) -> None:
        parser = expat.ParserCreate()
        parser.CharacterDataHandler = items.append
        parser.Parse("<a>b</a>", True)

    _changes(guard, parse)


def function_in_c_behind_a_pointer(guard: Guard) -> None:
    """The list is longer the second time."""
    _changes(guard, lambda items: ctypes.CFUNCTYPE(None, ctypes.c_int)(items.append)(1))


def function_in_c_of_a_database(guard: Guard) -> None:
    """The list is longer the second time."""

    def select(items: list[Any]) -> None:
        connection = sqlite3.connect(":memory:")
        connection.create_function("keep", 1, items.append)
        connection.execute("select keep(1)").fetchall()
        connection.close()

    _changes(guard, select)


def copy_of_what_the_test_makes(guard: Guard) -> None:
    """One attribute is changed already, the other one is not: of a class made in the test."""

    class Pair:
        def __init__(self) -> None:
            self.left = self.right = 0

    pair = Pair()

    def move() -> None:
        with guard:
            pair.left += 1
            pair.right += 1

    def look() -> None:
        with guard:
            copied = copy.copy(pair)
        assert copied.left == copied.right

    together(move, look)


def text_that_is_no_number(guard: Guard) -> None:
    """InvalidOperation: the other task has switched the trap on."""
    context = decimal.Context(traps=[])

    def lenient() -> None:
        decimal.setcontext(context)
        with guard:
            context.traps[decimal.InvalidOperation] = False
            decimal.Decimal("none")

    def strict() -> None:
        with guard:
            context.traps[decimal.InvalidOperation] = True

    together(lenient, strict)


def flags_of_a_context(guard: Guard) -> None:
    """The flag is raised the second time."""
    context = decimal.Context(traps=[])

    def divide() -> None:
        decimal.setcontext(context)
        decimal.Decimal(1) / decimal.Decimal(3)

    _looked_at_twice(guard, lambda: dict(context.flags), divide)


def cache_of_zones_emptied(guard: Guard) -> None:
    """The same name gives another zone the second time."""
    zoneinfo.ZoneInfo.clear_cache()

    def work() -> None:
        with guard:
            first, second = zoneinfo.ZoneInfo("UTC"), zoneinfo.ZoneInfo("UTC")
        assert first is second

    def other() -> None:
        with guard:
            zoneinfo.ZoneInfo.clear_cache()

    together(work, other)


def zone_made_by_two(guard: Guard) -> None:
    """Both find that it is not in the cache of the class."""

    class Zone(zoneinfo.ZoneInfo):
        pass

    found: list[Any] = []

    def work() -> None:
        with guard:
            zone = Zone("UTC")
        found.append(zone)

    together(work, work)
    assert found[0] is found[1]


def exceptions_of_a_group(guard: Guard) -> None:
    """The group has one more the second time."""
    errors = [ValueError()]
    _looked_at_twice(
        guard,
        lambda: len(ExceptionGroup("several", errors).exceptions),
        lambda: errors.append(ValueError()),
    )


def state_of_a_generator(guard: Guard) -> None:
    """It has begun the second time."""
    numbers = (number for number in [1, 2])
    _looked_at_twice(guard, lambda: inspect.getgeneratorstate(numbers), lambda: next(numbers))


def handlers_asked_for(guard: Guard) -> None:
    """There is one the second time."""
    logger = logging.Logger("asked")
    _looked_at_twice(guard, logger.hasHandlers, lambda: logger.addHandler(logging.NullHandler()))


def changes_of_a_connection(guard: Guard) -> None:
    """There are more the second time."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("create table numbers(number)")
    _looked_at_twice(
        guard,
        lambda: connection.total_changes,
        lambda: connection.execute("insert into numbers values (1)"),
    )
    connection.close()


def lines_into_a_socket(guard: Guard) -> None:
    """Two lines are mixed in the buffer of the stream that both have."""
    ours, theirs = socket.socketpair()
    stream = ours.makefile("w")

    def send(text: str) -> None:
        with guard:
            stream.write(text)
            stream.write("\n")
            stream.flush()

    together(lambda: send("a"), lambda: send("b"))
    received = theirs.recv(10)
    for each in (stream, ours, theirs):
        each.close()
    assert received in (b"a\nb\n", b"b\na\n")


def function_added_by_a_decorator(guard: Guard) -> None:
    """The decorator is a method in C."""
    handlers: list[Callable[[], object]] = []
    added = []

    def add() -> None:
        with guard:
            before = len(handlers)

            @handlers.append
            def handler() -> None: ...

            added.append(len(handlers) - before)

    together(add, add)
    assert added == [1, 1]


def class_stored_by_a_decorator(guard: Guard) -> None:
    """So it is of a class, and the decorator a partial of a method in C."""
    table: dict[str, object] = {}
    stored = []

    def store() -> None:
        with guard:
            if "name" not in table:

                @functools.partial(table.setdefault, "name")
                class Stored: ...

                stored.append(1)

    together(store, store)
    assert stored == [1]


def stream_closed_behind_except(guard: Guard) -> None:
    """The block of a ``with`` is left by a ``return`` behind ``except``."""
    stream, errors = io.BytesIO(b"bytes"), []

    def close() -> None:
        with guard, stream:
            try:
                int("no number")
            except ValueError:
                return

    def read() -> None:
        with guard:
            if not stream.closed:
                try:
                    stream.getvalue()
                except ValueError as error:
                    errors.append(error)

    together(close, read)
    assert not errors


def items_of_a_view_as_arguments(guard: Guard) -> None:
    """What is read lies in the only value of a dict."""
    numbers = [0, 0]
    by_name, seen = {"numbers": numbers}, []

    def read() -> None:
        with guard:
            seen.append(list(*by_name.values()))

    def write() -> None:
        with guard:
            numbers[0] = 1
            numbers[1] = 1

    together(read, write)
    assert seen[0] in ([0, 0], [1, 1])


def conditions_among_arguments(guard: Guard) -> None:
    """Each call has a branch among its arguments."""
    numbers: list[int] = []
    added = []

    def add(is_odd: bool) -> None:
        with guard:
            before = len(numbers)
            numbers.append(1 if is_odd else 2)
            added.append(len(numbers) - before)

    together(lambda: add(True), lambda: add(False))
    assert added == [1, 1]


def either_among_arguments(guard: Guard) -> None:
    """The same of ``or``."""
    numbers: list[int] = []
    added = []

    def add() -> None:
        with guard:
            before = len(numbers)
            numbers.append(before or -1)
            added.append(len(numbers) - before)

    together(add, add)
    assert added == [1, 1]
