"""Programs around files, sockets, and what a process has only once, each with a lock or a stand-in.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import contextlib
import fileinput
import logging
import multiprocessing.dummy
import os
import sched
import selectors
import shelve
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import types
import warnings
from concurrent.futures import Future

from tests.programs.guarding import Guard, counted, made_once, once
from tests.programs.together import together


def number_on_a_shelf(guard: Guard) -> None:
    """One of two increments is lost."""
    shelf: shelve.Shelf[int] = shelve.Shelf({})
    shelf["n"] = 0

    def add() -> None:
        shelf["n"] += 1

    counted(guard, add, lambda: shelf["n"])


def row_selected_then_updated(guard: Guard) -> None:
    """One of two increments is lost."""
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    with contextlib.closing(connection):
        connection.execute("CREATE TABLE t (n)")
        connection.execute("INSERT INTO t VALUES (0)")

        def value() -> int:
            [(n,)] = connection.execute("SELECT n FROM t").fetchall()
            return int(n)

        def add() -> None:
            connection.execute("UPDATE t SET n = ?", (value() + 1,))

        counted(guard, add, value)


def file_renamed_if_it_is_there(guard: Guard) -> None:
    """The file is gone."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = os.path.join(folder, "here"), os.path.join(folder, "there")
        with open(here, "w", encoding="utf-8"):
            pass
        once(guard, lambda: os.path.exists(here), lambda: os.rename(here, there))


def folder_made_if_it_is_missing(guard: Guard) -> None:
    """The folder is there."""
    with tempfile.TemporaryDirectory() as folder:
        new = os.path.join(folder, "new")
        once(guard, lambda: not os.path.isdir(new), lambda: os.makedirs(new))


def file_removed_if_it_is_there(guard: Guard) -> None:
    """The file is gone."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "w", encoding="utf-8"):
            pass
        once(guard, lambda: os.path.isfile(path), lambda: os.unlink(path))


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
    counted(guard, lambda: logger.warning("x"), lambda: state.n)


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
        # The list itself may have been changed, too.
        before[:] = kept
        warnings.filters = before


def list_of_the_class_of_a_local(guard: Guard) -> None:
    """The list belongs to the class, and so to all threads."""

    class Local(threading.local):
        items = [1]

    local = Local()
    once(guard, lambda: local.items, lambda: local.items.pop())


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
    once(guard, scheduler.empty, lambda: scheduler.enter(1, 1, print))
    assert len(scheduler.queue) == 1


def file_registered_if_it_is_not(guard: Guard) -> None:
    """It is registered already."""
    ours, theirs = socket.socketpair()
    with ours, theirs, selectors.DefaultSelector() as selector:
        once(
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

    made_once(guard, get)
    del sys.modules[name]


def variable_of_the_environment_removed(guard: Guard) -> None:
    """The variable is gone."""
    os.environ["BOHRBUG_GUARDED"] = "1"

    def remove() -> None:
        del os.environ["BOHRBUG_GUARDED"]

    once(guard, lambda: "BOHRBUG_GUARDED" in os.environ, remove)


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


def future_set_if_it_is_not_done(guard: Guard) -> None:
    """It is done already."""
    future: Future[int] = Future()
    once(guard, lambda: not future.done(), lambda: future.set_result(1))


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
