"""Programs replace functions of the library, by mocks or to find what blocks a loop.

What is looked at on behalf of the program calls none of them: it would count as a call by the
program, and may raise.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import os
import signal
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.replacement import Function

RUNTIME = Path(bohrbug.__file__).parent / "runtime" / "threads"

REPLACED = (
    *("os.stat", "os.lstat", "os.fstat", "os.readlink", "os.getcwd", "os.listdir"),
    *("os.get_blocking", "os.set_blocking", "os.getpid", "os.path.realpath", "os.path.basename"),
    *("fcntl.fcntl", "fcntl.ioctl"),
)


def uses_what_is_controlled(folder: Path, own: int) -> None:
    """Pipes, sockets, files, databases, and signals to itself, in two threads."""
    reading, writing = os.pipe()
    mine, yours = socket.socketpair()

    def work() -> None:
        os.write(writing, b"x")
        yours.send(b"x")
        with open(folder / "file", "w") as file:
            file.write("x")
        os.kill(own, signal.SIGURG)
        connection = sqlite3.connect(folder / "database")
        connection.execute("select 1")
        connection.close()

    thread = threading.Thread(target=work)
    with mine, yours:
        thread.start()
        assert os.read(reading, 1) == b"x"
        assert mine.recv(1) == b"x"
        thread.join()
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("name", REPLACED)
def test_a_function_that_the_program_has_replaced_is_not_called(name: str, tmp_path: Path) -> None:
    own = os.getpid()

    def test() -> None:
        with mock.patch(name, side_effect=AssertionError(f"{name} was called")):
            uses_what_is_controlled(tmp_path, own)

    test()
    assert not bohrbug.explore(test, executions=20).failures


MAY_BE_REPLACED = {
    ("processes.py", "os.waitpid"),  # as a task: that of control is what is called
    ("watchdog.py", "os.register_at_fork"),  # before any test
}


def called_where_they_are_found(path: Path) -> Iterator[str]:
    """Functions of the system that code of a module looks up in their module to call them."""
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = ast.unparse(node.func)
                if name.startswith(("os.", "fcntl.", "time.", "select.")):
                    yield name


def test_functions_of_the_system_are_bound_when_they_are_imported() -> None:
    found = {
        (path.name, name)
        for path in RUNTIME.rglob("*.py")
        for name in called_where_they_are_found(path)
    }
    assert found == MAY_BE_REPLACED


def test_a_function_of_a_library_in_c_that_holds_itself_is_called() -> None:
    modified = ctypes.pythonapi.PyType_Modified

    def test() -> None:
        threads = [
            threading.Thread(target=lambda: modified(ctypes.py_object(int))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert bohrbug.explore(test, executions=20).verdict.kind is VerdictKind.HOLDS


def test_a_builtin_function_that_is_controlled_still_is_one() -> None:
    kinds: list[object] = []

    def test() -> None:
        kinds.append((type(open), inspect.isbuiltin(open), inspect.isbuiltin(os.open)))

    bohrbug.explore(test, executions=1)
    # The type is not the original's: else this test would not see what stands for it.
    assert kinds[0] == (Function, True, True)


def test_threads_that_a_mock_starts_are_described_as_plain_data() -> None:
    def test() -> None:
        done: list[int] = []
        with mock.patch("threading.current_thread"):
            thread = threading.Thread(target=done.append, args=(1,))
            thread.start()
            thread.join()
        assert not done

    (failure,) = bohrbug.explore(test, executions=20).failures
    described = failure.trace.task_infos
    assert [each.daemon for each in described.values()] == [False, True]
