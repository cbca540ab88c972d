"""Programs around the library, each with a lock that it takes or a stand-in that guards nothing.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import collections
import collections.abc
import configparser
import contextlib
import copy
import csv
import dataclasses
import fileinput
import graphlib
import io
import itertools
import json
import logging
import multiprocessing.dummy
import os
import pickle
import random
import re
import sched
import selectors
import shelve
import shutil
import signal
import socket
import sqlite3
import string
import sys
import tempfile
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from tests.programs.together import together

Guard = contextlib.AbstractContextManager[Any]


def _made_once(guard: Guard, get: Callable[[], object]) -> None:
    """Two tasks get what is made when it is first asked for."""
    got: list[object] = []

    def work() -> None:
        with guard:
            made = get()
        got.append(made)

    together(work, work)
    assert got[0] is got[1]


def _counted(guard: Guard, count: Callable[[], object], total: Callable[[], int]) -> None:
    """Each of two tasks counts one."""

    def work() -> None:
        with guard:
            count()

    together(work, work)
    assert total() == 2


def _once(guard: Guard, is_there: Callable[[], object], take: Callable[[], object]) -> None:
    """Two tasks take what only one of them can, if it is there."""

    def work() -> None:
        with guard:
            if is_there():
                take()

    together(work, work)


class _Table(collections.abc.MutableMapping[str, int]):
    """Has the methods that ``MutableMapping`` makes of these five."""

    def __init__(self) -> None:
        self.items_: dict[str, int] = {}

    def __getitem__(self, key: str) -> int:
        return self.items_[key]

    def __setitem__(self, key: str, value: int) -> None:
        self.items_[key] = value

    def __delitem__(self, key: str) -> None:
        del self.items_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)


def default_popped_from_a_mapping(guard: Guard) -> None:
    """What was there is gone before it is deleted."""
    table = _Table()
    table["a"] = 1
    _once(guard, lambda: True, lambda: table.pop("a", None))


def default_set_in_a_user_dict(guard: Guard) -> None:
    """Both find that the key is missing."""
    table: collections.UserDict[str, object] = collections.UserDict()
    _made_once(guard, lambda: table.setdefault("a", object()))


def user_list_augmented(guard: Guard) -> None:
    """One of two increments is lost."""
    numbers = collections.UserList([0])

    def add() -> None:
        numbers[0] += 1

    _counted(guard, add, lambda: numbers[0])


def counter_added_in_place(guard: Guard) -> None:
    """One of two additions is lost."""
    state = types.SimpleNamespace(count=collections.Counter())

    def add() -> None:
        state.count += collections.Counter(a=1)

    _counted(guard, add, lambda: state.count["a"])


def key_moved_to_the_end(guard: Guard) -> None:
    """The key is gone."""
    table = collections.OrderedDict.fromkeys("ab")

    def use() -> None:
        with guard:
            if "a" in table:
                table.move_to_end("a")

    def evict() -> None:
        with guard:
            table.popitem(last=False)

    together(use, evict)


def weak_value_made_when_missing(guard: Guard) -> None:
    """Both find that it is missing."""

    class Node:
        pass

    known: weakref.WeakValueDictionary[str, Node] = weakref.WeakValueDictionary()

    def get() -> Node:
        node = known.get("a")
        if node is None:
            node = known["a"] = Node()
        return node

    _made_once(guard, get)


def weak_set_changed_during_iteration(guard: Guard) -> None:
    """The set changes size during iteration."""

    @dataclasses.dataclass(frozen=True)
    class Node:
        number: int

    nodes = [Node(number) for number in range(3)]
    members = weakref.WeakSet(nodes[:2])

    def look() -> None:
        with guard:
            for _ in members:
                pass

    def add() -> None:
        with guard:
            members.add(nodes[2])

    together(look, add)


def groups_of_one_iterator(guard: Guard) -> None:
    """The group is over as soon as another one is asked for."""
    groups = itertools.groupby("aabb")
    sizes: list[int] = []

    def work() -> None:
        with guard:
            _, group = next(groups)
            size = len(list(group))
        sizes.append(size)

    together(work, work)
    assert sizes == [2, 2]


def turns_of_a_cycle(guard: Guard) -> None:
    """The other task takes a turn in between."""
    turns = itertools.cycle("ab")
    pairs: list[set[str]] = []

    def work() -> None:
        with guard:
            pair = {next(turns), next(turns)}
        pairs.append(pair)

    together(work, work)
    assert pairs == [{"a", "b"}] * 2


def bytes_in_memory_read_from_the_start(guard: Guard) -> None:
    """The other task has read on in between."""
    stream = io.BytesIO(b"one\ntwo\n")
    lines: list[bytes] = []

    def work() -> None:
        with guard:
            stream.seek(0)
            line = stream.readline()
        lines.append(line)

    together(work, work)
    assert lines == [b"one\n"] * 2


def bytes_in_memory_replaced(guard: Guard) -> None:
    """Both write after both have truncated."""
    stream = io.BytesIO()

    def work(text: bytes) -> None:
        with guard:
            stream.seek(0)
            stream.truncate()
            stream.write(text)

    together(lambda: work(b"a"), lambda: work(b"b"))
    assert stream.getvalue() in (b"a", b"b")


def names_of_the_fields_of_a_reader(guard: Guard) -> None:
    """Both take a row for the names of the fields."""
    reader = csv.DictReader(["a,b", "1,2", "3,4"])
    rows: list[dict[str, str]] = []

    def work() -> None:
        with guard:
            row = next(reader)
        rows.append(row)

    together(work, work)
    assert sorted(row["a"] for row in rows) == ["1", "3"]


def json_by_a_function(guard: Guard) -> None:
    """Two objects get one number."""
    state = types.SimpleNamespace(n=0)

    def number(_: object) -> int:
        state.n += 1
        return int(state.n)

    _counted(guard, lambda: json.dumps([object()], default=number), lambda: state.n)


def objects_made_from_json(guard: Guard) -> None:
    """An object is not counted."""
    state = types.SimpleNamespace(n=0)

    def count(pairs: dict[str, object]) -> dict[str, object]:
        state.n += 1
        return pairs

    _counted(guard, lambda: json.loads("{}", object_hook=count), lambda: state.n)


class _Torn:
    """Pickles and copies its two fields one after the other."""

    def __init__(self) -> None:
        self.x = self.y = 0

    def __getstate__(self) -> tuple[int, int]:
        return self.x, self.y

    def __setstate__(self, state: tuple[int, int]) -> None:
        self.x, self.y = state


def _copied(guard: Guard, duplicate: Callable[[_Torn], _Torn]) -> None:
    shared = _Torn()
    copies: list[_Torn] = []

    def change() -> None:
        with guard:
            shared.x = 1
            shared.y = 1

    def look() -> None:
        with guard:
            got = duplicate(shared)
        copies.append(got)

    together(change, look)
    assert copies[0].x == copies[0].y


def state_that_is_pickled(guard: Guard) -> None:
    """One field is new, the other one is not."""
    _copied(guard, lambda shared: pickle.loads(pickle.dumps(shared)))


def state_that_is_copied(guard: Guard) -> None:
    """One field is new, the other one is not."""
    _copied(guard, copy.copy)


def matches_numbered_by_a_function(guard: Guard) -> None:
    """Two matches get one number."""
    state = types.SimpleNamespace(n=0)

    def number(_: re.Match[str]) -> str:
        state.n += 1
        return str(state.n)

    _counted(guard, lambda: re.sub("x", number, "x"), lambda: state.n)


def template_with_one_name_twice(guard: Guard) -> None:
    """Another value is taken the second time."""
    values = {"a": "1"}
    template = string.Template("$a $a")
    texts: list[str] = []

    def fill() -> None:
        with guard:
            text = template.substitute(values)
        texts.append(text)

    def change() -> None:
        with guard:
            values["a"] = "2"

    together(fill, change)
    assert texts[0] in ("1 1", "2 2")


def option_of_a_configuration(guard: Guard) -> None:
    """The option is gone."""
    options = configparser.ConfigParser()
    options.read_dict({"a": {"x": "1"}})

    def look() -> None:
        with guard:
            if options.has_option("a", "x"):
                options.get("a", "x")

    def remove() -> None:
        with guard:
            options.remove_option("a", "x")

    together(look, remove)


def number_on_a_shelf(guard: Guard) -> None:
    """One of two increments is lost."""
    shelf: shelve.Shelf[int] = shelve.Shelf({})
    shelf["n"] = 0

    def add() -> None:
        shelf["n"] += 1

    _counted(guard, add, lambda: shelf["n"])


def row_selected_then_updated(guard: Guard) -> None:
    """One of two increments is lost."""
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.execute("CREATE TABLE t (n)")
    connection.execute("INSERT INTO t VALUES (0)")

    def value() -> int:
        [(n,)] = connection.execute("SELECT n FROM t").fetchall()
        return int(n)

    _counted(guard, lambda: connection.execute("UPDATE t SET n = ?", (value() + 1,)), value)
    connection.close()


def file_renamed_if_it_is_there(guard: Guard) -> None:
    """The file is gone."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = os.path.join(folder, "here"), os.path.join(folder, "there")
        with open(here, "w", encoding="utf-8"):
            pass
        _once(guard, lambda: os.path.exists(here), lambda: os.rename(here, there))


def folder_made_if_it_is_missing(guard: Guard) -> None:
    """The folder is there."""
    with tempfile.TemporaryDirectory() as folder:
        new = os.path.join(folder, "new")
        _once(guard, lambda: not os.path.isdir(new), lambda: os.makedirs(new))


def file_removed_if_it_is_there(guard: Guard) -> None:
    """The file is gone."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "w", encoding="utf-8"):
            pass
        _once(guard, lambda: os.path.isfile(path), lambda: os.unlink(path))


def copied_while_it_is_replaced(guard: Guard) -> None:
    """The copy has nothing of either."""
    with tempfile.TemporaryDirectory() as folder:
        path, to = os.path.join(folder, "file"), os.path.join(folder, "copy")
        with open(path, "w", encoding="utf-8") as file:
            file.write("old")

        def change() -> None:
            with guard, open(path, "w", encoding="utf-8") as changed:
                changed.write("new")

        def duplicate() -> None:
            with guard:
                shutil.copyfile(path, to)

        together(change, duplicate)
        with open(to, encoding="utf-8") as copied:
            assert copied.read() in ("old", "new")


def records_counted_by_a_filter(guard: Guard) -> None:
    """A record is not counted: a filter of a logger is called without a lock."""
    logger = logging.Logger("guarded")
    logger.addHandler(logging.NullHandler())
    state = types.SimpleNamespace(n=0)

    def count(_: logging.LogRecord) -> bool:
        state.n += 1
        return True

    logger.addFilter(count)
    _counted(guard, lambda: logger.warning("x"), lambda: state.n)


def filters_of_warnings_put_back(guard: Guard) -> None:
    """They are put back in the wrong order."""
    before = warnings.filters
    kept = list(before)

    def work() -> None:
        with guard, warnings.catch_warnings():
            warnings.simplefilter("ignore")

    try:
        together(work, work)
        assert warnings.filters == kept
    finally:
        warnings.filters = before


def list_shuffled_while_it_is_copied(guard: Guard) -> None:
    """One item is there twice."""
    numbers = [1, 2, 3]
    draws = random.Random(1)
    seen: list[list[int]] = []

    def shuffle() -> None:
        with guard:
            draws.shuffle(numbers)

    def look() -> None:
        with guard:
            copied = list(numbers)
        seen.append(copied)

    together(shuffle, look)
    assert sorted(seen[0]) == [1, 2, 3]


def list_of_the_class_of_a_local(guard: Guard) -> None:
    """The list belongs to the class, and so to all threads."""

    class Local(threading.local):
        items = [1]

    local = Local()
    _once(guard, lambda: local.items, lambda: local.items.pop())


def number_in_a_process_that_is_a_thread(guard: Guard) -> None:
    """One of two increments is lost."""
    number = multiprocessing.dummy.Value("i", 0)

    def add() -> None:
        with guard:
            number.value += 1

    processes = [multiprocessing.dummy.Process(target=add) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert number.value == 2


def event_planned_if_there_is_none(guard: Guard) -> None:
    """Both find that nothing is planned."""
    scheduler = sched.scheduler()
    _once(guard, scheduler.empty, lambda: scheduler.enter(1, 1, print))
    assert len(scheduler.queue) == 1


def file_registered_if_it_is_not(guard: Guard) -> None:
    """It is registered already."""
    ours, theirs = socket.socketpair()
    with ours, theirs, selectors.DefaultSelector() as selector:
        _once(
            guard,
            lambda: ours not in selector.get_map(),
            lambda: selector.register(ours, selectors.EVENT_READ),
        )


def questions_on_one_socket(guard: Guard) -> None:
    """One task gets the answer to the question of the other."""
    ours, theirs = socket.socketpair()
    answers: list[bool] = []

    def serve() -> None:
        while question := theirs.recv(1):
            theirs.sendall(question.upper())

    def ask(question: bytes) -> None:
        with guard:
            ours.sendall(question)
            answer = ours.recv(1)
        answers.append(answer == question.upper())

    server = threading.Thread(target=serve)
    server.start()
    together(lambda: ask(b"a"), lambda: ask(b"b"))
    ours.close()
    server.join()
    theirs.close()
    assert answers == [True, True]


def counted_by_a_signal_handler(guard: Guard) -> None:
    """One of two increments is lost."""
    state = types.SimpleNamespace(n=0)

    def count(*_: object) -> None:
        with guard:
            state.n += 1

    before = signal.signal(signal.SIGUSR1, count)
    try:
        thread = threading.Thread(target=count)
        thread.start()
        signal.raise_signal(signal.SIGUSR1)
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert state.n == 2


def module_made_if_it_is_missing(guard: Guard) -> None:
    """Both find that there is no such module."""
    name = "bohrbug_guarded_module"
    sys.modules.pop(name, None)

    def get() -> types.ModuleType:
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
        return sys.modules[name]

    _made_once(guard, get)
    del sys.modules[name]


def variable_of_the_environment_removed(guard: Guard) -> None:
    """The variable is gone."""
    os.environ["BOHRBUG_GUARDED"] = "1"

    def remove() -> None:
        del os.environ["BOHRBUG_GUARDED"]

    _once(guard, lambda: "BOHRBUG_GUARDED" in os.environ, remove)


def lines_of_the_files_of_all(guard: Guard) -> None:
    """The other task reads already."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "w", encoding="utf-8") as file:
            file.write("x\n")

        def read() -> None:
            with guard, fileinput.input(path, encoding="utf-8") as lines:
                assert list(lines) == ["x\n"]

        try:
            together(read, read)
        finally:
            fileinput.close()


def folder_for_temporary_files(guard: Guard) -> None:
    """The file is in the folder of the other task."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:

        def work(folder: str) -> None:
            with guard:
                tempfile.tempdir = folder
                found = tempfile.gettempdir()
            assert found == folder

        try:
            together(lambda: work(one), lambda: work(other))
        finally:
            tempfile.tempdir = before


def nodes_that_are_done(guard: Guard) -> None:
    """Both look whether there is more, and a node is done twice."""
    graph = graphlib.TopologicalSorter({"b": "a"})
    graph.prepare()
    ready = list(graph.get_ready())
    _once(guard, lambda: ready[-1:], lambda: graph.done(ready.pop()))


def future_set_if_it_is_not_done(guard: Guard) -> None:
    """It is done already."""
    future: Future[int] = Future()
    _once(guard, lambda: not future.done(), lambda: future.set_result(1))


def two_lists_zipped(guard: Guard) -> None:
    """One list is new, the other one is not."""
    left, right = [0, 0], [0, 0]
    seen: list[list[tuple[int, int]]] = []

    def change() -> None:
        with guard:
            left[1] = 1
            right[1] = 1

    def look() -> None:
        with guard:
            pairs = list(zip(left, right, strict=True))
        seen.append(pairs)

    together(change, look)
    assert seen[0][1] in ((0, 0), (1, 1))


def view_counted_twice(guard: Guard) -> None:
    """There is one more the second time."""
    table = {"a": 1}
    items = table.items()

    def look() -> None:
        with guard:
            assert len(items) == len(list(items))

    def add() -> None:
        with guard:
            table["b"] = 2

    together(look, add)


def item_of_a_chain_of_maps(guard: Guard) -> None:
    """One of two increments is lost."""
    chain = collections.ChainMap({}, {"n": 0})

    def add() -> None:
        chain["n"] += 1

    _counted(guard, add, lambda: chain["n"])


def tuple_augmented(guard: Guard) -> None:
    """One of two items is lost."""
    state = types.SimpleNamespace(items=())

    def add() -> None:
        state.items += (1,)

    _counted(guard, add, lambda: len(state.items))


def hook_for_errors_of_threads(guard: Guard) -> None:
    """It is put back in the wrong order."""
    before = threading.excepthook

    def quiet(_: threading.ExceptHookArgs) -> None:
        pass

    def work() -> None:
        with guard:
            kept = threading.excepthook
            threading.excepthook = quiet
            threading.excepthook = kept

    try:
        together(work, work)
        assert threading.excepthook is before
    finally:
        threading.excepthook = before
